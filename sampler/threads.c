/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process: see threads.h. */
#include "sampler/threads.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/number.h"

/* Descriptors of one capture. */
#define DESCRIPTORS_MAX 8192

void threads_done(struct threads *threads)
{
    free(threads->tids);
    *threads = (struct threads){0};
}

int threads_list(struct threads *threads, struct sys *sys, const struct spec *spec, struct error *error)
{
    char path[64], **names;
    uint64_t tid;
    size_t n;

    *threads = (struct threads){0};
    if (!spec->pid)
        return 0;
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", spec->pid);
    int r = sys_list_directory(sys, path, &names, &n);
    if (r < 0)
        return error_set(error, -ENOENT, "there is no process %" PRIu32, spec->pid);
    threads->tids = calloc(MAX(n, 1), sizeof(*threads->tids));
    for (size_t i = 0; i < n && threads->tids; i++)
        if (number_parse_u64(names[i], &tid) == 0)
            threads->tids[threads->n++] = (pid_t)tid;
    strings_free(names, n);
    if (!threads->tids)
        return error_oom(error);
    size_t descriptors = threads->n * cpuset_count(&spec->cpus) * (spec->read ? spec->events.n : 1);
    if (descriptors > DESCRIPTORS_MAX)
        return error_set(error, -EINVAL,
                         "process %" PRIu32 " has %zu threads, which take %zu descriptors on these CPUs, and %d is the "
                         "limit; ask for fewer CPUs, or for its cgroup",
                         spec->pid, threads->n, descriptors, DESCRIPTORS_MAX);
    return 0;
}
