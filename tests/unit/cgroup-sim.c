/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cgroup-sim.h"

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cgroup-rig.h"
#include "tests/unit/fake-bpf.h"
#include "tests/unit/test.h"

struct cgroup_sim sim;

void sim_init_on(struct fake_sys *fake, const char *settings)
{
    const char *include = strstr(settings, "include:") ? "" : "include: '/c*', ";
    bool had_one = bpf_is_available(&fake->bpf_calls);
    struct error error;
    char text[512];

    snprintf(text, sizeof(text), "collectors: {cgroup: {%sgroups: [{name: core, events: '{cs,faults}'}], %s}}", include,
             settings);
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    sim = (struct cgroup_sim){0};
    if (cgroup_rig_uses(ENGINE_BPF) && !had_one)
        fake_bpf_add(fake);
    rig_init_collector(&sim.rig, fake, "cgroup", text);
    assert_int_equal(cgroup_set_open(&sim.set, &sim.rig.env, &error), 0);
    assert_int_equal(cgroup_set_configure(&sim.set, &sim.rig.env), 0);
    assert_true(had_one || cgroup_rig_uses(sim.set.engine.type->number));
}

void sim_init(const char *settings)
{
    sim_init_on(fake_machine_no_pmu(), settings);
}

void sim_done(void)
{
    cgroup_set_done(&sim.set, &sim.rig.env);
    rig_done(&sim.rig);
}

void sim_dispatch(void)
{
    struct pollfd rest = {.fd = cgroup_tree_fd(sim.set.tree), .events = POLLIN};

    do
        cgroup_set_dispatch(&sim.set, &sim.rig.env);
    while (poll(&rest, 1, 0) > 0);
}

const char *sim_path(unsigned i)
{
    char path[64];

    snprintf(path, sizeof(path), "/sys/fs/cgroup/c%04u", i);
    return fake_path(sim.rig.fake, path);
}

void sim_make(unsigned i)
{
    assert_int_equal(mkdir(sim_path(i), 0755), 0);
    sim_dispatch();
}

void sim_drop(unsigned i)
{
    assert_int_equal(rmdir(sim_path(i)), 0);
    sim_dispatch();
}

char sim_state(unsigned i)
{
    char name[16], state = '-';

    snprintf(name, sizeof(name), "/c%04u", i);
    for (size_t k = 0; k < sim.set.n; k++) {
        const struct cgroup_counts *counts = sim.set.counts[k];
        if (!str_equal(counts->path, name))
            continue;
        assert_int_equal(state, '-');
        state = counts->node ? 'w' : 'l';
    }
    return state;
}
