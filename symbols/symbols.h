/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers that wait until /proc was read and the tables that all need are made, or until no table is being made.
 *
 * Functions that the kernel made while it ran, mostly BPF programs, from KSYMBOL records. Bounded.
 *
 * From an address of a process, or of the kernel, to a symbol: the mappings of processes (from /proc, then from the
 * kernel's records), and the symbols of each mapped file and of the kernel.
 *
 * Tables of symbols are made in a separate process (symboliser.h), because ELF files are untrusted input. An address
 * has no symbol until the table of its file is there. All memory is bounded: the least recently used is given up first.
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

struct ksymbols {
    struct ksymbol {
        uint64_t address;
        uint32_t length;
        char name[68]; /* KSYM_NAME_LEN is 512, those of BPF are shorter */
    } * symbols;       /* sorted */
    size_t n;
};

void ksymbols_done(struct ksymbols *ksymbols);
/* Replaces a symbol at the same address. If there are too many, it is not added. */
void ksymbols_add(struct ksymbols *ksymbols, uint64_t address, uint32_t length, const char *name);
void ksymbols_remove(struct ksymbols *ksymbols, uint64_t address);
const char *ksymbols_find(const struct ksymbols *ksymbols, uint64_t address, uint64_t *ret_offset);

struct symbols;
struct child;

int symbols_new(struct sys *sys, sd_event *event, struct symbols **ret);
struct symbols *symbols_free(struct symbols *symbols);

struct frame {
    uint64_t ip;
    const struct mapping *mapping; /* NULL: none is known there; borrowed until symbols_update() is called next */
    const char *symbol;            /* NULL: none is known; borrowed until the event loop runs again */
    uint64_t offset;               /* from the start of the symbol */
    bool kernel;
    bool awaited; /* it has no symbol yet, since the table is still being made */
};

/* No more records will come: all processes count as ended until symbols_scan() finds them again. */
void symbols_end_all(struct symbols *symbols);
/* Learns from COMM, MMAP, MMAP2, FORK, EXIT and KSYMBOL records; ignores others. */
void symbols_update(struct symbols *symbols, const struct record *record);

/*
 * Reads the processes that run from /proc, and has the kernel's table made; a bounded part in each turn of the event
 * loop. Calls `done` from the event loop when it is complete. `pid` 0: all processes.
 */
int symbols_scan(struct symbols *symbols, uint32_t pid, void (*done)(void *userdata), void *userdata);
/* Nothing is called with this `userdata` any more. */
void symbols_cancel(struct symbols *symbols, const void *userdata);

/* Visits each process that is known. */
void symbols_each(struct symbols *symbols, process_visit visit, void *userdata);

/* The name of a thread; "" if it is not known. */
const char *symbols_comm(struct symbols *symbols, uint32_t pid, uint32_t tid);
/* `kernel`: it is an address of the kernel, which is the same in all processes. */
void symbols_resolve(struct symbols *symbols, uint32_t pid, bool kernel, uint64_t ip, struct frame *ret);

/*
 * A mapping that is kept: its process may end, or run another program, and its pid may be given to another, before its
 * addresses are resolved. Its texts live until symbols_release(), which must come before symbols_free().
 */
struct symbols_kept {
    struct mapping mapping;
    uint32_t pid;
    bool kernel;
};
/* `frame` has a mapping. */
void symbols_keep(const struct frame *frame, uint32_t pid, struct symbols_kept *ret);
void symbols_release(struct symbols_kept *kept);
/* As symbols_resolve(), of an address in the kept mapping; it may also set the mapping's build id. */
void symbols_resolve_kept(struct symbols *symbols, struct symbols_kept *kept, uint64_t ip, struct frame *ret);

/*
 * Tables are made of the files whose addresses were resolved. To resolve addresses later, resolve each once while its
 * process still runs, and wait until nothing is pending.
 */
bool symbols_pending(const struct symbols *symbols);
/* Calls `idle` once, from the event loop, when nothing is pending (any more). */
int symbols_when_idle(struct symbols *symbols, void (*idle)(void *userdata), void *userdata);

/* Memory for processes and for the kernel's table. Tables of files are not included: see symbols_set_room(). */
size_t symbols_bytes(const struct symbols *symbols);
/* Limits the memory for tables of files, and for the process that makes them: see images_set_room(). */
void symbols_set_room(struct symbols *symbols, size_t room);

/* Why many addresses have no symbol, as a sentence; NULL if no reason is known. */
const char *symbols_reason_user(const struct symbols *symbols);
const char *symbols_reason_kernel(const struct symbols *symbols);

/* Notes the processes that make tables in `child`, which must outlive `symbols`. To be called before the first scan. */
void symbols_set_child(struct symbols *symbols, struct child *child);

#endif
