/* SPDX-License-Identifier: Apache-2.0 */
/* What the opener knows before the two part: see opener-rules.h. */
#include "opener/opener-rules.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"

#define DEVICES "/sys/bus/event_source/devices"

/* What their names begin with: the PMUs of the kernel that have setup_aux() (include/linux/perf_event.h). */
static const char *const tracers[] = {"intel_pt", "intel_bts", "arm_spe", "cs_etm", "hisi_ptt"};

static int64_t type_of(struct sys *sys, const char *name)
{
    _cleanup_(freep) char *text = NULL;
    uint64_t type;

    if (sys_read_filef(sys, &text, DEVICES "/%s/type", name) < 0 || number_parse_u64(text, &type) < 0 ||
        type > UINT32_MAX)
        return -1;
    return (int64_t)type;
}

static bool traces(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(tracers); i++)
        if (str_starts(name, tracers[i]))
            return true;
    return false;
}

static int add_tracer(struct opener_rules *rules, int64_t type)
{
    if (type < 0)
        return 0;
    if (array_grow(&rules->trace_types, rules->n_trace_types) < 0)
        return -ENOMEM;
    rules->trace_types[rules->n_trace_types++] = (uint32_t)type;
    return 0;
}

static int find_tracers(struct opener_rules *rules, struct sys *sys)
{
    char **names;
    size_t n;
    int r = sys_list_directory(sys, DEVICES, &names, &n);

    if (r < 0)
        return r == -ENOMEM ? r : 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = traces(names[i]) ? add_tracer(rules, type_of(sys, names[i])) : 0;
    strings_free(names, n);
    return r;
}

int opener_rules_init(struct opener_rules *rules, struct sys *sys, struct opener_tasks tasks)
{
    *rules = (struct opener_rules){
        .daemon = getpid(),
        .tasks = tasks,
        .probe_types = {type_of(sys, "kprobe"), type_of(sys, "uprobe")},
    };
    int r = find_tracers(rules, sys);
    if (r < 0)
        opener_rules_done(rules);
    return r;
}

void opener_rules_done(struct opener_rules *rules)
{
    free(rules->trace_types);
    *rules = (struct opener_rules){0};
}
