/* SPDX-License-Identifier: Apache-2.0 */
/* The program file of this process: see program.h. */
#include "base/process/program.h"

#include <stdio.h>
#include <unistd.h>

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
