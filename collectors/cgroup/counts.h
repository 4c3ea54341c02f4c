/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an engine (engine.h) for the counts of cgroups.
 *
 * The counts of one cgroup: each configured group on each CPU, and the rows that they fill. A row is of a group and a
 * PMU, summed over the PMU's CPUs; with per_cpu it is of one CPU.
 *
 * The counts outlive the cgroup: once it is gone they linger, without descriptors, with the last totals.
 *
 * The engine perf: the configured groups on each cgroup and CPU.
 */
#ifndef COLLECTORS_CGROUP_COUNTS_H
#define COLLECTORS_CGROUP_COUNTS_H

#include "cgroups/resolver.h"
#include "cgroups/tree.h"
#include "collectors/collector.h"
#include "collectors/group-counts.h"

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

struct tallied_counts;

struct cgroup_counts {
    char *path;                   /* relative to the root, as its bytes are */
    char *label;                  /* the value of the label `cgroup` */
    struct cgroup_node *node;     /* whose userdata these counts are; NULL once the cgroup is gone */
    struct cgroup_engine *engine; /* that counts it; borrowed */
    union {
        struct group_collector groups;  /* of the engine perf */
        struct tallied_counts *tallied; /* of the engine bpf */
    };
    uint32_t slot;       /* of the engine bpf: its own in the tally; 0: none */
    bool ended;          /* nothing is open; the rows are the last */
    struct names names;  /* none at first; its rows point to them */
    struct series *info; /* has the names; NULL before cgroup_counts_find_names() */
    uint64_t inode;
    uint64_t gone_ns; /* CLOCK_MONOTONIC */
    bool exceeds;     /* it does not linger: too many do, or it is left out */
};

/*
 * Opens everything on the cgroup of the directory `fd`, which is needed only for that time. `path` and `label` are
 * copied. Events that could not be opened are in the report; -ENOMEM, and -ENODEV where the cgroup was removed
 * meanwhile.
 */
int cgroup_counts_open(struct cgroup_engine *engine, const struct collector_context *context, const char *path,
                       const char *label, int fd, struct cgroup_counts **ret);
/*
 * Asks the book what is in the cgroup. Where it says other names than before, the series perf_cgroup_info is replaced,
 * and nothing else. A container that is gone keeps the names that it had. -ENOMEM, and then nothing has changed.
 */
int cgroup_counts_find_names(struct cgroup_counts *counts, const struct collector_context *context,
                             struct name_book *book);
/* Closes the descriptors and removes the rows. */
struct cgroup_counts *cgroup_counts_free(struct cgroup_counts *counts, struct snapshot *snapshot);

/*
 * Opens again, and goes on from the totals: after a reload, when CPUs came or went, and when an ended cgroup came back
 * under the same name. `fd` is the cgroup's directory. Groups that did not change are not touched; events that could
 * not be opened are tried again. -ENODEV where the cgroup was removed meanwhile: then it has ended, and its rows stay.
 * -ENOMEM.
 */
int cgroup_counts_resume(struct cgroup_counts *counts, const struct collector_context *context, int fd);
/* For a cgroup that cannot be resumed now: closes the groups on CPUs that are away or were. */
void cgroup_counts_leave(struct cgroup_counts *counts, const struct collector_context *context);
/*
 * The cgroup is gone, or there is no room for it: reads a last time, and closes all descriptors at once, because they
 * pin it. The rows stay as they are.
 */
void cgroup_counts_end(struct cgroup_counts *counts, struct sys *sys);

/* Reads, and updates the rows. Returns how many could be read; 0 once it has ended. */
size_t cgroup_counts_read(struct cgroup_counts *counts, struct sys *sys);
/* Adds its groups to the number in each state; counts that have ended have none. */
void cgroup_counts_add_states(const struct cgroup_counts *counts, size_t states[N_ROW_STATES]);
/* The counts of the nearest cgroup above that has any, ended ones too; NULL if there are none. */
struct cgroup_counts *cgroup_counts_above(const struct cgroup_counts *counts);
/* Open descriptors; 0 once it has ended. */
size_t cgroup_counts_descriptors(const struct cgroup_counts *counts);

extern const struct cgroup_engine_type cgroup_engine_perf;

#endif
