/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the opener opens: see path.h. */
#include "opener/path.h"

/* In a pattern each of these marks stands for one or more of its characters, as many as there are. */
static const struct {
    char mark;
    const char *characters;
    size_t most;
} marks[] = {
    {'*', "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", OPENER_PATH_MAX},
    {'#', "0123456789", 10},
};

/*
 * The list of tracepoints, and their numbers; the kernel's symbols and modules; processes and their names. What they
 * have mapped is read through finders (opener/finders.h). procfs checks the process that opens a file (fs/proc/base.c,
 * kernel/kallsyms.c), not the one that reads it. No directory of tracefs: whoever has a descriptor of one opens what is
 * below it, past the mode of the root of tracefs, which keeps others out.
 */
static const struct shape {
    const char *pattern;
    enum opener_file_kind kind;
    bool only_sampling;
    bool for_all; /* every process may open it, but without CAP_SYSLOG it reads zeros for addresses */
} shapes[] = {
    {"/sys/kernel/tracing/available_events", OPENER_FILE_TRACEFS, false, false},
    {"/sys/kernel/debug/tracing/available_events", OPENER_FILE_TRACEFS, false, false},
    {"/sys/kernel/tracing/events/*/*/id", OPENER_FILE_TRACEFS, false, false},
    {"/sys/kernel/debug/tracing/events/*/*/id", OPENER_FILE_TRACEFS, false, false},
    {"/proc/kallsyms", OPENER_FILE_PROC, true, true},
    {"/proc/modules", OPENER_FILE_PROC, true, true},
    {"/proc/#/comm", OPENER_FILE_PROC, true, false},
    {"/proc/#/task", OPENER_FILE_PROC, true, false},
    {"/proc/#/task/#/comm", OPENER_FILE_PROC, true, false},
};

/* How many bytes of the path the mark stands for; SIZE_MAX where it is no mark. */
static size_t length_at(char mark, const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (marks[i].mark == mark) {
            size_t n = strspn(path, marks[i].characters);
            return n <= marks[i].most ? n : 0;
        }
    return SIZE_MAX;
}

static bool shape_matches(const char *pattern, const char *path)
{
    for (; *pattern; pattern++) {
        size_t n = length_at(*pattern, path);
        if (n == 0 || (n == SIZE_MAX && *path != *pattern))
            return false;
        path += n == SIZE_MAX ? 1 : n;
    }
    return *path == '\0';
}

static const struct shape *shape_find(const char *path, bool sampling)
{
    if (strlen(path) >= OPENER_PATH_MAX)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
        if ((sampling || !shapes[i].only_sampling) && shape_matches(shapes[i].pattern, path))
            return &shapes[i];
    return NULL;
}

enum opener_file_kind opener_path_kind(const char *path, bool sampling)
{
    const struct shape *shape = shape_find(path, sampling);

    return shape ? shape->kind : OPENER_FILE_UNKNOWN;
}

bool opener_path_asks_opener_first(const char *path, bool sampling)
{
    const struct shape *shape = shape_find(path, sampling);

    return shape && shape->for_all;
}
