/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cgroup-play.h"

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cgroup-rig.h"
#include "tests/unit/fake-bpf.h"
#include "tests/unit/test.h"

struct cgroup_play play;

void play_init_on(struct fake_sys *fake, const char *settings)
{
    const char *include = strstr(settings, "include:") ? "" : "include: '/c*', ";
    bool had_one = bpf_is_available(&fake->bpf_calls);
    struct error error;
    char text[512];

    snprintf(text, sizeof(text), "collectors: {cgroup: {%sgroups: [{name: core, events: '{cs,faults}'}], %s}}", include,
             settings);
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    play = (struct cgroup_play){0};
    if (cgroup_rig_uses(ENGINE_BPF) && !had_one)
        fake_bpf_add(fake);
    rig_init_collector(&play.rig, fake, "cgroup", text);
    assert_int_equal(cgroup_set_open(&play.set, &play.rig.env, &error), 0);
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.env), 0);
    assert_true(had_one || cgroup_rig_uses(play.set.engine.type->number));
}

void play_init(const char *settings)
{
    play_init_on(fake_machine_no_pmu(), settings);
}

void play_done(void)
{
    cgroup_set_done(&play.set, &play.rig.env);
    rig_done(&play.rig);
}

void play_dispatch(void)
{
    struct pollfd rest = {.fd = cgroup_tree_fd(play.set.tree), .events = POLLIN};

    do
        cgroup_set_dispatch(&play.set, &play.rig.env);
    while (poll(&rest, 1, 0) > 0);
}

const char *play_path(unsigned i)
{
    char path[64];

    snprintf(path, sizeof(path), "/sys/fs/cgroup/c%04u", i);
    return fake_path(play.rig.fake, path);
}

void play_make(unsigned i)
{
    assert_int_equal(mkdir(play_path(i), 0755), 0);
    play_dispatch();
}

void play_drop(unsigned i)
{
    assert_int_equal(rmdir(play_path(i)), 0);
    play_dispatch();
}

char play_state(unsigned i)
{
    char name[16], state = '-';

    snprintf(name, sizeof(name), "/c%04u", i);
    for (size_t k = 0; k < play.set.n; k++) {
        const struct cgroup_counts *counts = play.set.counts[k];
        if (!str_equal(counts->path, name))
            continue;
        assert_int_equal(state, '-');
        state = counts->node ? 'w' : 'l';
    }
    return state;
}
