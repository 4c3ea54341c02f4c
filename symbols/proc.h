/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the running processes from /proc, in small steps, so that the event loop is not held up. Reading names and
 * lists of threads never blocks. Reading mappings takes the mmap_lock of the process, which the process may hold as
 * long as it likes, so the symboliser reads them, for one process at a time.
 */
#ifndef SYMBOLS_PROC_H
#define SYMBOLS_PROC_H

#include "symbols/processes.h"
#include "symbols/symboliser.h"

struct proc_scan;

/* What a scan uses. The caller owns all of it, and keeps it until the scan is freed. */
struct proc_scan_place {
    struct sys *sys;
    struct processes *processes;
    struct symboliser *symboliser;
    void (*answered)(void *userdata); /* called when a scan in SCAN_WAITS can be stepped again */
    void *userdata;
};

enum proc_scan_state {
    SCAN_GOES_ON,
    SCAN_WAITS, /* until `answered` is called, or until the symboliser's queue has room */
    SCAN_COMPLETE,
};

/* `pid` 0: all processes. -errno of reading /proc. */
int proc_scan_new(const struct proc_scan_place *place, uint32_t pid, struct proc_scan **ret);
struct proc_scan *proc_scan_free(struct proc_scan *scan);
/* Reads one name, or asks the symboliser for the mappings of a process. Returns what to do next. */
enum proc_scan_state proc_scan_step(struct proc_scan *scan);
/* Whether /proc hides many processes from this one. A few are hidden from everybody. */
bool proc_scan_was_denied(const struct proc_scan *scan);
/* Returns whether some processes could not be read for lack of memory, descriptors or a symboliser. */
bool proc_scan_has_failed(const struct proc_scan *scan);

#endif
