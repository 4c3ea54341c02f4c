/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the processes that run from /proc, a little at each step, so that the event loop is not held up. Reading names
 * and lists of threads never hangs. Reading mappings waits for a lock that the process may hold for as long as it
 * likes, so the symboliser does that, for one process at a time.
 */
#ifndef SYMBOLS_PROC_SCAN_H
#define SYMBOLS_PROC_SCAN_H

#include "symbols/processes.h"
#include "symbols/symboliser/symboliser.h"

struct proc_scan;

/* What a scan fills and uses; borrowed. */
struct proc_scan_place {
    struct sys *sys;
    struct processes *processes;
    struct symboliser *symboliser;
    void (*answered)(void *userdata); /* a scan that waited may go on */
    void *userdata;
};

enum proc_scan_state {
    SCAN_GOES_ON,
    SCAN_WAITS, /* until it is told to go on, or the symboliser has answered somebody else */
    SCAN_COMPLETE,
};

/* `pid` 0: all processes. -errno of reading /proc. */
int proc_scan_new(const struct proc_scan_place *place, uint32_t pid, struct proc_scan **ret);
struct proc_scan *proc_scan_free(struct proc_scan *scan);
/* Reads one more name, or asks for the mappings of a process. */
enum proc_scan_state proc_scan_step(struct proc_scan *scan);
/* Whether /proc hides many processes from this one. A few are hidden from everybody. */
bool proc_scan_was_denied(const struct proc_scan *scan);
/* Whether memory, descriptors or the processes that read mappings were short for some. */
bool proc_scan_has_failed(const struct proc_scan *scan);

#endif
