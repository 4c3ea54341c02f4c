/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session consists of a machine, a configuration for that machine, and the collectors that count what the
 * configuration asks for. The daemon has a session, and so has each command that counts (`stat`, `top`, `plan`).
 *
 * The configuration in effect is made of the defaults, which the file overrides, and which flags override in turn, and
 * is checked against the machine. The configuration determines the permissions of the opener: how many events the
 * opener may open, which tracepoints, probes and breakpoints, and which configuration files.
 */
#ifndef DAEMON_SESSION_H
#define DAEMON_SESSION_H

#include "bpf/loader.h"
#include "cgroups/names-reader.h"
#include "collectors/findings.h"
#include "collectors/registry.h"
#include "config/config.h"
#include "daemon/fd-budget.h"
#include "daemon/options.h"
#include "opener/client.h"
#include "opener/opener-server.h"
#include "opener/rules.h"
#include "process/memory-limit.h"

/*
 * Loads the configuration from the file and flags, without a machine: events are not looked up in sysfs. Returns -errno
 * with a message, which starts with FILE:LINE:COLUMN if the error is in the file. The caller frees *ret with
 * config_free().
 */
int settings_read(const struct options *options, struct sys *sys, struct config **ret, struct error *error);

/* Returns the path of the configuration file, which need not exist. Borrowed. */
const char *settings_file(const struct options *options);
/*
 * Returns functions that open files through `sys`, which must outlive the result. Must be called again after an opener
 * was attached to `sys`.
 */
struct file_opener settings_files(struct sys *sys);

/*
 * Derives the opener's permissions from the configuration, which was read from the path `config_file` (may be NULL).
 * Events that this machine does not have are left out. Returns -ENOMEM with a message; call opener_permissions_done()
 * in any case.
 */
int permissions_from_config(struct sys *sys, const struct config *config, const char *config_file,
                            struct opener_permissions *ret, struct error *error);

struct session {
    struct sys sys;
    struct bpf_calls bpf;
    struct machine *machine;
    uint64_t generation; /* incremented whenever the machine is loaded */
    struct config *config;
    struct registry *registry;
    struct reload_outcome reload;
    struct children children;             /* child processes that the collector `self` reports */
    uint64_t n_findings[N_FINDING_RULES]; /* numbers of findings that the collector `self` reports in the daemon */
    bool has_reader; /* the reader of state files runs, because the machine has directories with state files */
    struct name_reader reader;
    struct state_files state_files;
    struct own_state_files own_state_files; /* opens state files in this process, without an opener */
    struct fd_budget_terms terms;           /* `terms.config` is only valid inside daemon/session.c */
    struct fd_budget budget;                /* shares of RLIMIT_NOFILE under the current configuration */
    struct descriptors descriptors;
    struct memory_limit memory;
    struct bpf_loader *loader; /* loads BPF programs in this process, without an opener */
};

/*
 * Begins a session; must be called before other descriptors are opened. Raises RLIMIT_NOFILE, counts the inherited
 * descriptors, and starts the reader of state files if the machine has directories with state files. session->sys must
 * be initialised. Until an opener is started, this process opens state files and loads BPF programs itself. `serves`
 * has the same meaning as in struct fd_budget_terms. Returns -EMFILE with a message if `serves` is true and the limit
 * is too low; returns -ENOMEM with a message.
 */
int session_begin(struct session *session, const struct options *options, bool serves, struct error *error);
/* Lets this process load BPF programs itself. session_begin() calls it. Returns -ENOMEM on failure. */
int session_load_bpf(struct session *session);

/* Returns this process's privileged calls, which an opener takes over once it is started. */
struct privileged_calls session_privileged_calls(struct session *session);

/*
 * Loads the machine and the configuration through session->sys, which must be initialised; opens no counter. Returns
 * -errno with a message; call session_done() in any case.
 */
int session_load(struct session *session, const struct options *options, struct error *error);
/*
 * Divides RLIMIT_NOFILE as the configuration loaded by session_load() needs. Returns -EMFILE with a message if the
 * limit is too low.
 */
int session_divide_descriptors(struct session *session, struct error *error);
/*
 * Opens the events that the configuration asks for, and reads all collectors once. The only error is -ENOMEM; events
 * that cannot be opened are listed as failures.
 */
int session_open(struct session *session, struct error *error);
/*
 * Begins, loads and opens a session for a command, which opens the same events as the daemon. Returns the exit status,
 * with a message unless it is EXIT_SUCCESS; call session_done() in any case.
 */
int session_start(struct session *session, const struct options *options, bool serves, struct error *error);
/*
 * Loads the machine and the configuration again, calls `accept`, and switches to the new machine and configuration.
 * `accept` may refuse the new configuration; session->budget is the new budget while `accept` runs. On failure the old
 * machine and configuration stay in use, unless memory runs out after `accept`: then the new machine and configuration
 * are in use. Groups that have not changed continue to count.
 */
int session_reload(struct session *session, const struct options *options,
                   int (*accept)(void *userdata, const struct config *config, struct error *error), void *userdata,
                   struct error *error);
/*
 * Loads the machine again, and opens and closes groups to match the current CPUs and PMUs. `went_offline` (may be NULL)
 * lists the CPUs that went offline since the last call. The groups of these CPUs are reopened, and their totals
 * continue.
 */
int session_rescan(struct session *session, const struct cpuset *went_offline, struct error *error);
void session_done(struct session *session);

#endif
