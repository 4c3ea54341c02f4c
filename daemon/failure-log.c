/* SPDX-License-Identifier: Apache-2.0 */
/* Failures are logged once each: see failure-log.h. */
#include "daemon/failure-log.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "daemon/log.h"

/* One update: `now` replaces `before`. */
struct update {
    const struct registry *registry;
    const struct failure_log *before;
    struct failure_log now;
};

/* By reason; all other failures are of events. */
static const struct {
    const char *reason;
    enum log_kind kind;
} kinds[] = {
    {"limit", LOG_KIND_CGROUPS_DROPPED},
    {"inotify", LOG_KIND_CGROUPS_UNSEEN},
    {"namespace", LOG_KIND_CGROUPS_UNSEEN},
    {"patterns", LOG_KIND_CGROUPS_UNSEEN},
    {FAILURE_OF_COLLECTOR, LOG_KIND_COLLECTOR_FAILED},
};

static enum log_kind kind_of(const struct failure *failure)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (str_equal(kinds[i].reason, failure->reason))
            return kinds[i].kind;
    return LOG_KIND_EVENTS_UNAVAILABLE;
}

void failure_log_done(struct failure_log *failure_log)
{
    strings_free(failure_log->sentences, failure_log->n);
    *failure_log = (struct failure_log){0};
}

/* Whether the sentence is new; -ENOMEM. */
static int update_add(struct update *update, const char *sentence)
{
    struct failure_log *now = &update->now;
    char *copy = strdup(sentence);

    if (!copy || array_grow(&now->sentences, now->n) < 0) {
        free(copy);
        return -ENOMEM;
    }
    now->sentences[now->n++] = copy;
    for (size_t i = 0; i < update->before->n; i++)
        if (str_equal(update->before->sentences[i], sentence))
            return false;
    return true;
}

static int update_failure(void *userdata, const struct failure *first, const char *sentence)
{
    struct update *update = userdata;
    struct collector_status status = {.name = ""};
    int r = update_add(update, sentence);

    if (r <= 0)
        return r;
    registry_status(update->registry, first->collector, &status);
    const struct log_field fields[] = {
        {"collector", status.name}, {"group", first->group},   {"event", first->event},
        {"pmu", first->pmu},        {"reason", first->reason},
    };
    log_event(kind_of(first), fields, ARRAY_SIZE(fields), "%s", sentence);
    return 0;
}

void failure_log_update(struct failure_log *failure_log, const struct registry *registry)
{
    struct update update = {.registry = registry, .before = failure_log};
    int r = failures_visit(registry_failures(registry), update_failure, &update);

    if (r < 0 && !failure_log->incomplete)
        log_event(LOG_KIND_EVENTS_UNAVAILABLE, NULL, 0,
                  "out of memory: there is not even enough to list what cannot be counted; perfcountd tries it again");
    if (r < 0) {
        failure_log->incomplete = true;
        failure_log_done(&update.now);
        return;
    }
    failure_log_done(failure_log);
    *failure_log = update.now;
}
