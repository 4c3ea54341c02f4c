/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of this process: see capabilities.h. */
#include "process/privileges.h"

#include <cap-ng.h>
#include <sys/prctl.h>
#include <unistd.h>

static bool capability_in(uint64_t mask, unsigned i)
{
    return mask >> i & 1;
}

/* libcap-ng before 0.8 calls those of Linux 5.8 and 5.9 "cap_38" and so on. */
const char *capability_name(unsigned i)
{
    static const char *const newer[] = {"perfmon", "bpf", "checkpoint_restore"};

    return i >= CAP_PERFMON && i - CAP_PERFMON < ARRAY_SIZE(newer) ? newer[i - CAP_PERFMON]
                                                                   : capng_capability_to_name(i);
}

/* Where the kernel or a filter does not say, root is taken to have them all, so that it drops them or does not start.
 */
uint64_t capabilities_own(void)
{
    uint64_t mask = 0;

    if (capng_get_caps_process() < 0)
        return geteuid() == 0 ? UINT64_MAX : 0;
    for (unsigned i = 0; i < 64; i++)
        if (capng_have_capability(CAPNG_EFFECTIVE, i))
            mask |= UINT64_C(1) << i;
    return mask;
}

bool capabilities_are_privileged(void)
{
    uint64_t own = capabilities_own();

    return capability_in(own, CAP_PERFMON) || capability_in(own, CAP_SYS_ADMIN);
}

/* Whether the kernel has left this process nothing but `mask`. */
static bool capabilities_are_within(uint64_t mask)
{
    static const capng_type_t sets[] = {CAPNG_EFFECTIVE, CAPNG_PERMITTED, CAPNG_INHERITABLE};

    if (capng_get_caps_process() < 0)
        return false;
    for (unsigned i = 0; i < 64; i++)
        for (size_t k = 0; k < ARRAY_SIZE(sets); k++)
            if (!capability_in(mask, i) && capng_have_capability(sets[k], i))
                return false;
    return true;
}

int capabilities_keep_only(uint64_t mask, struct error *error)
{
    errno = 0;
    if (capng_get_caps_process() < 0)
        return error_set(error, -EPERM,
                         "cannot read the capabilities of this process: %s; a system-call filter (container runtime, "
                         "SystemCallFilter=) may refuse capget(2): allow it there",
                         strerror(errno ? errno : EPERM));
    bool may_bound = capability_in(capabilities_own(), CAP_SETPCAP);

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot forgo new privileges: %s", strerror(errno));
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot clear the ambient capabilities: %s", strerror(errno));
    capng_clear(CAPNG_SELECT_BOTH);
    for (unsigned i = 0; i < 64; i++)
        if (capability_in(mask, i))
            capng_update(CAPNG_ADD, (capng_type_t)(CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET), i);
    if (capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) < 0)
        return error_set(error, -EPERM, "cannot drop capabilities: %s", strerror(errno));
    if (!capabilities_are_within(mask))
        return error_set(error, -EPERM, "cannot drop capabilities: some of them remain");
    return 0;
}

int capabilities_empty_bounding_set(struct error *error)
{
    if (!capability_in(capabilities_own(), CAP_SETPCAP))
        return 0;
    for (unsigned long i = 0; i < 64; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EINVAL) /* the kernel has no such capability */
            return error_set(error, -errno, "cannot empty the bounding set of capabilities: %s", strerror(errno));
    return 0;
}
