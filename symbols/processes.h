/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the known processes, with their threads' names and their executable mappings, from perf records and from /proc
 * (symbols/proc.h).
 *
 * The number and the memory of the processes are limited: those that have exited are forgotten first, then the least
 * recently used.
 */
#ifndef SYMBOLS_PROCESSES_H
#define SYMBOLS_PROCESSES_H

#include "base/util.h"
#include "perf/record.h"
#include "symbols/dso.h"

struct dso;

/* A file, or memory without a file, that is mapped into a process. */
struct mapping {
    uint64_t start, end, offset; /* `start` and `end` are addresses, `offset` is in the file */
    const char *file;            /* a path; or "[vdso]", "[kernel.kallsyms]", "//anon" and the like */
    const unsigned char *build_id;
    size_t build_id_size; /* 0 if the build ID is not known (yet) */
    uint32_t major, minor;
    uint64_t inode, inode_generation;
    uint32_t protection, flags; /* PROT_* and MAP_* of mmap(2) */
    unsigned number;            /* identifies the file and the offset; small enough to be a key in tables */
    struct dso *dso;            /* NULL if the mapping is not in a `struct mappings` */
};

/*
 * Called for each known thread name of a process, with a NULL `mapping`, and for each mapping, with the pid as `tid`.
 * All pointers are borrowed until the function returns.
 */
typedef void (*process_visit)(void *userdata, uint32_t pid, uint32_t tid, const char *comm,
                              const struct mapping *mapping);

#define MAPPINGS_MAX 1024

/* The mappings of a process, which do not overlap. Empty if zeroed. */
struct mappings {
    struct mapping *mappings; /* sorted by address; each holds a reference to its DSO */
    size_t n;
    size_t last; /* index that the last lookup returned; the next lookup tries it first */
};
/* Returns the mapping that covers the address, or NULL if there is none. */
struct mapping *mappings_find(struct mappings *mappings, uint64_t address);

#define THREADS_MAX 1024

struct thread_name {
    uint32_t tid;
    char comm[16];
};

/* The thread names of a process. Empty if zeroed. */
struct thread_names {
    struct thread_name *names; /* the names, sorted by tid */
    size_t n;
};

/*
 * Parses a line of /proc/PID/maps (proc_pid_maps(5)) without its newline. Modifies the line: `ret->file` points into
 * it, unescaped and without " (deleted)". Memory without a name gets the name that perf uses, "//anon". Returns
 * -EBADMSG if the line is malformed. Pure.
 */
int proc_maps_parse_line(char *line, struct mapping *ret);
/*
 * Returns whether a mapping's name stands for memory without a file, as in perf (tools/perf/util/map.c,
 * is_anon_memory()).
 */
bool proc_maps_is_anonymous(const char *file);

#define PROCESSES_MAX 4096
#define PROCESSES_ENDED_MAX 1024 /* exited processes are kept, since their addresses may still be resolved */
#define PROCESSES_BYTES_MAX ((size_t)2 << 20)

struct processes;

struct process {
    uint32_t pid;
    bool ended;
    uint64_t state; /* see processes_state() */
    struct thread_names threads;
    struct mappings mappings;
    LIST_ENTRY(process) bucket;
    TAILQ_ENTRY(process) use;
};

int processes_new(struct dsos *dsos, struct processes **ret);
struct processes *processes_free(struct processes *processes);

/*
 * Updates the processes from COMM, MMAP, MMAP2, FORK and EXIT records; ignores others.
 *
 * Several captures may each pass all of these records, mixed with addresses to resolve. The time of a record is not
 * checked: a capture that lags behind sets processes back to an older state, which is right for the addresses that it
 * passes next. If older records were ignored, those addresses would be resolved by newer mappings.
 */
void processes_update(struct processes *processes, const struct record *record);
/* Marks all processes as exited until /proc shows them running. Must be called when the stream of records ends. */
void processes_end_all(struct processes *processes);
/* Sets the name of a thread as read from /proc. Also marks the process as running if it has no mappings. */
void processes_set_comm(struct processes *processes, uint32_t pid, uint32_t tid, const char *comm);
/* Adds a mapping as read from /proc and marks the process as running. Ignores mappings that are not executable. */
void processes_map(struct processes *processes, uint32_t pid, const struct mapping *mapping);
/*
 * Returns a number that changes when a record changes the mappings of the process or reports its exit. Returns 0 if no
 * record has done so, or if the process is not known.
 */
uint64_t processes_state(struct processes *processes, uint32_t pid);

/* Returns the process and marks it as recently used, or NULL if it is not known. */
struct process *processes_find(struct processes *processes, uint32_t pid);
/* Returns the name of a thread, or of its process if the thread has no name of its own, or "" if neither is known. */
const char *process_comm(const struct process *process, uint32_t tid);
/* Visits the processes that have not exited. */
void processes_each(struct processes *processes, process_visit visit, void *userdata);

/* Returns the number of known processes, including exited ones. */
size_t processes_n(const struct processes *processes);
/* Returns the memory of the processes and all DSOs in bytes, not counting symbol tables. */
size_t processes_bytes(const struct processes *processes);

#endif
