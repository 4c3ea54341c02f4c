/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings of a machine that is played: events that sample get descriptors that can be watched, and records that the
 * test writes.
 */
#ifndef TESTS_FAULTS_RINGS_H
#define TESTS_FAULTS_RINGS_H

#include "tests/unit/fake-sys.h"

/* From now on; the machine's clock runs with the real one, a hundred years ahead of it. */
void rings_play(struct fake_sys *fake);

/* How many events of a period sample now, on all CPUs; 0: of any. */
size_t rings_count(const struct fake_sys *fake, uint64_t period);
/*
 * Writes a sample to each ring of this period: of this process, at this address of it, called by the kernel, now.
 * Returns how many rings have it: a ring without room has lost it. `ret_user_only` (NULL: nobody asks): how many of
 * them are of streams that were refused the kernel's part.
 */
size_t rings_sample(struct fake_sys *fake, uint64_t period, uint32_t pid, uint64_t ip, size_t *ret_user_only);
/* Each descriptor is readable until it is quiet again: as with the kernel's, when it was polled. */
void rings_wake(const struct fake_sys *fake);
void rings_quiet(const struct fake_sys *fake);

#endif
