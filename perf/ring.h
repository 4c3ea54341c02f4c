/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring buffer of a sampling event, which the kernel fills: 1 + 2^n mapped pages (perf_event_open(2), "MMAP
 * layout").
 *
 * There are three kinds of ring: a ring that is read while the kernel adds records; a ring whose oldest records the
 * kernel overwrites (attr.write_backward), which is copied as a whole; and such a copy.
 */
#ifndef PERF_RING_H
#define PERF_RING_H

#include "perf/record.h"
#include "perf/sys.h"

struct ring;

/*
 * Maps the ring of `fd`, which the caller keeps, with `pages` pages of data, a power of two. Returns -EINVAL if `pages`
 * is not a power of two; -EPERM if the locked-memory limit is reached (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK);
 * -EBADMSG if the kernel's page places the data outside of the mapping; errors of mmap(2); -ENOMEM.
 */
int ring_open(struct sys *sys, int fd, size_t pages, struct ring **ret);
/*
 * Like ring_open(), for the ring of an event with attr.write_backward, which is mapped so that the kernel overwrites
 * the oldest records. Only ring_copy() and ring_free() may be called for such a ring.
 */
int ring_open_overwritten(struct sys *sys, int fd, size_t pages, struct ring **ret);
/*
 * Makes a ring of the records in `ring`, which the kernel must not change during the copy
 * (PERF_EVENT_IOC_PAUSE_OUTPUT). *ret_full says whether the ring is full, so that older records were overwritten. The
 * copy stops at a corrupt record: older records are left out. Returns -ENOMEM.
 */
int ring_copy(const struct ring *ring, struct ring **ret, bool *ret_full);
/*
 * Makes a ring of `size` bytes of whole records, the oldest first. Takes ownership of the bytes, even on failure.
 * Returns -ENOMEM on failure.
 */
int ring_of_records(void *bytes, size_t size, struct ring **ret);
struct ring *ring_free(struct ring *ring);

/*
 * Gets the next record that was not taken, or NULL if there is none. The record is contiguous, since one that wraps is
 * copied, and is valid until the next ring_next() or ring_release(). ring_take() takes it, once for each ring_next().
 * Returns -EBADMSG and drops all records if the ring is corrupt: the record's size is less than its header, not a
 * multiple of 8, or more than is available. After -ENOMEM, the next call returns the same record.
 */
int ring_next(struct ring *ring, const struct perf_event_header **ret);
void ring_take(struct ring *ring);
/* Returns to the first record. Only for a ring in memory. */
void ring_rewind(struct ring *ring);
/* Gives the space of all taken records back to the kernel. */
void ring_release(struct ring *ring);

#endif
