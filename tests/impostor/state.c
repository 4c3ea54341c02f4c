/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a process in the daemon's place: its user, capabilities, filter; see design section 10. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "tests/impostor/impostor.h"

/* A line of /proc/self/status, whose file belongs to this process even where it is not dumpable. */
static int status_field(const char *field, char *text, size_t size)
{
    _cleanup_(fclosep) FILE *file = fopen("/proc/self/status", "re");
    char line[512];

    while (file && fgets(line, sizeof(line), file))
        if (str_starts(line, field) && line[strlen(field)] == ':') {
            snprintf(text, size, "%s", line + strlen(field) + 1 + strspn(line + strlen(field) + 1, " \t"));
            text[strcspn(text, "\n")] = '\0';
            return 0;
        }
    return -ENOENT;
}

static long try_field(struct impostor *impostor, const struct attempt *attempt)
{
    char field[32], found[512];
    size_t n = strcspn(attempt->text, "=");

    snprintf(field, sizeof(field), "%.*s", (int)n, attempt->text);
    if (status_field(field, found, sizeof(found)) < 0)
        return impostor_skip(impostor, "this kernel does not say");
    return str_equal(found, attempt->text + n + 1) ? 0 : -EPERM;
}

static long try_user(struct impostor *impostor, const struct attempt *attempt)
{
    uid_t real, effective, saved;

    (void)impostor;
    (void)attempt;
    return getresuid(&real, &effective, &saved) == 0 && real && effective && saved ? 0 : -EPERM;
}

static long try_group(struct impostor *impostor, const struct attempt *attempt)
{
    gid_t real, effective, saved, others[64];
    int n = getgroups(ARRAY_SIZE(others), others);

    (void)impostor;
    (void)attempt;
    for (int i = 0; i < n; i++)
        if (others[i] == 0)
            return -EPERM;
    return getresgid(&real, &effective, &saved) == 0 && real && effective && saved ? 0 : -EPERM;
}

static long try_dumpable(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    (void)attempt;
    return prctl(PR_GET_DUMPABLE) == 0 ? 0 : -EPERM;
}

/* The descriptors that the daemon would hold: the opener's socket, and no file for writing but standard streams. */
static long try_descriptors(struct impostor *impostor, const struct attempt *attempt)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    long got = 0;
    uint64_t fd;

    (void)attempt;
    if (!directory)
        return impostor_skip(impostor, "/proc/self/fd cannot be listed");
    while ((entry = readdir(directory)))
        if (number_parse_u64(entry->d_name, &fd) == 0 && fd > STDERR_FILENO && (int)fd != dirfd(directory)) {
            char path[64], target[256];
            snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)fd);
            ssize_t n = readlink(path, target, sizeof(target) - 1);
            target[MAX(n, 0)] = '\0';
            if (target[0] == '/' && (fcntl((int)fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
                got = -EPERM;
        }
    closedir(directory);
    return got;
}

#define NOTHING "=0000000000000000"

static const struct attempt attempts[] = {
    {"state: it is not root", try_user, .must = MUST_WORK},
    {"state: it is not in root's group", try_group, .must = MUST_WORK},
    {"state: CapEff", try_field, .must = MUST_WORK, .text = "CapEff" NOTHING},
    {"state: CapPrm", try_field, .must = MUST_WORK, .text = "CapPrm" NOTHING},
    {"state: CapInh", try_field, .must = MUST_WORK, .text = "CapInh" NOTHING},
    {"state: CapAmb", try_field, .must = MUST_WORK, .text = "CapAmb" NOTHING},
    {"state: CapBnd", try_field, .must = MUST_WORK, .text = "CapBnd" NOTHING},
    {"state: NoNewPrivs", try_field, .must = MUST_WORK, .text = "NoNewPrivs=1"},
    {"state: Seccomp", try_field, .must = MUST_WORK, .text = "Seccomp=2"},
    {"state: it is not dumpable", try_dumpable, .must = MUST_WORK},
    {"state: it has no file for writing", try_descriptors, .must = MUST_WORK},
};

void state_run(struct impostor *impostor)
{
    impostor_try(impostor, attempts, ARRAY_SIZE(attempts));
}
