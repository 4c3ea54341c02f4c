/* SPDX-License-Identifier: Apache-2.0 */
/* The program file of this process: see program.h. */
#include "process/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";

void program_path(char *text, size_t size)
{
    char path[PROGRAM_PATH_MAX + 2];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    path[n > 0 ? n : 0] = '\0';
    /* A file that was replaced meanwhile is "PATH (deleted)". */
    bool is_plain = n > 0 && n <= PROGRAM_PATH_MAX && strspn(path, plain) == (size_t)n;
    snprintf(text, size, "%s", is_plain ? path : "$(command -v perfcountd)");
}

void program_set_name(const char *name)
{
    _cleanup_(closep) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    char line[4096];
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line));

    prctl(PR_SET_NAME, name, 0, 0, 0);
    /* The arguments still stand one behind the other, and nothing reads them any more. */
    if (n <= (ssize_t)strlen(name) || memcmp(line, program_invocation_name, strlen(program_invocation_name) + 1) != 0)
        return;
    memset(program_invocation_name, 0, (size_t)n);
    strcpy(program_invocation_name, name);
}
