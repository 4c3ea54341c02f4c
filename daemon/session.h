/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session consists of a machine, a configuration for it, and the collectors that count what the configuration asks
 * for. The daemon has a session, as does each command that counts (`stat`, `top`, `plan`).
 *
 * The configuration in effect consists of the defaults, overridden by the file and then by flags, and is checked
 * against the machine. It determines the opener's permissions: how many events, which tracepoints, probes and
 * breakpoints, and which configuration files the opener may open.
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
 * Returns functions that open files through `sys`, which must outlive the result. Must be called again after attaching
 * an opener to `sys`.
 */
struct file_opener settings_files(struct sys *sys);

/*
 * Derives the opener's permissions from the configuration, which was read from the path `config_file` (may be NULL),
 * without events that this machine lacks. Returns -ENOMEM with a message; call opener_permissions_done() in any case.
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
    uint64_t n_findings[N_FINDING_RULES]; /* numbers of findings, which the collector `self` reports in the daemon */
    bool has_reader; /* the state file reader is running, because the machine has directories with state files */
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
 * descriptors, and starts the state file reader if the machine has directories with state files. session->sys must be
 * initialised. Until an opener is started, this process opens state files and loads BPF programs itself. `serves` has
 * the same meaning as in struct fd_budget_terms. Returns these errors with a message: -EMFILE if `serves` is true and
 * the limit is too low, -ENOMEM.
 */
int session_begin(struct session *session, const struct options *options, bool serves, struct error *error);
/* Lets this process load BPF programs itself. session_begin() calls it. Returns -ENOMEM on failure. */
int session_load_bpf(struct session *session);

/* Returns this process's privileged calls, which an opener takes over once it runs. */
struct privileged_calls session_privileged_calls(struct session *session);

/*
 * Loads the machine and the configuration through session->sys, which must be initialised; opens no counter. Returns
 * -errno with a message; call session_done() in any case.
 */
int session_load(struct session *session, const struct options *options, struct error *error);
/*
 * Divides RLIMIT_NOFILE according to the configuration loaded by session_load(). Returns -EMFILE with a message if the
 * limit is too low.
 */
int session_divide_descriptors(struct session *session, struct error *error);
/*
 * Opens the events that the configuration asks for, and reads all collectors once. The only error is -ENOMEM; events
 * that cannot be opened are listed as failures.
 */
int session_open(struct session *session, struct error *error);
/*
 * Begins, loads and opens a session for a command, with the same events as in the daemon. Returns the exit status,
 * after printing a message unless it is EXIT_SUCCESS; call session_done() in any case.
 */
int session_start(struct session *session, const struct options *options, bool serves, struct error *error);
/*
 * Reloads the machine and the configuration, calls `accept`, and switches to the new ones. `accept` may refuse the new
 * configuration; session->budget is the new budget while it runs. On failure the old machine and configuration stay in
 * use, unless memory runs out after `accept`: then the new ones are in use. Groups that have not changed continue to
 * count.
 */
int session_reload(struct session *session, const struct options *options,
                   int (*accept)(void *userdata, const struct config *config, struct error *error), void *userdata,
                   struct error *error);
/*
 * Reloads the machine, and opens and closes groups to match the current CPUs and PMUs. `went_offline` (may be NULL)
 * lists the CPUs that went offline since the last call. The groups of these CPUs are reopened, and their totals
 * continue.
 */
int session_rescan(struct session *session, const struct cpuset *went_offline, struct error *error);
void session_done(struct session *session);

#endif
