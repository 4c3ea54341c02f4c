/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon to play behind the HTTP server: a snapshot of a few series, which grows by a second at each fresh reading.
 */
#ifndef TESTS_UNIT_FAKE_SERVICE_H
#define TESTS_UNIT_FAKE_SERVICE_H

#include <semaphore.h>

#include "http/service.h"

enum fake_collector { FAKE_CPU, FAKE_CGROUP, FAKE_SELF };

/* A cgroup whose name is hard on a writer: its path, and its forms in JSON and as a label of a series. */
struct odd_cgroup {
    const char *path, *label, *escaped;
};
#define N_ODD_CGROUPS 7
extern const struct odd_cgroup odd_cgroups[N_ODD_CGROUPS];

struct fake_service {
    struct service service;
    struct snapshot snapshot;
    unsigned reads, fresh_reads; /* of a mask that is not 0 */
    unsigned reloads;
    const char *reload_error; /* NULL: it succeeds */
    int reload_result;        /* with `reload_error`; 0: -EINVAL */
    int (*on_reload)(struct fake_service *fake);
    void *reload_userdata;
    bool ready;
    unsigned paused;     /* seconds; 0 while it is not */
    unsigned pauses;     /* asked for, resumptions included */
    char complaint[512]; /* the last one */
    unsigned generation; /* of the events */
    unsigned deferreds;  /* made of them */
    bool held;           /* deferred documents are not finished, but wait at the gate */
    sem_t gate;
    uint64_t frozen_ns; /* what the clock shows; 0: the time */
};

/* `n_cpus` CPUs with a group of cycles and instructions each, a cgroup with an odd name, and the self collector. */
void fake_service_init(struct fake_service *fake, unsigned n_cpus);
/* Another cgroup, created at 1600000000.5, with cycles and task-clock. */
struct row *fake_service_add_cgroup(struct snapshot *snapshot, const char *cgroup);
/* All the odd ones. */
void fake_service_add_odd_cgroups(struct snapshot *snapshot);
void fake_service_done(struct fake_service *fake);
/* As a fresh reading a second later. */
void fake_service_advance(struct fake_service *fake);
/* Stops the service's clock, or sets it to the time again. */
void fake_service_freeze(struct fake_service *fake, bool frozen);
/* Deferred documents of events that are begun from now on are not finished before they are released. */
void fake_service_hold_deferred(struct fake_service *fake);
void fake_service_release_deferred(struct fake_service *fake);

#endif
