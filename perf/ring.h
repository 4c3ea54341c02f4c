/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring buffer of a sampling event, which the kernel writes: 1 + 2^n mapped pages (perf_event_open(2), "mmap").
 */
#ifndef PERF_RING_H
#define PERF_RING_H

#include "perf/record.h"
#include "perf/sys.h"

struct ring;

/*
 * Maps the ring of `fd`, which stays the caller's, with `pages` (a power of two) of data. -EINVAL for another number;
 * -EPERM where the limit of locked memory is reached (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK); -EBADMSG where the
 * data are outside of the mapping, by the kernel's page; errors of mmap(2); -ENOMEM.
 */
int ring_open(struct sys *sys, int fd, size_t pages, struct ring **ret);
struct ring *ring_free(struct ring *ring);

/*
 * The next record that was not taken, NULL where there is none. It is contiguous: a copy where it wraps. Valid until
 * the next ring_next() or ring_release(). ring_take() takes it, once for each ring_next(). -EBADMSG: the ring is
 * corrupt (the record's size is less than its header, not a multiple of 8, or more than there is), and all its records
 * are dropped. -ENOMEM: the record stays for the next call.
 */
int ring_next(struct ring *ring, const struct perf_event_header **ret);
void ring_take(struct ring *ring);
/* Gives the room of the records that were taken back to the kernel. */
void ring_release(struct ring *ring);

#endif
