/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves addresses of processes and of the kernel to symbols.
 *
 * The mappings of processes come from /proc, and later changes from perf records. Symbol tables of mapped files and of
 * the kernel are built on demand by a separate process (symbols/symboliser.h), because ELF files are untrusted input.
 * An address has no symbol until the table of its file is ready. All memory is limited: what was least recently used is
 * dropped first.
 *
 * All functions and callbacks run in the thread of the event loop.
 */
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "base/util.h"
#include "perf/record.h"
#include "perf/sys.h"
#include "symbols/proc.h"
#include "symbols/processes.h"

#define KSYMBOLS_MAX 2048

/* Functions that the kernel added at run time, mostly BPF programs, from KSYMBOL records. Empty if zeroed. */
struct ksymbols {
    struct ksymbol {
        uint64_t address;
        uint32_t length;
        char name[68]; /* longer names are truncated; BPF names are shorter, although KSYM_NAME_LEN is 512 */
    } * symbols;       /* the symbols, sorted by address */
    size_t n;
};

void ksymbols_done(struct ksymbols *ksymbols);
/*
 * Adds a symbol, and replaces one at the same address. Does nothing if there are already KSYMBOLS_MAX symbols or memory
 * runs out.
 */
void ksymbols_add(struct ksymbols *ksymbols, uint64_t address, uint32_t length, const char *name);
/* Removes the symbol that starts at the address, if any. */
void ksymbols_remove(struct ksymbols *ksymbols, uint64_t address);
/*
 * Returns the name of the symbol that covers the address, borrowed until the next add or remove, or NULL if none does.
 */
const char *ksymbols_find(const struct ksymbols *ksymbols, uint64_t address, uint64_t *ret_offset);

struct symbols;
struct child;

int symbols_new(struct sys *sys, sd_event *event, struct symbols **ret);
struct symbols *symbols_free(struct symbols *symbols);

/* A resolved address. symbols_update() and symbols_set_room() also invalidate `symbol`. */
struct frame {
    uint64_t ip;
    const struct mapping *mapping; /* NULL if unknown; borrowed until the next symbols_update() */
    const char *symbol;            /* NULL if unknown; borrowed until the event loop runs again */
    uint64_t offset;               /* offset from the start of the symbol, in bytes */
    bool kernel;
    bool awaited; /* the symbol is not known yet, since the table is still being built */
};

/*
 * Marks all processes as exited until symbols_scan() finds them again. Must be called when no more records will come.
 */
void symbols_end_all(struct symbols *symbols);
/* Updates the processes from COMM, MMAP, MMAP2, FORK, EXIT and KSYMBOL records; ignores others. */
void symbols_update(struct symbols *symbols, const struct record *record);

/*
 * Reads the running processes from /proc, a limited part in each turn of the event loop, and requests the tables of the
 * kernel and the vdso. Calls `done` once, from the event loop, when the scan and the tables are complete. With `pid` 0,
 * reads all processes. Returns -ENOMEM, or an error from reading /proc.
 */
int symbols_scan(struct symbols *symbols, uint32_t pid, void (*done)(void *userdata), void *userdata);
/* Cancels all scans and callbacks with this `userdata`. */
void symbols_cancel(struct symbols *symbols, const void *userdata);

/* Visits each known process that has not exited. */
void symbols_each(struct symbols *symbols, process_visit visit, void *userdata);

/* Returns the name of the sample's thread, or "" if it is not known. */
const char *symbols_comm(struct symbols *symbols, const struct record *sample);
/*
 * Resolves an address, and requests the table of its file if necessary. `kernel` is true for a kernel address, which is
 * the same in all processes, so `pid` is ignored.
 */
void symbols_resolve(struct symbols *symbols, uint32_t pid, bool kernel, uint64_t ip, struct frame *ret);

/*
 * A copy of a mapping, to resolve its addresses later: by then its process may have exited or run another program, and
 * its pid may have been reused. The strings of `mapping` are valid until symbols_release(), which must be called before
 * symbols_free().
 */
struct symbols_kept {
    struct mapping mapping;
    uint32_t pid;
    bool kernel;
};
/* Copies the mapping of `frame`, which must not be NULL. */
void symbols_keep(const struct frame *frame, uint32_t pid, struct symbols_kept *ret);
void symbols_release(struct symbols_kept *kept);
/*
 * Like symbols_resolve(), but for an address in the kept mapping. Also sets the build ID of the mapping if it has
 * become known.
 */
void symbols_resolve_kept(struct symbols *symbols, struct symbols_kept *kept, uint64_t ip, struct frame *ret);

/*
 * Returns whether any table is being built. A table is built only for a file in which an address was resolved: to
 * resolve addresses later, resolve each once while its process still runs, then wait until nothing is pending.
 */
bool symbols_pending(const struct symbols *symbols);
/* Calls `idle` once, from the event loop, as soon as no table is being built. Returns -ENOMEM on failure. */
int symbols_when_idle(struct symbols *symbols, void (*idle)(void *userdata), void *userdata);

/*
 * Returns the memory for processes and the kernel's table, in bytes. For the tables of files, see symbols_set_room().
 */
size_t symbols_bytes(const struct symbols *symbols);
/* Like dsos_set_room(), limits the memory for tables of files and for the process that builds them, in bytes. */
void symbols_set_room(struct symbols *symbols, size_t room);

/*
 * Returns a sentence that explains why many addresses of programs, or of the kernel, have no symbol, or NULL if no
 * reason is known.
 */
const char *symbols_reason_user(const struct symbols *symbols);
const char *symbols_reason_kernel(const struct symbols *symbols);

/* Like symboliser_set_child(). `child` must outlive `symbols`. Must be called before the first scan. */
void symbols_set_child(struct symbols *symbols, struct child *child);

#endif
