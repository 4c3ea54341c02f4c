/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of this process (capabilities(7)), a bit each. */
#ifndef PROCESS_PRIVILEGES_H
#define PROCESS_PRIVILEGES_H

#include "base/error.h"
#include "base/newer.h"

/* "sys_admin"; NULL for a number that has no name. */
const char *capability_name(unsigned i);
/* The effective ones. */
uint64_t capabilities_own(void);
/* Whether this process may open counters that an ordinary process may not open. */
bool capabilities_are_privileged(void);
/*
 * Keeps those of `mask`, effective, permitted and in the bounding set, and no others in any set; execve(2) gives no new
 * privileges from now on. The bounding set stays as it is without CAP_SETPCAP. -errno with a sentence; -EPERM where
 * another capability remains.
 */
int capabilities_keep_only(uint64_t mask, struct error *error);
/* Empties the bounding set and keeps the other sets; does nothing without CAP_SETPCAP. -errno with a sentence. */
int capabilities_empty_bounding_set(struct error *error);

#endif
