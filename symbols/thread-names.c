/* SPDX-License-Identifier: Apache-2.0 */
/* The names of threads: see thread-names.h. */
#include "symbols/thread-names.h"

void thread_names_done(struct thread_names *names)
{
    free(names->names);
    *names = (struct thread_names){0};
}

/* The index of the first thread that is not below `tid`. Returns whether it is `tid`. */
static bool thread_names_search(const struct thread_names *names, uint32_t tid, size_t *ret_at)
{
    *ret_at = array_search(names->n, i, names->names[i].tid < tid);
    return *ret_at < names->n && names->names[*ret_at].tid == tid;
}

const char *thread_names_find(const struct thread_names *names, uint32_t tid)
{
    size_t at;

    return thread_names_search(names, tid, &at) ? names->names[at].comm : NULL;
}

void thread_names_set(struct thread_names *names, uint32_t tid, const char *comm)
{
    size_t at, size = MIN(strlen(comm), sizeof(names->names[0].comm) - 1);

    if (!thread_names_search(names, tid, &at)) {
        if (names->n >= THREADS_MAX || array_grow(&names->names, names->n) < 0)
            return;
        memmove(&names->names[at + 1], &names->names[at], (names->n++ - at) * sizeof(names->names[0]));
    }
    names->names[at] = (struct thread_name){.tid = tid};
    memcpy(names->names[at].comm, comm, size);
}

void thread_names_remove(struct thread_names *names, uint32_t tid)
{
    size_t at;

    if (thread_names_search(names, tid, &at))
        memmove(&names->names[at], &names->names[at + 1], (--names->n - at) * sizeof(names->names[0]));
}

size_t thread_names_bytes(const struct thread_names *names)
{
    return array_bytes(names->n, sizeof(names->names[0]));
}
