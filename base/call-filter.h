/* SPDX-License-Identifier: Apache-2.0 */
/* The last step to a filter of system calls, for each process that has one. */
#ifndef BASE_CALL_FILTER_H
#define BASE_CALL_FILTER_H

#include <seccomp.h>

#include "base/error.h"

/*
 * Loads `context`, which was filled with the result `r`, and releases it in any case; it may be NULL. *ret_filtered is
 * false where the kernel has no filters, which is no failure. -errno with a sentence.
 */
int call_filter_load(scmp_filter_ctx context, int r, bool *ret_filtered, struct error *error);

#endif
