/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from /proc what runs already, a little at each step, so that nobody has to wait for it. */
#ifndef SYMBOLS_PROC_SCAN_H
#define SYMBOLS_PROC_SCAN_H

#include "symbols/processes.h"

struct proc_scan;

/* `pid` 0: all. -errno of reading /proc. */
int proc_scan_new(struct sys *sys, uint32_t pid, struct proc_scan **ret);
struct proc_scan *proc_scan_free(struct proc_scan *learner);
/* Reads one thing more: a name, or up to PROC_SCAN_CHUNK bytes of a list of mappings. False where all is read. */
#define PROC_SCAN_CHUNK (16 * 1024)
bool proc_scan_step(struct proc_scan *learner, struct processes *processes);
/* Whether this process may not see much of it; single processes have secrets from everybody. */
bool proc_scan_was_denied(const struct proc_scan *learner);

#endif
