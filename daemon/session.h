/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: a machine, a configuration for it, and the collectors that count what it asks for. The daemon and the
 * commands that count (`stat`, `top`, `plan`) each have one.
 *
 * The configuration in effect is the defaults, overridden by the file, overridden by flags, and checked against the
 * machine. From it follow the permissions of the opener: how many events it may open, the tracepoints, probes and
 * breakpoints that the configuration names, and the configuration's own files.
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
 * Loads the configuration from file and flags, without a machine: events are not looked up in sysfs. Returns -errno
 * with a sentence, which starts with FILE:LINE:COLUMN if the file is at fault. The caller frees *ret with
 * config_free().
 */
int settings_read(const struct options *options, struct sys *sys, struct config **ret, struct error *error);

/* Returns the path of the configuration file, even if it does not exist. Borrowed. */
const char *settings_file(const struct options *options);
/*
 * Returns functions that open files through `sys`, which must outlive the result. Call it again after `sys` has got an
 * opener.
 */
struct file_opener settings_files(struct sys *sys);

/*
 * `config_file` is the path that the configuration was read from, or NULL. Events that this machine does not have are
 * left out. Returns -ENOMEM with a sentence; call opener_permissions_done() in any case.
 */
int permissions_from_config(struct sys *sys, const struct config *config, const char *config_file,
                            struct opener_permissions *ret, struct error *error);

struct session {
    struct sys sys;
    struct bpf_calls bpf;
    struct machine *machine;
    uint64_t generation; /* incremented each time the machine is loaded */
    struct config *config;
    struct registry *registry;
    struct reload_outcome reload;
    struct children children;             /* for the collector `self` */
    uint64_t n_findings[N_FINDING_RULES]; /* for the collector `self`, in the daemon */
    bool has_reader; /* the reader of state files runs; only if the machine has directories of state files */
    struct name_reader reader;
    struct state_files state_files;
    struct own_state_files own_state_files; /* used without an opener */
    struct fd_budget_terms terms;           /* terms.config is valid only inside daemon/session.c */
    struct fd_budget budget;                /* shares of RLIMIT_NOFILE under the current configuration */
    struct descriptors descriptors;
    struct memory_limit memory;
    struct bpf_loader *loader; /* used without an opener */
};

/*
 * The first step, before other descriptors are opened: raises RLIMIT_NOFILE, counts the inherited descriptors, and
 * starts the reader of state files if the machine has any. session->sys must be initialised. This process then opens
 * state files and counts cgroups with BPF itself. `serves` has the meaning of the member of struct fd_budget_terms.
 * Returns -EMFILE with a sentence if `serves` is true and the limit is too low; -ENOMEM with a sentence.
 */
int session_begin(struct session *session, const struct options *options, bool serves, struct error *error);
/* Lets this process load BPF programs itself. session_begin() calls it. Returns -ENOMEM on failure. */
int session_load_bpf(struct session *session);

/* Returns the calls that an opener takes over. */
struct privileged_calls session_privileged_calls(struct session *session);

/*
 * Loads the machine and the configuration through session->sys, which must be initialised; opens no counter. Returns
 * -errno with a sentence; call session_done() in any case.
 */
int session_load(struct session *session, const struct options *options, struct error *error);
/* Divides RLIMIT_NOFILE for what session_load() has loaded. Returns -EMFILE with a sentence if the limit is too low. */
int session_divide_descriptors(struct session *session, struct error *error);
/*
 * Opens what the configuration asks for and reads it once. Fails only with -ENOMEM; events that cannot be opened are
 * reported as failures.
 */
int session_open(struct session *session, struct error *error);
/*
 * All these steps for a command, which opens what the daemon would open. Returns the exit status, with a sentence
 * unless it is EXIT_SUCCESS; call session_done() in any case.
 */
int session_start(struct session *session, const struct options *options, bool serves, struct error *error);
/*
 * Loads the machine and the configuration again, calls `accept`, and switches to them. `accept` may refuse the new
 * configuration; it finds the new budget in session->budget. On failure the old ones stay in use, except that the new
 * ones are in use if memory runs out after `accept`. Unchanged groups continue to count.
 */
int session_reload(struct session *session, const struct options *options,
                   int (*accept)(void *userdata, const struct config *config, struct error *error), void *userdata,
                   struct error *error);
/*
 * Loads the machine again, and opens and closes groups for its current CPUs and PMUs. `went_offline` (may be NULL) are
 * the CPUs that went offline since the last call: their groups are reopened, and their totals continue.
 */
int session_rescan(struct session *session, const struct cpuset *went_offline, struct error *error);
void session_done(struct session *session);

#endif
