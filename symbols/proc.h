/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the running processes from /proc in small steps, so that the event loop is not blocked.
 *
 * The daemon itself reads thread lists and names, which never blocks. Reading /proc/PID/maps takes the mmap_lock of the
 * process, which the process can hold as long as it likes. Therefore the symboliser (symbols/symboliser.h) reads the
 * mappings, of one process at a time.
 */
#ifndef SYMBOLS_PROC_H
#define SYMBOLS_PROC_H

#include "symbols/processes.h"
#include "symbols/symboliser.h"

struct proc_scan;

/* The modules that a scan uses. The caller owns these modules, which must outlive the scan. */
struct proc_scan_place {
    struct sys *sys;
    struct processes *processes;
    struct symboliser *symboliser;
    void (*answered)(void *userdata); /* called after each answer, when a waiting scan can be stepped again */
    void *userdata;
};

enum proc_scan_state {
    SCAN_GOES_ON,
    SCAN_WAITS, /* waits for a call of `answered`, or for room in the symboliser's queue */
    SCAN_COMPLETE,
};

/*
 * Lists all processes, or only the threads of `pid` if it is not 0. Returns -ENOMEM, or an error from reading /proc. It
 * is not an error if `pid` has exited.
 */
int proc_scan_new(const struct proc_scan_place *place, uint32_t pid, struct proc_scan **ret);
/* May be called at any time. */
struct proc_scan *proc_scan_free(struct proc_scan *scan);
/* Lists the threads of one process, reads the name of one thread, or requests the mappings of one process. */
enum proc_scan_state proc_scan_step(struct proc_scan *scan);
/*
 * Returns whether /proc hides processes (hidepid=), or hides the mappings of more than one process for every ten whose
 * mappings it shows. A lower number is normal, since every reader is denied the mappings of some processes.
 */
bool proc_scan_was_denied(const struct proc_scan *scan);
/* Returns whether some processes could not be read for lack of memory, descriptors or a symboliser. */
bool proc_scan_has_failed(const struct proc_scan *scan);

#endif
