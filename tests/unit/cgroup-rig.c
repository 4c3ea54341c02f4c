/* SPDX-License-Identifier: Apache-2.0 */
/* A rig whose machine counts the cgroup "/a": see cgroup-rig.h. */
#include "tests/unit/cgroup-rig.h"

#include "collectors/cgroup/tally.h"
#include "tests/unit/fake-tally.h"
#include "tests/unit/test.h"

struct cgroup_engine rig_engine;
static enum config_engine used = ENGINE_PERF;

int cgroup_rig_use(enum config_engine engine)
{
    used = engine;
    return 0;
}

bool cgroup_rig_uses(enum config_engine engine)
{
    return used == engine;
}

size_t cgroup_rig_own(size_t n)
{
    return used == ENGINE_PERF ? n : 0;
}

void cgroup_rig_start(struct rig *rig, struct fake_sys *fake, const char *config)
{
    static const struct hierarchy hierarchy = {.kind = HIERARCHY_V2};
    struct error error = {0};

    if (used == ENGINE_BPF)
        fake_tally_add(fake);
    rig_init_collector(rig, fake, "cgroup", config);
    if (cgroup_engine_open(&rig_engine, &rig->context, &hierarchy, &error) < 0)
        fail_msg("%s", error.message);
    if (rig_engine.type->number != used)
        fail_msg("%s", rig_engine.reason.message);
}

struct cgroup_counts *cgroup_rig_open(struct rig *rig, const char *path, int fd)
{
    struct cgroup_counts *counts = NULL;

    assert_int_equal(cgroup_counts_open(&rig_engine, &rig->context, path, path, fd, &counts), 0);
    cgroup_engine_settle(&rig_engine);
    return counts;
}

struct cgroup_counts *cgroup_rig_init(struct rig *rig, struct fake_sys *fake, const char *config)
{
    cgroup_rig_start(rig, fake, config);
    return cgroup_rig_open(rig, "/a", CGROUP);
}

void cgroup_rig_done(struct rig *rig, struct cgroup_counts *counts)
{
    cgroup_counts_free(counts, &rig->snapshot);
    cgroup_engine_done(&rig_engine, &rig->context);
    rig_done(rig);
}

int cgroup_rig_resume(struct rig *rig, struct cgroup_counts *counts, int fd)
{
    assert_int_equal(cgroup_engine_resume(&rig_engine, &rig->context, NULL), 0);
    int r = cgroup_counts_resume(counts, &rig->context, fd);
    cgroup_engine_settle(&rig_engine);
    cpuset_done(&rig->left);
    return r;
}

int cgroup_rig_rescan(struct rig *rig, struct cgroup_counts *counts, const char *left)
{
    rig_rescan(rig, left);
    return cgroup_rig_resume(rig, counts, CGROUP);
}

int cgroup_rig_configure(struct rig *rig, struct cgroup_counts *counts, const char *config)
{
    struct config *before = rig->config;

    rig->context.config = rig->config = config_of(config);
    int r = cgroup_rig_resume(rig, counts, CGROUP);
    config_free(before);
    return r;
}

bool cgroup_rig_is_stale(const struct cgroup_counts *counts)
{
    return rig_engine.tally ? cgroup_tally_is_stale(rig_engine.tally) : group_collector_is_stale(&counts->groups);
}

struct failures cgroup_rig_failures(const struct rig *rig, struct cgroup_counts *const *counts, size_t n)
{
    struct failures failures = {0};

    assert_int_equal(rig_engine.type->report_all(&rig_engine, &rig->context, counts, n, &failures), 0);
    return failures;
}

size_t cgroup_rig_run(struct rig *rig, struct cgroup_counts *counts, unsigned first, unsigned last, uint64_t ns)
{
    for (unsigned cpu = first; cpu <= last; cpu++)
        fake_cgroup_run(rig->fake, CGROUP, cpu, ns);
    return cgroup_counts_read(counts, rig->sys);
}

uint64_t cgroup_value(const struct rig *rig, const char *metric, const char *pmu, const char *group)
{
    return series_value(&rig->snapshot, "perf_cgroup_%s_total{cgroup=\"/a\",pmu=\"%s\",group=\"%s\"}", metric, pmu,
                        group);
}

uint64_t cgroup_value_on(const struct rig *rig, const char *metric, int cpu, const char *pmu, const char *group)
{
    return series_value(&rig->snapshot, "perf_cgroup_%s_total{cgroup=\"/a\",cpu=\"%d\",pmu=\"%s\",group=\"%s\"}",
                        metric, cpu, pmu, group);
}
