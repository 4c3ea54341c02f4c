/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of this process (capabilities(7)), a bit each. */
#ifndef BASE_CAPABILITIES_H
#define BASE_CAPABILITIES_H

#include "base/error.h"

/* The effective ones. */
uint64_t capabilities_own(void);
/* Whether they let counters be opened that others may not open. */
bool capabilities_are_privileged(void);
/*
 * Keeps those of `mask`, effective, permitted and in the bounding set, and no others anywhere; no new privileges come
 * by execve(2) from now on. The bounding set stays where CAP_SETPCAP is missing. -errno with a sentence.
 */
int capabilities_keep_only(uint64_t mask, struct error *error);

/* Empties the bounding set and keeps the rest as it is; does nothing where CAP_SETPCAP is missing. -errno with a
 * sentence. */
int capabilities_empty_bounding_set(struct error *error);

#endif
