/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that are known: the names of their threads, and their mappings. Learned from records, and from /proc
 * (proc-scan.h). Only executable mappings are kept. Bounded in number and bytes: processes that have ended go first,
 * then the least recently used.
 */
#ifndef SYMBOLS_PROCESSES_H
#define SYMBOLS_PROCESSES_H

#include "perf/record.h"
#include "symbols/mappings.h"
#include "symbols/thread-names.h"

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
