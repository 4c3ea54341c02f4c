/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the processes that run from /proc, a little at each step, so that the event loop is not held up. */
#ifndef SYMBOLS_PROC_SCAN_H
#define SYMBOLS_PROC_SCAN_H

#include "symbols/processes.h"

struct proc_scan;

/* `pid` 0: all processes. -errno of reading /proc. */
int proc_scan_new(struct sys *sys, uint32_t pid, struct proc_scan **ret);
struct proc_scan *proc_scan_free(struct proc_scan *scan);
/* Reads one more name, or up to PROC_SCAN_CHUNK bytes of a list of mappings. False when the scan is complete. */
#define PROC_SCAN_CHUNK (16 * 1024)
bool proc_scan_step(struct proc_scan *scan, struct processes *processes);
/* Whether /proc hides many processes from this one. A few are hidden from everybody. */
bool proc_scan_was_denied(const struct proc_scan *scan);
/* Whether memory or descriptors were short for some. */
bool proc_scan_has_failed(const struct proc_scan *scan);

#endif
