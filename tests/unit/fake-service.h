/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated daemon behind the HTTP server: a snapshot of a few series, which advances by a second at each fresh
 * reading.
 */
#ifndef TESTS_UNIT_FAKE_SERVICE_H
#define TESTS_UNIT_FAKE_SERVICE_H

#include <semaphore.h>

#include "http/service.h"

enum fake_collector { FAKE_CPU, FAKE_CGROUP, FAKE_SELF };

/* A cgroup whose name needs escaping: as a path, as a series label, and in JSON. */
struct odd_cgroup {
    const char *path, *label, *escaped;
};
#define N_ODD_CGROUPS 7
extern const struct odd_cgroup odd_cgroups[N_ODD_CGROUPS];

struct fake_service {
    struct service service;
    struct snapshot snapshot;
    unsigned reads, fresh_reads; /* readings that request no collector are not counted */
    unsigned reloads;
    const char *reload_error; /* message of a failed reload; NULL: reloads succeed */
    int reload_result;        /* result of a failed reload; 0 stands for -EINVAL */
    int (*on_reload)(struct fake_service *fake);
    void *reload_userdata;
    bool ready;
    unsigned paused;     /* duration of the pause in seconds; 0: not paused */
    unsigned pauses;     /* requested pauses and resumptions */
    char complaint[512]; /* the last message that the server logged */
    unsigned generation; /* edition of the events document */
    unsigned deferreds;  /* events documents that were requested so far */
    bool held;           /* events documents are rendered only after fake_service_release_deferred() */
    sem_t gate;
    uint64_t frozen_ns; /* the time at which the clock is stopped; 0: it runs */
};

/*
 * Creates `n_cpus` CPUs with a group of cycles and instructions each, a cgroup that needs escaping, and the collector
 * self.
 */
void fake_service_init(struct fake_service *fake, unsigned n_cpus);
/* Adds a cgroup that was created at 1600000000.5, with cycles and task-clock. */
struct row *fake_service_add_cgroup(struct snapshot *snapshot, const char *cgroup);
/* Adds a row for each entry of odd_cgroups. */
void fake_service_add_odd_cgroups(struct snapshot *snapshot);
void fake_service_done(struct fake_service *fake);
/* Advances the snapshot by one second, as a fresh reading does. */
void fake_service_advance(struct fake_service *fake);
/* Stops the service's clock, or sets it to the current time again. */
void fake_service_freeze(struct fake_service *fake, bool frozen);
/* Deferred events documents that are started from now on are only finished after fake_service_release_deferred(). */
void fake_service_hold_deferred(struct fake_service *fake);
void fake_service_release_deferred(struct fake_service *fake);

#endif
