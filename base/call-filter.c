/* SPDX-License-Identifier: Apache-2.0 */
/* The last step to a filter of system calls: see call-filter.h. */
#include "base/call-filter.h"

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
