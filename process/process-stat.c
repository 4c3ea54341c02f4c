/* SPDX-License-Identifier: Apache-2.0 */
/* A process as /proc/PID/stat describes it: see process-stat.h. */
#include "process/process-stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

/* The fields behind the name, by their numbers in proc(5). */
enum {
    STATE = 3,
    USER_TICKS = 14,
    SYSTEM_TICKS,
    WAITED_USER_TICKS,
    WAITED_SYSTEM_TICKS,
    THREADS = 20,
    START_TICKS = 22,
    VIRTUAL_BYTES,
    RESIDENT_PAGES,
    END
};

static uint64_t ticks_to_ns(uint64_t ticks)
{
    return ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

int process_stat_parse(const char *text, struct process_stat *ret)
{
    /* The name in parentheses may itself hold parentheses and spaces. */
    const char *at = strrchr(text, ')');
    uint64_t fields[END] = {0};
    char *end;

    if (!at || at[1] != ' ' || !at[2])
        return -EBADMSG;
    if (at[2] == 'Z' || at[2] == 'X')
        return -ESRCH;
    at += 3;
    for (int field = STATE + 1; field < END; field++, at = end) {
        if (*at != ' ')
            return -EBADMSG;
        fields[field] = strtoull(at + 1, &end, 10);
        if (end == at + 1)
            return -EBADMSG;
    }
    *ret = (struct process_stat){
        .cpu_ns = ticks_to_ns(fields[USER_TICKS] + fields[SYSTEM_TICKS]),
        .waited_ns = ticks_to_ns(fields[WAITED_USER_TICKS] + fields[WAITED_SYSTEM_TICKS]),
        .start_ns = ticks_to_ns(fields[START_TICKS]),
        .threads = fields[THREADS],
        .virtual_bytes = fields[VIRTUAL_BYTES],
        .resident_bytes = fields[RESIDENT_PAGES] * (uint64_t)sysconf(_SC_PAGESIZE),
    };
    return 0;
}

int process_stat_read(int fd, struct process_stat *ret)
{
    char text[1024];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    if (n < 0)
        return -errno;
    text[n] = '\0';
    return process_stat_parse(text, ret);
}

int process_stat_read_boot(uint64_t *ret)
{
    _cleanup_(freep) char *text = NULL;
    unsigned long long seconds;
    int r = file_read(AT_FDCWD, "/proc/stat", 16 * 1024 * 1024, &text, NULL);

    if (r < 0)
        return r;
    const char *btime = strstr(text, "\nbtime ");
    if (!btime || sscanf(btime, " btime %llu", &seconds) != 1)
        return -EBADMSG;
    *ret = seconds * NSEC_PER_SEC;
    return 0;
}
