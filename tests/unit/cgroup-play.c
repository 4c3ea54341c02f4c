/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups that come and go: see cgroup-play.h. */
#include "tests/unit/cgroup-play.h"

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cgroup-rig.h"
#include "tests/unit/fake-tally.h"
#include "tests/unit/test.h"

void cgroup_play_init_on(struct cgroup_play *play, struct fake_sys *fake, const char *settings)
{
    const char *include = strstr(settings, "include:") ? "" : "include: '/c*', ";
    bool had_one = fake->sys.tally;
    struct error error;
    char text[512];

    snprintf(text, sizeof(text), "collectors: {cgroup: {%sgroups: [{name: core, events: '{cs,faults}'}], %s}}", include,
             settings);
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    *play = (struct cgroup_play){0};
    if (cgroup_rig_uses(ENGINE_BPF) && !had_one)
        fake_tally_add(fake);
    rig_init_collector(&play->rig, fake, "cgroup", text);
    assert_int_equal(cgroup_set_open(&play->set, &play->rig.context, &error), 0);
    assert_int_equal(cgroup_set_configure(&play->set, &play->rig.context), 0);
    assert_true(had_one || cgroup_rig_uses(play->set.engine.type->number));
}

void cgroup_play_init(struct cgroup_play *play, const char *settings)
{
    cgroup_play_init_on(play, fake_machine_no_pmu(), settings);
}

void cgroup_play_done(struct cgroup_play *play)
{
    cgroup_set_done(&play->set, &play->rig.context);
    rig_done(&play->rig);
}

void cgroup_play_dispatch(struct cgroup_play *play)
{
    struct pollfd rest = {.fd = cgroup_tree_fd(play->set.tree), .events = POLLIN};

    do
        cgroup_set_dispatch(&play->set, &play->rig.context);
    while (poll(&rest, 1, 0) > 0);
}

const char *cgroup_play_path(const struct cgroup_play *play, unsigned i, char path[128])
{
    snprintf(path, 128, "%s/sys/fs/cgroup/c%04u", play->rig.fake->root, i);
    return path;
}

void cgroup_play_make(struct cgroup_play *play, unsigned i)
{
    char path[128];

    assert_int_equal(mkdir(cgroup_play_path(play, i, path), 0755), 0);
    cgroup_play_dispatch(play);
}

void cgroup_play_drop(struct cgroup_play *play, unsigned i)
{
    char path[128];

    assert_int_equal(rmdir(cgroup_play_path(play, i, path)), 0);
    cgroup_play_dispatch(play);
}

char cgroup_play_state(const struct cgroup_play *play, unsigned i)
{
    char name[16], state = '-';

    snprintf(name, sizeof(name), "/c%04u", i);
    for (size_t k = 0; k < play->set.n; k++) {
        const struct cgroup_counts *counts = play->set.counts[k];
        if (!str_equal(counts->path, name))
            continue;
        assert_int_equal(state, '-');
        state = counts->node ? 'w' : 'l';
    }
    return state;
}
