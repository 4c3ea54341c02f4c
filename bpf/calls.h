/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam to a tally (layout.h): what takes privileges to do. Either the process does it itself (loader.h), or it asks
 * its opener (opener/client.h).
 *
 * There is one tally, and a second one while it is replaced: start() makes one that counts nothing yet, set_cpu() and
 * assign() belong to the one that was started last, and attach() ends the one before. All return 0 or -errno.
 */
#ifndef BPF_CALLS_H
#define BPF_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/layout.h"

struct sys;

/* Maps of a tally, for mmap(2) with PROT_READ; the caller closes them. They are frozen: nobody writes but the kernel.
 */
struct tally_maps {
    int counts;  /* entries of 8 * (events + 2 * groups) bytes, by cpu * slots + slot */
    int records; /* struct tally_record, by CPU */
};

/* start() takes no longer, even on a slow board. */
#define TALLY_PATIENCE_S 20

struct tally_calls {
    /*
     * Loads the program. With a sentence that says what is missing and the remedy: -ENOSYS without libbpf or built
     * without it, -EPERM without the right or under lockdown, -ENOENT where the kernel lacks BTF or a hook, -ENOMEM (on
     * kernels before 5.11 also by RLIMIT_MEMLOCK), -E2BIG for too many events or slots, -ETIMEDOUT.
     */
    int (*start)(struct sys *sys, const struct tally_shape *shape, struct tally_maps *ret, struct error *error);
    /*
     * The events of a CPU, shape.events of each: fds[i] is the counter of a TALLY_READ event, else -1. All TALLY_NONE:
     * the CPU left. The slot that runs there gets what it had until now by the events of before, unless the CPU is
     * offline.
     */
    int (*set_cpu)(struct sys *sys, unsigned cpu, const struct tally_event *events, const int *fds);
    /*
     * Attaches the program, and every CPU looks at what runs there. Or detaches it, as while counting is paused: the
     * caller stops the counters before and starts them after, so that nothing is counted meanwhile.
     */
    int (*attach)(struct sys *sys, bool attached);
    /* Gives a slot to the cgroup of a directory, from flush() on; *ret_id is its id. -EOPNOTSUPP: it is not of v2. */
    int (*assign)(struct sys *sys, int cgroup_fd, uint32_t slot, uint64_t *ret_id);
    /* From flush() on, the id has its slot no more: its tasks, if there still are any, count for an ancestor. -ENOENT.
     */
    int (*withdraw)(struct sys *sys, uint64_t id);
    /* Every CPU looks again at what runs there, and at its slot. */
    int (*flush)(struct sys *sys);
    /* Ends all tallies, as when nobody counts cgroups any more. */
    void (*stop)(struct sys *sys);
    /* The process that has the program ended, and the program with it: what records say stands still. NULL: never. */
    bool (*is_lost)(struct sys *sys);
};

static inline uint32_t tally_words(const struct tally_shape *shape)
{
    return shape->events + 2 * shape->groups;
}

#endif
