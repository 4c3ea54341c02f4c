/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a process's addresses to symbols: which process has what mapped (from /proc, then from the records), and the
 * symbols of each mapped file and of the kernel.
 *
 * Tables of symbols are made by a process of their own (symboliser.h), since ELF files of strangers are read there.
 * Until a table is there, an address of it has no symbol. All is bounded: the least recently used goes first.
 */
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

#include <systemd/sd-event.h>

#include "perf/record.h"
#include "perf/sys.h"

struct symbols;

int symbols_new(struct sys *sys, sd_event *event, struct symbols **ret);
struct symbols *symbols_free(struct symbols *symbols);

/* A file, or the kernel or vdso, mapped into a process. Borrowed until symbols_update() is called next. */
struct mapping {
    uint64_t start, end, offset; /* addresses; offset in the file */
    const char *file;            /* "[kernel.kallsyms]", "[vdso]" and the like for what is no file */
    const unsigned char *build_id;
    size_t build_id_size; /* 0: not known (yet) */
    uint32_t major, minor;
    uint64_t inode, inode_generation;
    uint32_t protection, flags;
    unsigned number; /* the same for the same file and offset, small, for tables */
};

struct frame {
    uint64_t ip;
    const struct mapping *mapping; /* NULL: none is known there */
    struct image *image;           /* the file of `mapping`: see symbols_keep() */
    const char *symbol;            /* NULL: none is known; borrowed until the event loop runs again */
    uint64_t offset;               /* from the start of the symbol */
    bool kernel;
};

/* No records come any more: what runs is not known until symbols_scan() has read it anew. */
void symbols_end_all(struct symbols *symbols);
/* Learns from COMM, MMAP, MMAP2, FORK, EXIT and KSYMBOL records; others are ignored. */
void symbols_update(struct symbols *symbols, const struct record *record);

/*
 * Reads from /proc what already runs, and has the kernel's table made; bounded work per turn of the event loop, so it
 * is complete only after `done` was called, always from the event loop. An all-zero `pid` is all processes.
 */
int symbols_scan(struct symbols *symbols, uint32_t pid, void (*done)(void *userdata), void *userdata);
/* Nothing is called with this `userdata` any more. */
void symbols_cancel(struct symbols *symbols, const void *userdata);

/* Calls `visit` for each process that is known, with each of its mappings; comm alone has mapping NULL. */
typedef void (*process_visit)(void *userdata, uint32_t pid, uint32_t tid, const char *comm,
                              const struct mapping *mapping);
void symbols_each(struct symbols *symbols, process_visit visit, void *userdata);

/* "" where it is not known. */
const char *symbols_comm(struct symbols *symbols, uint32_t pid, uint32_t tid);
/* `kernel`: the address is one of the kernel's, whatever the process. */
void symbols_resolve(struct symbols *symbols, uint32_t pid, bool kernel, uint64_t ip, struct frame *ret);

/*
 * The mapping of a frame, kept: a process ends, runs another program, and its number becomes another's, while what was
 * sampled of it is still to be told. Its texts live until symbols_release(), which comes before symbols_free().
 */
struct symbols_kept {
    struct mapping mapping;
    struct image *image;
    uint32_t pid;
    bool kernel;
};
/* `frame` has a mapping. */
void symbols_keep(const struct frame *frame, uint32_t pid, struct symbols_kept *ret);
void symbols_release(struct symbols_kept *kept);
/* As symbols_resolve(), at an address of the mapping as it was kept; that also learns the build id. */
void symbols_resolve_kept(struct symbols *symbols, struct symbols_kept *kept, uint64_t ip, struct frame *ret);

/*
 * Tables are made for the addresses that symbols_resolve() was asked for. Who resolves at the end asks once for each
 * address when it comes, while its process still runs, and waits until nothing is pending.
 */
bool symbols_pending(const struct symbols *symbols);
/* Calls `idle` once from the event loop when nothing is pending (any more). */
int symbols_when_idle(struct symbols *symbols, void (*idle)(void *userdata), void *userdata);

/* What it knows of processes, and of the kernel; tables of files are not in it, see images_set_room(). */
size_t symbols_bytes(const struct symbols *symbols);
void symbols_set_room(struct symbols *symbols, size_t room);

/* Why many addresses have no symbol, in a sentence each, as far as it is known; NULL: no reason. */
const char *symbols_reason_user(const struct symbols *symbols);
const char *symbols_reason_kernel(const struct symbols *symbols);

/* The process that makes tables, 0 where none runs. */
pid_t symbols_symboliser_pid(const struct symbols *symbols);

#endif
