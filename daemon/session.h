/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration in force: flags override the file, the file overrides the defaults; checked against the machine.
 *
 * The opener's permissions for a configuration: how many events it can need, the tracepoints, probes and breakpoints
 * that it names, and its files.
 *
 * A machine, a configuration for it, and the collectors that carry it out.
 */
#ifndef DAEMON_SESSION_H
#define DAEMON_SESSION_H

#include "bpf/loader.h"
#include "cgroups/names-reader.h"
#include "collectors/registry.h"
#include "config/config.h"
#include "daemon/fd-budget.h"
#include "daemon/options.h"
#include "opener/opener-server.h"
#include "opener/rules.h"
#include "process/memory-limit.h"

/* The same without a machine: events are not looked up. */
int settings_read(const struct options *options, struct sys *sys, struct config **ret, struct error *error);

/* The file that the configuration is read from, whether it exists or not. Borrowed. */
const char *settings_file(const struct options *options);
/* Opens files by `sys`, which must outlive it. Call it again once `sys` asks an opener. */
struct file_opener settings_files(struct sys *sys);

/*
 * `config_file` is the file that the configuration was read from, or NULL. Events that this machine does not have are
 * left out. -ENOMEM with a sentence; opener_permissions_done() in either case.
 */
int permissions_from_config(struct sys *sys, const struct config *config, const char *config_file,
                            struct opener_permissions *ret, struct error *error);

struct session {
    struct sys sys;
    struct machine *machine;
    uint64_t generation; /* of the machine: it changes each time that the machine is loaded */
    struct config *config;
    struct registry *registry;
    struct reload_outcome reload;
    struct children children; /* for the collector self */
    bool has_reader;          /* of state files; this machine has places of them */
    struct name_reader reader;
    struct own_state_files state_files; /* where no opener opens them */
    struct fd_budget_terms terms;       /* terms.config is valid only inside session.c */
    struct fd_budget budget;            /* of the limit of open files, for what runs */
    struct descriptors descriptors;
    struct memory_limit memory;
    struct tally_loader *loader; /* of tallies, where no opener has them */
};

/*
 * Comes first, while nothing is open: raises the limit of open files, counts what was handed over, and starts the
 * reader of state files where there are any; `sys`, which is set, then opens them by itself, and has tallies by itself.
 * `serves` as in fd-budget.h. -EMFILE with a sentence; -ENOMEM.
 */
int session_begin(struct session *session, const struct options *options, bool serves, struct error *error);

/* Loads machine and configuration by `sys`, which is set; opens no counter. -errno with a sentence. session_done() in
 * either case. */
int session_load(struct session *session, const struct options *options, struct error *error);
/* Divides the limit of open files, for what session_load() has loaded. -EMFILE with a sentence where it is too low. */
int session_divide_descriptors(struct session *session, struct error *error);
/* Opens what the configuration wants and reads it once. -ENOMEM only: an event that cannot be opened is reported. */
int session_open(struct session *session, struct error *error);
/*
 * All of these for a command: it opens what the daemon would. `serves` as in fd-budget.h. Returns the exit status, with
 * a sentence unless it is EXIT_SUCCESS; session_done() in either case.
 */
int session_start(struct session *session, const struct options *options, bool serves, struct error *error);
/*
 * Loads both again, asks `accept` (which may refuse the new configuration, and finds the new budget in the session),
 * and swaps them. On failure the old ones stay in use; only -ENOMEM can follow `accept`, and then the new ones are in
 * use. Groups that did not change go on counting.
 */
int session_reload(struct session *session, const struct options *options,
                   int (*accept)(void *userdata, const struct config *config, struct error *error), void *userdata,
                   struct error *error);
/*
 * Loads the machine again, and opens and closes groups for the CPUs and PMUs that it has now. `left` (may be NULL) are
 * the CPUs that went offline since the last call: their groups are opened again, and their totals continue.
 */
int session_rescan(struct session *session, const struct cpuset *left, struct error *error);
void session_done(struct session *session);

#endif
