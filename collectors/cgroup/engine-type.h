/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of an engine (engine.h) for the counts of cgroups. */
#ifndef COLLECTORS_CGROUP_ENGINE_TYPE_H
#define COLLECTORS_CGROUP_ENGINE_TYPE_H

#include "collectors/collector.h"

struct cgroup_counts;
struct cgroup_engine;
struct cgroup_tally;

/* `counts` are those of counts.h, which says what each of their functions is for. */
struct cgroup_engine_type {
    enum config_engine number;
    size_t (*needs)(const struct collector_context *context);
    /* Opens, or goes on. -ENODEV: the cgroup is not there any more. */
    int (*resume)(struct cgroup_counts *counts, const struct collector_context *context, int fd);
    void (*leave)(struct cgroup_counts *counts, const struct collector_context *context);
    void (*close)(struct cgroup_counts *counts);
    void (*free)(struct cgroup_counts *counts, struct snapshot *snapshot);
    size_t (*read)(struct cgroup_counts *counts, struct sys *sys);
    void (*add_states)(const struct cgroup_counts *counts, size_t states[N_ROW_STATES]);
    size_t (*descriptors)(const struct cgroup_counts *counts);

    /*
     * All that are watched: sets *context->stale where a group is no longer the one that was opened. An error, with a
     * sentence, where nothing can be read any more.
     */
    int (*read_all)(struct cgroup_engine *engine, const struct collector_context *context,
                    struct cgroup_counts *const *counts, size_t n, struct error *error);
    /* Adds what could not be opened, each event with its CPUs, of those that have not ended. -ENOMEM. */
    int (*report_all)(const struct cgroup_engine *engine, const struct collector_context *context,
                      struct cgroup_counts *const *counts, size_t n, struct failures *failures);
    int (*pause)(struct cgroup_engine *engine, const struct collector_context *context,
                 struct cgroup_counts *const *counts, size_t n);
};

/* All zero: none. */
struct cgroup_engine {
    const struct cgroup_engine_type *type;
    struct cgroup_tally *tally; /* of the engine bpf */
    enum config_engine asked;   /* by the configuration that it was chosen for */
    struct error reason;        /* why `auto` did not take bpf; "" where it did, and where perf was asked for */
    struct error no_room;       /* why it cannot count more cgroups; "" where it can */
};

#endif
