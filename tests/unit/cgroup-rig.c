/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cgroup-rig.h"

#include "tests/unit/fake-bpf.h"
#include "tests/unit/test.h"

struct cgroup_engine rig_engine;
static enum config_engine used = ENGINE_PERF;

void cgroup_rig_use(enum config_engine engine)
{
    used = engine;
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
        fake_bpf_add(fake);
    rig_init_collector(rig, fake, "cgroup", config);
    if (cgroup_engine_open(&rig_engine, &rig->env, &hierarchy, &error) < 0)
        fail_msg("%s", error.message);
    if (rig_engine.type->number != used)
        fail_msg("%s", rig_engine.reason.message);
}

struct cgroup_counts *cgroup_rig_open(struct rig *rig, const char *path, int fd)
{
    struct cgroup_counts *counts = NULL;

    assert_int_equal(cgroup_counts_open(&rig_engine, &rig->env, path, path, fd, &counts), 0);
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
    cgroup_engine_done(&rig_engine, &rig->env);
    rig_done(rig);
}

int cgroup_rig_resume(struct rig *rig, struct cgroup_counts *counts, int fd)
{
    assert_int_equal(cgroup_engine_resume(&rig_engine, &rig->env, NULL), 0);
    int r = cgroup_counts_resume(counts, &rig->env, fd);
    cgroup_engine_settle(&rig_engine);
    cpuset_done(&rig->went_offline);
    return r;
}

int cgroup_rig_rescan(struct rig *rig, struct cgroup_counts *counts, const char *went_offline)
{
    rig_rescan(rig, went_offline);
    return cgroup_rig_resume(rig, counts, CGROUP);
}
