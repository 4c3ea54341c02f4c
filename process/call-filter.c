/* SPDX-License-Identifier: Apache-2.0 */
/* A filter of system calls: see call-filter.h. */
#include "process/call-filter.h"

int call_filter_allow(scmp_filter_ctx context, const struct call_rule *rules, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = seccomp_rule_add_array(context, SCMP_ACT_ALLOW, rules[i].number, rules[i].n, rules[i].arguments);
    return r;
}

int call_filter_load(scmp_filter_ctx context, int r, bool *ret_filtered, struct error *error)
{
    if (r == 0)
        r = seccomp_load(context);
    seccomp_release(context);
    *ret_filtered = r == 0;
    if (r == 0 || r == -EINVAL || r == -ENOSYS) /* the last two: a kernel without filters */
        return 0;
    return error_set(error, r, "cannot filter system calls: %s", strerror(-r));
}
