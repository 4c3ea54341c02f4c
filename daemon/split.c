/* SPDX-License-Identifier: Apache-2.0 */
/* The opener of counters, as the daemon has it: see split.h. */
#include "daemon/split.h"

#include <cap-ng.h>

#include "base/cleanup.h"
#include "daemon/log.h"
#include "daemon/settings.h"
#include "opener/opener.h"

struct split {
    struct opener *opener; /* NULL: there is one process */
    sd_event_source *source;
    void (*on_lost)(void *userdata);
    void *userdata;
};

DEFINE_CLEANUP(struct split *, split_free);

int split_new(const struct options *options, struct sys *sys, struct split **ret, struct error *error)
{
    _cleanup_(split_freep) struct split *split = calloc(1, sizeof(*split));

    if (!split)
        return error_oom(error);
    if (!options->no_opener && opener_is_wanted()) {
        int r = opener_start(sys, settings_opener_tasks(options), &split->opener, error);
        if (r < 0)
            return r;
        log_debug("counters are opened by process %d; this one has no capabilities", (int)split->opener->pid);
        if (!split->opener->filtered)
            log_warning("the opener's system calls are not filtered: this kernel lacks CONFIG_SECCOMP_FILTER");
    }
    *ret = steal(split);
    return 0;
}

struct split *split_free(struct split *split)
{
    if (!split)
        return NULL;
    sd_event_source_disable_unref(split->source);
    opener_free(split->opener);
    free(split);
    return NULL;
}

static int on_hangup(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct split *split = userdata;

    (void)source;
    (void)fd;
    (void)events;
    split->source = sd_event_source_disable_unref(split->source);
    opener_lose(split->opener);
    split->on_lost(split->userdata);
    return 0;
}

/* Replies are waited for where they are asked for: whatever comes here is the end. */
int split_watch(struct split *split, sd_event *event, void (*on_lost)(void *userdata), void *userdata)
{
    if (!split->opener)
        return 0;
    split->on_lost = on_lost;
    split->userdata = userdata;
    return sd_event_add_io(event, &split->source, opener_poll_fd(split->opener), EPOLLIN, on_hangup, split);
}

bool split_is_lost(const struct split *split)
{
    return split->opener && split->opener->client.lost;
}

static json_t *capabilities_json(uint64_t mask)
{
    json_t *names = json_array();

    for (unsigned i = 0; i < 64; i++) {
        const char *name = mask >> i & 1 ? capng_capability_to_name(i) : NULL;
        if (name)
            json_array_append_new(names, json_sprintf("cap_%s", name));
    }
    return names;
}

json_t *split_json(const struct split *split)
{
    if (!split->opener)
        return json_pack("{s:s, s:n, s:o, s:n}", "state", "none", "pid", "capabilities",
                         capabilities_json(opener_own_capabilities()), "filtered");
    if (split_is_lost(split))
        return json_pack("{s:s, s:n, s:[], s:n}", "state", "lost", "pid", "capabilities", "filtered");
    return json_pack("{s:s, s:i, s:o, s:b}", "state", "running", "pid", (int)split->opener->pid, "capabilities",
                     capabilities_json(split->opener->capabilities), "filtered", split->opener->filtered);
}
