/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring buffers of a simulated machine: sampling events get descriptors that can be polled, and the test writes their
 * records.
 */
#ifndef TESTS_FAULTS_RINGS_H
#define TESTS_FAULTS_RINGS_H

#include "tests/unit/fake-sys.h"

/*
 * Gives ring buffers to events that are opened from now on. The machine's clock then advances with the real one, a
 * hundred years ahead of it.
 */
void rings_simulate(struct fake_sys *fake);

/* Returns how many events with this period (0: any) are sampling, on all CPUs. */
size_t rings_count(const struct fake_sys *fake, uint64_t period);
/*
 * Writes a sample to each ring buffer with this period: of this process, at this user-space address, with a kernel
 * caller, at the current time. Returns the number of ring buffers that took the sample; a full one loses it.
 * `ret_user_only` (may be NULL) is set to how many of these belong to streams that may not sample the kernel.
 */
size_t rings_sample(struct fake_sys *fake, uint64_t period, uint32_t pid, uint64_t ip, size_t *ret_user_only);
/* Makes each descriptor readable until rings_quiet(), as the kernel does at a wakeup. */
void rings_wake(const struct fake_sys *fake);
void rings_quiet(const struct fake_sys *fake);

#endif
