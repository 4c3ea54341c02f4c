/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine, a configuration for it, and the collectors that carry it out.
 */
#ifndef DAEMON_SESSION_H
#define DAEMON_SESSION_H

#include "bpf/loader.h"
#include "cgroups/names-reader.h"
#include "collectors/registry.h"
#include "daemon/fd-budget.h"
#include "daemon/options.h"
#include "opener/state-file.h"
#include "process/memory-limit.h"

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
 * For a command without an event loop: the names of containers come a moment after their cgroups were found. Takes them
 * in until nothing comes any more, for at most two seconds; at once where this machine has no reader of names.
 */
void session_settle(struct session *session);
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
