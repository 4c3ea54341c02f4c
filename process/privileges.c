/* SPDX-License-Identifier: Apache-2.0 */
#include "process/privileges.h"

#include <cap-ng.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/number.h"

/* --- capabilities --- */

static bool capability_in(uint64_t mask, unsigned i)
{
    return mask >> i & 1;
}

/* libcap-ng before 0.8 names the capabilities of Linux 5.8 and 5.9 "cap_38" and so on. */
const char *capability_name(unsigned i)
{
    static const char *const newer[] = {"perfmon", "bpf", "checkpoint_restore"};

    return i >= CAP_PERFMON && i - CAP_PERFMON < ARRAY_SIZE(newer) ? newer[i - CAP_PERFMON]
                                                                   : capng_capability_to_name(i);
}

/*
 * If a system-call filter refuses capget(2), root is assumed to have all capabilities, so that the daemon drops them or
 * fails to start.
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

/* Asks the kernel for the capabilities of this process, and returns whether all of them are in `mask`. */
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
        return error_set(error, -errno, "cannot set no_new_privs: %s", strerror(errno));
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
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EINVAL) /* EINVAL: unknown capability */
            return error_set(error, -errno, "cannot empty the bounding set of capabilities: %s", strerror(errno));
    return 0;
}

/* --- users --- */

/* The user ID that is used if there is no user "nobody": the kernel's default overflowuid. */
#define NOBODY 65534

/*
 * Looks up the user in /etc/passwd. This is tried before getpwnam(3), which loads the libraries of nsswitch.conf(5) and
 * never unloads them.
 */
static bool user_find_in_file(const char *name, struct user *ret)
{
    _cleanup_(fclosep) FILE *file = fopen("/etc/passwd", "re");
    const struct passwd *entry;

    while (file && (entry = fgetpwent(file)))
        if (str_equal(entry->pw_name, name)) {
            *ret = (struct user){.change = true, .uid = entry->pw_uid, .gid = entry->pw_gid};
            return true;
        }
    return false;
}

static bool user_find_named(const char *name, struct user *ret)
{
    if (user_find_in_file(name, ret))
        return true;
    const struct passwd *entry = getpwnam(name);
    if (entry)
        *ret = (struct user){.change = true, .uid = entry->pw_uid, .gid = entry->pw_gid};
    return entry;
}

static bool user_find_configured(const char *name, struct user *ret)
{
    uint64_t number;

    if (number_parse_u64(name, &number) == 0 && number < UINT32_MAX) {
        *ret = (struct user){.change = true, .uid = (uid_t)number, .gid = (gid_t)number};
        return true;
    }
    return user_find_named(name, ret);
}

/*
 * Returns whether the user ID is mapped in this user namespace (user_namespaces(7)). If the kernel lacks user
 * namespaces, the file `map` does not exist.
 */
static bool is_mapped(const char *map, unsigned number)
{
    _cleanup_(fclosep) FILE *file = fopen(map, "re");
    unsigned long inside, outside, count;

    while (file && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3)
        if (number >= inside && number - inside < count)
            return true;
    return !file;
}

static bool user_is_mapped(const struct user *user)
{
    return is_mapped("/proc/self/uid_map", user->uid) && is_mapped("/proc/self/gid_map", user->gid);
}

int user_choose(const char *name, struct user *ret, struct error *error)
{
    struct user user = {.change = true, .uid = NOBODY, .gid = NOBODY};

    if (geteuid() != 0) {
        *ret = (struct user){.uid = geteuid(), .gid = getegid()};
        return 0;
    }
    if (*name && !user_find_configured(name, &user))
        return error_set(error, -EINVAL, "user: there is no user \"%.64s\" on this machine", name);
    if (!*name && !user_find_in_file("perfcountd", &user))
        (void)user_find_in_file("nobody", &user);
    if (user.uid == 0 || user.gid == 0)
        return error_set(error, -EINVAL,
                         "user: \"%.64s\" is root, but the listening process must not be root; choose another user",
                         name);
    if (*name && !user_is_mapped(&user))
        return error_set(error, -EINVAL, "user: \"%.64s\" is not mapped in this user namespace", name);
    /* If the default user is not mapped, this process is in a user namespace whose root is an ordinary user outside. */
    user.change = user_is_mapped(&user);
    *ret = user;
    return 0;
}

int user_allow_kill(const struct user *user, struct error *error)
{
    if (user->change && setresuid(user->uid, (uid_t)-1, (uid_t)-1) < 0)
        return error_set(error, -errno, "cannot let user %u kill the opener: %s; grant CAP_SETUID", user->uid,
                         strerror(errno));
    return 0;
}

int user_become(const struct user *user, struct error *error)
{
    if (!user->change)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
        setresuid(user->uid, user->uid, user->uid) < 0)
        return error_set(error, -errno,
                         "cannot become user %u: %s; grant CAP_SETUID and CAP_SETGID, or use --no-opener", user->uid,
                         strerror(errno));
    return 0;
}
