/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drop CAPABILITY[,CAPABILITY...]|none COMMAND...
 *
 * Runs the command as nobody with only the named capabilities (perfmon, sys_admin), like a unit with User= and
 * AmbientCapabilities=.
 */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    int number;
} known[] = {{"none", -1}, {"perfmon", CAP_PERFMON}, {"sys_admin", CAP_SYS_ADMIN}};

static int set_capabilities(uint64_t mask)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    for (int i = 0; i < 2; i++) {
        data[i].effective = data[i].permitted = data[i].inheritable = (uint32_t)(mask >> (32 * i));
    }
    return (int)syscall(SYS_capset, &header, data);
}

int main(int argc, char **argv)
{
    const char *failed = NULL;
    uint64_t mask = 0;
    char *name;

    if (argc < 3)
        return 2;
    while ((name = strsep(&argv[1], ","))) {
        size_t i = 0, n = sizeof(known) / sizeof(known[0]);

        while (i < n && strcmp(known[i].name, name) != 0)
            i++;
        if (i == n) {
            fprintf(stderr, "drop: unknown capability %s\n", name);
            return 2;
        }
        if (known[i].number >= 0)
            mask |= UINT64_C(1) << known[i].number;
    }
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
        failed = "PR_SET_KEEPCAPS";
    else if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
        failed = "setresuid";
    else if (set_capabilities(mask) < 0)
        failed = "capset";
    for (int i = 0; !failed && i < 64; i++)
        if (mask >> i & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) < 0)
            failed = "PR_CAP_AMBIENT_RAISE";
    if (failed) {
        perror(failed);
        return 1;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
