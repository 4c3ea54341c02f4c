/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts of one cgroup: its totals for each configured group on each CPU, and the rows they are summed into. There
 * is a row for each group and PMU, summed over the CPUs of the PMU; with per_cpu, there is one for each CPU.
 *
 * The counts outlive the cgroup. Once it is gone they linger, without descriptors, with their last totals.
 *
 * One of two engines does the counting, and both make the same rows. The engine perf opens the configured groups on
 * each cgroup and CPU. The engine bpf is in `collectors/cgroup/bpf-engine.h`.
 */
#ifndef COLLECTORS_CGROUP_COUNTS_H
#define COLLECTORS_CGROUP_COUNTS_H

#include "cgroups/resolver.h"
#include "cgroups/tree.h"
#include "collectors/collector.h"
#include "collectors/group-counts.h"

struct cgroup_counts;
struct cgroup_engine;
struct bpf_engine;

/*
 * The functions of an engine. Those of a single cgroup implement the functions cgroup_counts_*() of the same name
 * below; `needs` returns how many descriptors one cgroup needs at most.
 */
struct cgroup_engine_type {
    enum config_engine number;
    size_t (*needs)(const struct collector_env *env);
    /*
     * Opens the groups, or continues with open ones. Opens nothing if `fd` is -errno. Returns -ENODEV if the cgroup no
     * longer exists, or -ENOMEM.
     */
    int (*resume)(struct cgroup_counts *counts, const struct collector_env *env, int fd);
    void (*close)(struct cgroup_counts *counts);
    void (*free)(struct cgroup_counts *counts, struct snapshot *snapshot);
    size_t (*read)(struct cgroup_counts *counts, struct sys *sys);

    /*
     * Reads all watched cgroups and adds to *ret. Fails, with a sentence in `error`, if nothing can be read any more.
     */
    int (*read_all)(struct cgroup_engine *engine, const struct collector_env *env, struct cgroup_counts *const *counts,
                    size_t n, struct collected *ret, struct error *error);
    /*
     * Adds the events that could not be opened, with their CPUs, of all counts that have not ended. Returns -ENOMEM on
     * failure.
     */
    int (*report_all)(const struct cgroup_engine *engine, const struct collector_env *env,
                      struct cgroup_counts *const *counts, size_t n, struct failures *failures);
    int (*pause)(struct cgroup_engine *engine, const struct collector_env *env, struct cgroup_counts *const *counts,
                 size_t n);
};

/* The engine in use. All zero if there is none. */
struct cgroup_engine {
    const struct cgroup_engine_type *type;
    struct bpf_engine *bpf;   /* engine bpf only */
    enum config_engine asked; /* configured value for which the engine was chosen */
    struct error reason;      /* why `auto` did not choose bpf; "" if it did, or if perf was configured */
    struct error no_room;     /* why it has no room for more cgroups; "" if it has */
};

struct bpf_counts;

struct cgroup_counts {
    char *path;                   /* relative to the root of the hierarchy, unescaped */
    char *label;                  /* value of the label `cgroup` */
    struct cgroup_node *node;     /* node whose userdata points back here; NULL once the cgroup is gone */
    struct cgroup_engine *engine; /* borrowed */
    struct group_set groups;      /* engine perf; empty with the engine bpf */
    struct bpf_counts *bpf;       /* engine bpf */
    uint32_t slot;                /* engine bpf: its slot in the BPF program; 0: none */
    bool ended;                   /* nothing is open; the rows keep their last totals */
    struct names names;           /* names of what runs in the cgroup; the rows point here; empty until they are looked
                                   * up */
    struct series *info;          /* perf_cgroup_info; NULL before cgroup_counts_find_names() */
    uint64_t inode;
    uint64_t gone_ns; /* CLOCK_MONOTONIC */
    bool exceeds;     /* must not linger: too many others do, or the cgroup is excluded */
};

/*
 * Makes the counts of a cgroup and opens its groups. `fd` is the cgroup's directory and is only used during the call;
 * `path` and `label` are copied. Events that cannot be opened do not make it fail. Returns -ENODEV if the cgroup was
 * removed meanwhile, or -ENOMEM.
 */
int cgroup_counts_open(struct cgroup_engine *engine, const struct collector_env *env, const char *path,
                       const char *label, int fd, struct cgroup_counts **ret);
/*
 * Looks up the names of what runs in the cgroup. If they changed, the series perf_cgroup_info is replaced. A container
 * that has ended keeps its last names. On -ENOMEM nothing has changed.
 */
int cgroup_counts_find_names(struct cgroup_counts *counts, const struct collector_env *env, struct resolver *resolver);
/* Closes the descriptors and removes the rows and series. */
struct cgroup_counts *cgroup_counts_free(struct cgroup_counts *counts, struct snapshot *snapshot);

/*
 * Opens the groups that are not open; their totals continue. Called after a reload, after CPUs came or went, and after
 * a cgroup came back under the same path. `fd` is the cgroup's directory. Unchanged groups are not touched, and events
 * that could not be opened are retried. Returns -ENODEV if the cgroup was removed meanwhile; the counts have then
 * ended and their rows stay. Returns -ENOMEM if memory runs out.
 *
 * If the directory could not be opened, `fd` is -errno and is returned. Nothing is opened then; only groups on CPUs
 * that went offline are closed.
 */
int cgroup_counts_resume(struct cgroup_counts *counts, const struct collector_env *env, int fd);
/*
 * Ends the counts, because the cgroup is gone or there is no room for it: reads a last time and closes all descriptors
 * at once, because an open event pins the cgroup in the kernel. The rows stay.
 */
void cgroup_counts_end(struct cgroup_counts *counts, struct sys *sys);

/* Reads the groups and updates the rows. Returns how many could be read; 0 once the counts have ended. */
size_t cgroup_counts_read(struct cgroup_counts *counts, struct sys *sys);
/* Returns the counts of the nearest cgroup above that has any, even if they have ended; NULL if there are none. */
struct cgroup_counts *cgroup_counts_above(const struct cgroup_counts *counts);

extern const struct cgroup_engine_type cgroup_engine_perf;

#endif
