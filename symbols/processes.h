/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is mapped into a process.
 *
 * The mappings of a process, by address; none overlap.
 *
 * The names of the threads of a process.
 *
 * A line of /proc/PID/maps (proc(5)). Pure.
 *
 * The processes that are known: the names of their threads, and their mappings. Learned from records, and from /proc
 * (proc-scan.h). Only executable mappings are kept. Bounded in number and bytes: processes that have ended go first,
 * then the least recently used.
 */
#ifndef SYMBOLS_PROCESSES_H
#define SYMBOLS_PROCESSES_H

#include "base/util.h"
#include "perf/record.h"
#include "symbols/dso.h"

struct image;

struct mapping {
    uint64_t start, end, offset; /* addresses; offset in the file */
    const char *file;            /* "[kernel.kallsyms]", "[vdso]" and the like for memory that is no file */
    const unsigned char *build_id;
    size_t build_id_size; /* 0: not known (yet) */
    uint32_t major, minor;
    uint64_t inode, inode_generation;
    uint32_t protection, flags; /* as mmap(2) has them */
    unsigned number;            /* small, and the same for the same file and offset: for tables */
    struct image *image;        /* of the file; NULL in a mapping that is not in `struct mappings` */
};

/*
 * Called for each name of a thread (`mapping` is NULL) and each mapping of a process that is known. All is borrowed
 * until it returns.
 */
typedef void (*process_visit)(void *userdata, uint32_t pid, uint32_t tid, const char *comm,
                              const struct mapping *mapping);

#define MAPPINGS_MAX 1024

/* Zeroed, it is empty. */
struct mappings {
    struct mapping *mappings; /* sorted by address; each holds a reference to its image */
    size_t n;
    size_t last; /* that was found */
};
/* NULL if nothing is mapped there. */
struct mapping *mappings_find(struct mappings *mappings, uint64_t address);

#define THREADS_MAX 1024

struct thread_name {
    uint32_t tid;
    char comm[16];
};

/* Zeroed, it is empty. */
struct thread_names {
    struct thread_name *names; /* sorted by tid */
    size_t n;
};

/*
 * Parses a line without its newline, and changes it: the name of the file points into it, unescaped. A mapping without
 * a name gets perf's name for it, "//anon". -EBADMSG for any other line.
 */
int proc_maps_parse_line(char *line, struct mapping *ret);
/* Whether the name is of memory without a file, by perf's rule (tools/perf/util/map.c, is_anon_memory()). */
bool proc_maps_is_anonymous(const char *file);

#define PROCESSES_MAX 4096
#define PROCESSES_ENDED_MAX 1024 /* their addresses may still be asked for */
#define PROCESSES_BYTES_MAX ((size_t)2 << 20)

struct processes;

struct process {
    uint32_t pid;
    bool ended;
    uint64_t state; /* of the last record that changed its mappings, 0: none */
    struct thread_names threads;
    struct mappings mappings;
    LIST_ENTRY(process) bucket;
    TAILQ_ENTRY(process) use;
};

int processes_new(struct images *images, struct processes **ret);
struct processes *processes_free(struct processes *processes);

/*
 * Learns from COMM, MMAP, MMAP2, FORK and EXIT, whatever their time. Several sources may each give all of these
 * records, between addresses to be resolved. A source that is behind sets processes back to an older state; that is
 * right for the addresses that it gives next. If older records were ignored instead, those addresses would get newer
 * names.
 */
void processes_update(struct processes *processes, const struct record *record);
/* No more records come: all processes count as ended, until /proc shows that they run. */
void processes_end_all(struct processes *processes);
/* As /proc shows them. A process with mappings runs, even if one with its pid had ended. */
void processes_set_comm(struct processes *processes, uint32_t pid, uint32_t tid, const char *comm);
void processes_map(struct processes *processes, uint32_t pid, const struct mapping *mapping);
/* A number that is another one once a record has changed the mappings of the process, or ended it. */
uint64_t processes_state(struct processes *processes, uint32_t pid);

/* NULL if it is not known. Counts as use. */
struct process *processes_find(struct processes *processes, uint32_t pid);
/* The name of a thread; "" if it is not known. */
const char *process_comm(const struct process *process, uint32_t tid);
/* Visits those that have not ended. */
void processes_each(struct processes *processes, process_visit visit, void *userdata);

size_t processes_n(const struct processes *processes);
/* With the images that they refer to. */
size_t processes_bytes(const struct processes *processes);

#endif
