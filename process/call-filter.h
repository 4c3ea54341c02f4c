/* SPDX-License-Identifier: Apache-2.0 */
/* A filter of system calls (seccomp(2)), as each process with a jail has one. */
#ifndef PROCESS_CALL_FILTER_H
#define PROCESS_CALL_FILTER_H

#include <seccomp.h>

#include "base/error.h"

/* A system call that is allowed, where all of its `n` arguments are as they must be. */
struct call_rule {
    int number;
    unsigned n;
    struct scmp_arg_cmp arguments[2];
};

/* Errors of seccomp_rule_add(3). */
int call_filter_allow(scmp_filter_ctx context, const struct call_rule *rules, size_t n);
/*
 * Loads `context`, whose rules were added with the result `r`, and releases it in any case; it may be NULL.
 * *ret_filtered is false where the kernel has no filters, which is no error. -errno with a sentence.
 */
int call_filter_load(scmp_filter_ctx context, int r, bool *ret_filtered, struct error *error);

#endif
