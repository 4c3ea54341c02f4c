/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the threads of a process. */
#ifndef SYMBOLS_THREAD_NAMES_H
#define SYMBOLS_THREAD_NAMES_H

#include "base/util.h"

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

void thread_names_done(struct thread_names *names);
/* NULL if it is not known. */
const char *thread_names_find(const struct thread_names *names, uint32_t tid);
/* If there is no room for another thread, its name is not kept. */
void thread_names_set(struct thread_names *names, uint32_t tid, const char *comm);
void thread_names_remove(struct thread_names *names, uint32_t tid);
/* Of memory. */
size_t thread_names_bytes(const struct thread_names *names);

#endif
