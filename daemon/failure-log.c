/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator has to mend, told once: see failure-log.h. */
#include "daemon/failure-log.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "daemon/log/log.h"

/* What is being told: `now` takes the place of `before`. */
struct telling {
    const struct registry *registry;
    const struct failure_log *before;
    struct failure_log now;
};

/* What is no lack of an event goes by its reason. */
static const struct {
    const char *reason;
    enum log_kind kind;
} kinds[] = {
    {"limit", LOG_KIND_CGROUPS_DROPPED},
    {"inotify", LOG_KIND_CGROUPS_UNSEEN},
    {"namespace", LOG_KIND_CGROUPS_UNSEEN},
    {"patterns", LOG_KIND_CGROUPS_UNSEEN},
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
    strings_free(failure_log->told, failure_log->n);
    *failure_log = (struct failure_log){0};
}

/* Whether it is new; -ENOMEM. */
static int note(struct telling *telling, const char *sentence)
{
    struct failure_log *now = &telling->now;
    char *copy = strdup(sentence);

    if (!copy || array_grow(&now->told, now->n) < 0) {
        free(copy);
        return -ENOMEM;
    }
    now->told[now->n++] = copy;
    for (size_t i = 0; i < telling->before->n; i++)
        if (str_equal(telling->before->told[i], sentence))
            return false;
    return true;
}

static int tell_failure(void *userdata, const struct failure *first, const char *sentence)
{
    struct telling *telling = userdata;
    struct collector_status status = {.name = ""};
    int r = note(telling, sentence);

    if (r <= 0)
        return r;
    registry_status(telling->registry, first->collector, &status);
    const struct log_field fields[] = {
        {"collector", status.name}, {"group", first->group},   {"event", first->event},
        {"pmu", first->pmu},        {"reason", first->reason},
    };
    log_event(kind_of(first), fields, ARRAY_SIZE(fields), "%s", sentence);
    return 0;
}

/* A collector that could not open or read anything at all. */
static int tell_collector(struct telling *telling, const struct collector_status *status)
{
    const struct log_field field = {"collector", status->name};
    _cleanup_(freep) char *sentence = NULL;

    if (!status->enabled || status->successful || !status->error[0])
        return 0;
    if (asprintf(&sentence, "collector %s: %s", status->name, status->error) < 0) {
        sentence = NULL;
        return -ENOMEM;
    }
    int r = note(telling, sentence);
    if (r > 0)
        log_event(LOG_KIND_COLLECTOR_FAILED, &field, 1, "%s", sentence);
    return MIN(r, 0);
}

void failure_log_update(struct failure_log *failure_log, const struct registry *registry)
{
    struct telling telling = {.registry = registry, .before = failure_log};
    struct collector_status status;
    int r = failures_visit(registry_failures(registry), tell_failure, &telling);

    for (size_t i = 0; r == 0 && registry_status(registry, i, &status); i++)
        r = tell_collector(&telling, &status);
    if (r < 0) {
        failure_log_done(&telling.now);
        return;
    }
    failure_log_done(failure_log);
    *failure_log = telling.now;
}
