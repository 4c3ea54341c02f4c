/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured: a machine, a configuration for it, and the collectors that carry it out.
 */
#ifndef DAEMON_SESSION_H
#define DAEMON_SESSION_H

#include "collectors/registry.h"
#include "daemon/fd-budget.h"
#include "daemon/options.h"

struct session {
    struct sys sys;
    struct machine *machine;
    uint64_t generation; /* of the machine: another one each time that it is loaded */
    struct config *config;
    struct registry *registry;
    struct reload_outcome reload;
    struct fd_budget_terms terms; /* its config is valid while it is divided */
    struct fd_budget budget;    /* of the limit of open files, for what runs */
    struct descriptors descriptors;
};

/*
 * First of all, while nothing is open: raises the limit of open files and counts what was handed over. `serves` as in
 * fd-budget.h. -EMFILE with a sentence.
 */
int session_begin(struct session *session, const struct options *options, bool serves, struct error *error);

/* Loads machine and configuration by `sys`, which is set; opens no counter. -errno with a sentence. session_done() in
 * either case. */
int session_load(struct session *session, const struct options *options, struct error *error);
/* Divides the limit of open files, for what session_load() has loaded. -EMFILE with a sentence where it is too low. */
int session_divide_descriptors(struct session *session, struct error *error);
/* Opens what the configuration wants and reads it once. -ENOMEM: what could not be opened is no failure. */
int session_open(struct session *session, struct error *error);
/*
 * Loads both anew, asks `accept` (which may refuse what it finds), and swaps them; on failure the old ones go on. Only
 * for want of memory can it fail behind `accept`, and then with the new ones in place, as `accept` was told. `budget`
 * is the new one when `accept` is asked.
 * Groups that did not change go on counting.
 */
int session_reload(struct session *session, const struct options *options,
                   int (*accept)(void *userdata, const struct config *config, struct error *error), void *userdata,
                   struct error *error);
/*
 * Loads the machine anew, and opens and closes what its CPUs and PMUs now ask for. `left` are the CPUs that went away
 * since the last time (may be NULL): what was open there is opened anew, and its totals go on.
 */
int session_rescan(struct session *session, const struct cpuset *left, struct error *error);
void session_done(struct session *session);

#endif
