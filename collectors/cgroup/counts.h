/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts of one cgroup: the totals for each configured group on each CPU, and the rows into which the totals are
 * summed. Each group has one row for each PMU, summed over the PMU's CPUs, or with per_cpu one row for each CPU.
 *
 * The counts outlive the cgroup. After the cgroup is gone, its counts linger with the last totals, but without
 * descriptors.
 *
 * One of two engines does the counting, and both create the same rows. The perf engine opens the configured groups on
 * each cgroup and CPU. The bpf engine is in `collectors/cgroup/bpf-engine.h`.
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
 * The operations of a counting engine. The functions for a single cgroup implement the cgroup_counts_*() functions of
 * the same name below; `needs` returns the maximum number of descriptors per cgroup.
 */
struct cgroup_engine_type {
    enum config_engine number;
    size_t (*needs)(const struct collector_env *env);
    /*
     * Opens the groups that are not open yet. Opens nothing if `fd` is -errno. Returns -ENODEV if the cgroup no longer
     * exists, or -ENOMEM.
     */
    int (*resume)(struct cgroup_counts *counts, const struct collector_env *env, int fd);
    void (*close)(struct cgroup_counts *counts);
    void (*free)(struct cgroup_counts *counts, struct snapshot *snapshot);
    size_t (*read)(struct cgroup_counts *counts, struct sys *sys);

    /*
     * Reads all watched cgroups, and adds the number of groups in each state to *ret. Returns an error, with a message,
     * if nothing can be read any more.
     */
    int (*read_all)(struct cgroup_engine *engine, const struct collector_env *env, struct cgroup_counts *const *counts,
                    size_t n, struct collected *ret, struct error *error);
    /*
     * For all counts that have not ended, adds the events that could not be opened, with their CPUs. Returns -ENOMEM on
     * failure.
     */
    int (*report_all)(const struct cgroup_engine *engine, const struct collector_env *env,
                      struct cgroup_counts *const *counts, size_t n, struct failures *failures);
    int (*pause)(struct cgroup_engine *engine, const struct collector_env *env, struct cgroup_counts *const *counts,
                 size_t n);
};

/* The engine in use. All members are zero if no engine is open. */
struct cgroup_engine {
    const struct cgroup_engine_type *type;
    struct bpf_engine *bpf;   /* NULL with the perf engine */
    enum config_engine asked; /* the configured engine, which may be `auto` */
    struct error reason;      /* why `auto` did not choose bpf; "" if bpf was chosen or perf was configured */
    struct error no_room;     /* why the engine has no room for more cgroups, or "" if it has */
};

struct bpf_counts;

struct cgroup_counts {
    char *path;                   /* path relative to the root of the hierarchy, unescaped */
    char *label;                  /* value of the label `cgroup` */
    struct cgroup_node *node;     /* node whose userdata points back here; NULL once the cgroup is gone */
    struct cgroup_engine *engine; /* borrowed */
    struct group_set groups;      /* groups of the perf engine; empty with the bpf engine */
    struct bpf_counts *bpf;       /* bpf engine */
    uint32_t slot;                /* slot in the BPF program; 0 without a slot or with the perf engine */
    bool ended;                   /* nothing is open; the rows keep their last totals */
    struct names names;           /* names of what runs in the cgroup, borrowed by the rows; empty until looked up */
    struct series *info;          /* series perf_cgroup_info, or NULL before cgroup_counts_find_names() */
    uint64_t inode;
    uint64_t gone_ns; /* CLOCK_MONOTONIC */
    bool exceeds;     /* the counts must not linger, because too many others linger or the cgroup is excluded */
};

/*
 * Creates the counts of a cgroup and opens its groups. `fd` is the cgroup's directory and is only used during the call;
 * `path` and `label` are copied. Events that cannot be opened are not an error. Returns -ENODEV if the cgroup was
 * removed in the meantime, or -ENOMEM.
 */
int cgroup_counts_open(struct cgroup_engine *engine, const struct collector_env *env, const char *path,
                       const char *label, int fd, struct cgroup_counts **ret);
/*
 * Looks up the names of what runs in the cgroup. If the names changed, the series perf_cgroup_info is replaced. A
 * container that has ended keeps its last names. On -ENOMEM nothing changes.
 */
int cgroup_counts_find_names(struct cgroup_counts *counts, const struct collector_env *env, struct resolver *resolver);
/* Closes the descriptors and removes the rows and series. */
struct cgroup_counts *cgroup_counts_free(struct cgroup_counts *counts, struct snapshot *snapshot);

/*
 * Opens the groups that are not open; their totals continue. Called after a reload, after CPUs went offline or came
 * online, and after a cgroup came back under the same path. `fd` is the cgroup's directory. Unchanged groups are not
 * touched, and events that could not be opened are retried. Returns -ENODEV if the cgroup was removed in the meantime;
 * the cgroup's counts have then ended, and their rows stay. Returns -ENOMEM if memory runs out.
 *
 * If the directory could not be opened, `fd` is -errno, which is returned. Nothing is then opened, and only groups on
 * CPUs that went offline are closed.
 */
int cgroup_counts_resume(struct cgroup_counts *counts, const struct collector_env *env, int fd);
/*
 * Stops counting a cgroup that is gone or that there is no room for. Reads the counts a last time and closes all
 * descriptors at once, because an open event pins the cgroup in the kernel. The rows of the cgroup stay.
 */
void cgroup_counts_end(struct cgroup_counts *counts, struct sys *sys);

/* Reads the groups and updates the rows. Returns how many groups could be read; 0 once the counts have ended. */
size_t cgroup_counts_read(struct cgroup_counts *counts, struct sys *sys);
/*
 * Returns the counts of the nearest cgroup above that has counts, even if these have ended, or NULL if there is none.
 */
struct cgroup_counts *cgroup_counts_above(const struct cgroup_counts *counts);

extern const struct cgroup_engine_type cgroup_engine_perf;

#endif
