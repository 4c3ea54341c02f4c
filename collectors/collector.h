/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collector is one const table entry, `struct collector`, and the static functions that the entry points to. The
 * registry (`collectors/registry.h`) opens, reads and times every collector, and isolates the collectors from each
 * other.
 *
 * All functions are called on the main thread.
 */
#ifndef COLLECTORS_COLLECTOR_H
#define COLLECTORS_COLLECTOR_H

#include "collectors/failures.h"
#include "collectors/snapshot.h"
#include "config/config.h"
#include "process/child.h"

/* The result of the last attempt to load the configuration, owned by the daemon. */
struct reload_outcome {
    bool successful;
    uint64_t success_realtime_ns; /* CLOCK_REALTIME of the last successful load */
};

/* The daemon's other processes. A member is NULL if this daemon never starts that process. */
struct children {
    const struct child *opener, *symboliser, *reader;
};

struct bpf_calls;
struct group_set;
struct state_files;

/*
 * The inputs of every call to a collector. All pointers are borrowed: `machine` and `config` are valid until the next
 * open, the other pointers until close.
 */
struct collector_env {
    struct sys *sys;
    const struct bpf_calls *bpf;           /* calls for BPF programs; may fail, see bpf_is_available() */
    const struct state_files *state_files; /* may be NULL */
    const struct machine *machine;
    const struct config *config;
    struct snapshot *snapshot;
    /*
     * CPUs that have, or may have, gone offline since the last open, even if they are online again. Groups opened on
     * these CPUs earlier no longer count.
     */
    const struct cpuset *went_offline;
    /*
     * The groups of the `cpu` collector, which other collectors may share; NULL if `cpu` is not open. Valid only for
     * collectors after `cpu` in the registry's table.
     */
    const struct group_set *shared;
    unsigned collector; /* bit number */
    bool paused;        /* while true, groups are opened disabled and stay disabled */
};

/* The result of `open`. */
struct opened {
    void *state;
    int fd; /* becomes readable when dispatch() has work to do; -1 if there is none */
};

/* The result of `collect`. */
struct collected {
    size_t groups[N_ROW_STATES]; /* number of groups in each state */
    bool stale;                  /* a group must be opened again, because its CPU was offline */
};

struct collector {
    const char *name;
    size_t enabled;      /* offset in struct config of the bool that enables the collector */
    uint64_t min_age_ns; /* a reading younger than this is reused, even if the caller wants a fresher one */
    bool has_groups;     /* the collector has the series perfcountd_groups */
    /*
     * Opens what the configuration asks for. `previous` is the state that an earlier open returned, or NULL. open()
     * consumes `previous`, and unchanged groups continue to count. Events that cannot be opened are not an error of
     * open(); report() lists them.
     *
     * On entry, *ret has no state and no descriptor. On -ENOMEM the collector may still set an incomplete state, which
     * keeps the totals; the next open completes it.
     */
    int (*open)(const struct collector_env *env, void *previous, struct opened *ret, struct error *error);
    /*
     * Reads everything into the snapshot, and adds to *ret, which is zeroed before the call. An error means that
     * nothing could be read.
     */
    int (*collect)(const struct collector_env *env, void *state, struct collected *ret, struct error *error);
    /*
     * Disables all groups if env->paused is set, else enables them. Returns the first error of ioctl(2); the
     * remaining groups are still tried.
     */
    int (*pause)(const struct collector_env *env, void *state);
    /* Adds the events that could not be opened to `failures`. Returns -ENOMEM on failure. */
    int (*report)(const struct collector_env *env, const void *state, struct failures *failures);
    void (*close)(const struct collector_env *env, void *state);
    /*
     * Handles the events that made the descriptor readable. NULL for a collector without a descriptor. On -ENOMEM some
     * changes are not handled until the next open.
     */
    int (*dispatch)(const struct collector_env *env, void *state);
};

extern const struct collector collector_cgroup;
extern const struct collector collector_cpu;
extern const struct collector collector_pmu;
extern const struct collector collector_self;

/*
 * Sets the values that only the `self` collector reports. Must be called after each open of the collector. All
 * arguments must outlive the state. `findings` has the number of findings of each rule (collectors/findings.h), or is
 * NULL if the daemon does not look for findings.
 */
void self_set_sources(void *state, const struct reload_outcome *reload, const struct children *children,
                      const uint64_t *findings);

#endif
