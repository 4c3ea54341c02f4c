/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring buffer of a sampling event: 1 + 2^n pages, mapped; the kernel writes, we read (perf_event_open(2), "mmap").
 */
#ifndef PERF_RING_H
#define PERF_RING_H

#include "perf/record.h"
#include "perf/sys.h"

struct ring;

/*
 * Maps the ring of `fd`, which stays the caller's, with `pages` (a power of two) of data. -EINVAL for another number;
 * -EPERM where the limit of locked memory is reached (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK); -EBADMSG where the
 * kernel says that the data are where nothing was mapped; errors of mmap(2).
 */
int ring_open(struct sys *sys, int fd, size_t pages, struct ring **ret);
struct ring *ring_free(struct ring *ring);

/*
 * The next record that was not taken, NULL where there is none: contiguous, also where it wraps (then a copy). Valid
 * until the next ring_next() or ring_release(). Does not take it: ring_take() does, once for each ring_next().
 * -EBADMSG: the ring is corrupt (a record of less than its header, of no multiple of 8, or larger than what is there);
 * everything in it is given up. -ENOMEM: it stays, to be asked for again.
 */
int ring_next(struct ring *ring, const struct perf_event_header **ret);
void ring_take(struct ring *ring);
/* Gives what was taken back to the kernel. */
void ring_release(struct ring *ring);

#endif
