/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of this process: see capabilities.h. */
#include "base/capabilities.h"

#include <cap-ng.h>
#include <linux/capability.h>
#include <sys/prctl.h>

#include "base/cleanup.h"

/* Since Linux 5.8; libraries at hand may be older. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

uint64_t capabilities_own(void)
{
    uint64_t mask = 0;

    if (capng_get_caps_process() < 0)
        return 0;
    for (unsigned i = 0; i < 64; i++)
        if (capng_have_capability(CAPNG_EFFECTIVE, i))
            mask |= UINT64_C(1) << i;
    return mask;
}

bool capabilities_are_privileged(void)
{
    return capabilities_own() & (UINT64_C(1) << CAP_PERFMON | UINT64_C(1) << CAP_SYS_ADMIN);
}

/* Of the bounding set nothing can be taken without CAP_SETPCAP. */
int capabilities_keep_only(uint64_t mask, struct error *error)
{
    bool may_bound = capabilities_own() >> CAP_SETPCAP & 1;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot forgo new privileges: %s", strerror(errno));
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot clear the ambient capabilities: %s", strerror(errno));
    capng_clear(CAPNG_SELECT_BOTH);
    for (unsigned i = 0; i < 64; i++)
        if (mask >> i & 1)
            capng_update(CAPNG_ADD, (capng_type_t)(CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET), i);
    if (capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) < 0)
        return error_set(error, -EPERM, "cannot drop capabilities: %s", strerror(errno));
    return 0;
}

int capabilities_empty_bounding_set(struct error *error)
{
    if (!(capabilities_own() >> CAP_SETPCAP & 1))
        return 0;
    for (unsigned long i = 0; i < 64; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EINVAL) /* the kernel has no such capability */
            return error_set(error, -errno, "cannot empty the bounding set of capabilities: %s", strerror(errno));
    return 0;
}
