/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process is called what and has what mapped, so that an address of it can be told. Told by records and by /proc
 * (proc-scan.h). Only what can be executed is kept. Bounded in number and bytes: those that have ended go first, then
 * the least recently asked for.
 */
#ifndef SYMBOLS_PROCESSES_H
#define SYMBOLS_PROCESSES_H

#include "symbols/mappings.h"
#include "symbols/thread-names.h"

#define PROCESSES_MAX 4096
#define PROCESSES_ENDED_MAX 1024 /* samples of them may still come, and a profile is resolved at its end */
#define PROCESSES_BYTES_MAX ((size_t)2 << 20)

struct processes;

struct process {
    uint32_t pid;
    bool ended;
    struct thread_names threads;
    struct mappings mappings;
    struct process *next_in_bucket, *newer, *older;
};

int processes_new(struct images *images, struct processes **ret);
struct processes *processes_free(struct processes *processes);

/*
 * Learns from COMM, MMAP, MMAP2, FORK and EXIT, whatever their time. Where several captures run, each tells all of it,
 * between samples of its own: what one that is behind turns back is so when its samples were taken, and those are told
 * next. To pass over what is older than what is known would give them the names of what came later.
 */
void processes_update(struct processes *processes, const struct record *record);
/* Nothing tells any more what runs: all count as ended, until /proc says that they run. */
void processes_end_all(struct processes *processes);
/* What /proc says; who has anything mapped there runs, also under a number of one that has ended. */
void processes_set_comm(struct processes *processes, uint32_t pid, uint32_t tid, const char *comm);
void processes_map(struct processes *processes, uint32_t pid, const struct mapping *mapping);

/* NULL where it is not known; counts as use. */
struct process *processes_find(struct processes *processes, uint32_t pid);
const char *process_comm(const struct process *process, uint32_t tid);
void processes_each(struct processes *processes, process_visit visit, void *userdata);

size_t processes_n(const struct processes *processes);
/* With the images that they refer to. */
size_t processes_bytes(const struct processes *processes);

#endif
