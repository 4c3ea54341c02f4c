/* SPDX-License-Identifier: Apache-2.0 */
/* A tally of the running kernel, of a group {task-clock, page-faults} on each CPU, with one cgroup that has a slot. */
#ifndef TESTS_UNIT_TALLY_RIG_H
#define TESTS_UNIT_TALLY_RIG_H

#include "perf/sys.h"
#include "perf/tally/loader.h"

#define CPUS_MAX 512
#define SLOTS 256
#define WORDS 4
#define SLOT 7
#define PAGES 500

struct tally_rig {
    struct sys sys;
    struct tally_loader *loader;
    struct tally_shape shape;
    struct tally_maps maps;
    int fds[CPUS_MAX][2];
    char cgroup[256];
    int cgroup_fd;
    uint64_t id;
    const uint64_t *counts;
};

extern const struct tally_event tally_rig_events[2];

/* Not attached yet, and the counters stand still. Skips the test, with the reason, where this machine has no tally. */
void tally_rig_init(struct tally_rig *rig);
void tally_rig_done(struct tally_rig *rig);
/* For cmocka, after a test that failed: the cgroup goes. */
int tally_rig_teardown(void **state);

/* Starts a tally that replaces the one before when it is attached; gives up what a copy of the rig has of it. */
void tally_rig_start(struct tally_rig *rig);
void tally_rig_stop(struct tally_rig *rig);
void tally_rig_set_cpus(struct tally_rig *rig);
void tally_rig_assign(struct tally_rig *rig);
void tally_rig_attach(struct tally_rig *rig, bool attached);

/* The counters: they count, or stand still; others are opened; the words that they have. */
void tally_rig_count(const struct tally_rig *rig, bool enabled);
void tally_rig_reopen(struct tally_rig *rig);
void tally_rig_read(const struct tally_rig *rig, unsigned cpu, uint64_t words[WORDS]);

/* A task that was there before enters the cgroup, touches PAGES new pages, and is gone. */
void tally_rig_run(const struct tally_rig *rig);
/* The entries of all slots of a CPU; of a slot on all CPUs. */
uint64_t tally_rig_sum_cpu(const struct tally_rig *rig, unsigned cpu, unsigned word);
uint64_t tally_rig_sum_slot(const struct tally_rig *rig, uint32_t slot, unsigned word);

#endif
