/* SPDX-License-Identifier: Apache-2.0 */
/* A rig whose machine counts the cgroup "/a": see cgroup-rig.h. */
#include "tests/unit/cgroup-rig.h"

#include "tests/unit/test.h"

struct cgroup_counts *cgroup_rig_open(struct rig *rig, const char *path, int fd)
{
    struct cgroup_counts *counts = NULL;

    assert_int_equal(cgroup_counts_open(&rig->context, path, path, fd, &counts), 0);
    return counts;
}

struct cgroup_counts *cgroup_rig_init(struct rig *rig, struct fake_sys *fake, const char *config)
{
    rig_init_collector(rig, fake, "cgroup", config);
    return cgroup_rig_open(rig, "/a", CGROUP);
}

void cgroup_rig_done(struct rig *rig, struct cgroup_counts *counts)
{
    cgroup_counts_free(counts, &rig->snapshot);
    rig_done(rig);
}

int cgroup_rig_rescan(struct rig *rig, struct cgroup_counts *counts, const char *left)
{
    rig_rescan(rig, left);
    int r = cgroup_counts_resume(counts, &rig->context, CGROUP);
    cpuset_done(&rig->left);
    return r;
}

struct failures cgroup_rig_failures(const struct rig *rig, struct cgroup_counts *const *counts, size_t n)
{
    struct failures failures = {0};

    for (size_t i = 0; i < n; i++)
        assert_int_equal(cgroup_counts_report(counts[i], &rig->context, &failures), 0);
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
