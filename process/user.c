/* SPDX-License-Identifier: Apache-2.0 */
/* The user that a process started by root becomes: see user.h. */
#include "process/user.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"

/* Where /etc/passwd has no user "nobody" (Linux: overflowuid). */
#define NOBODY 65534

/* The file is read first: the libraries of nsswitch.conf(5) would stay in memory. */
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

/* Whether this user namespace has that number (user_namespaces(7)); without the file there is only one namespace. */
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
                         "user: \"%.64s\" is root, but the process that listens must not be root; name another user",
                         name);
    if (*name && !user_is_mapped(&user))
        return error_set(error, -EINVAL, "user: \"%.64s\" has no number in this user namespace", name);
    /* Root of a namespace that has no other user is an ordinary user of the machine. */
    user.change = user_is_mapped(&user);
    *ret = user;
    return 0;
}

int user_allow_kill(const struct user *user, struct error *error)
{
    if (user->change && setresuid(user->uid, (uid_t)-1, (uid_t)-1) < 0)
        return error_set(error, -errno, "cannot let user %u end the opener: %s; grant CAP_SETUID", user->uid,
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
