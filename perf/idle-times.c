/* SPDX-License-Identifier: Apache-2.0 */
/* How long each CPU has had nothing to run: see idle-times.h. */
#include "perf/idle-times.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

/* A line for each CPU, and a number for each interrupt of the machine. */
#define STAT_MAX (2 * 1024 * 1024)

void idle_times_done(struct idle_times *times)
{
    free(times->items);
    *times = (struct idle_times){0};
}

/* "cpu0 USER NICE SYSTEM IDLE IOWAIT ...", in ticks. */
static bool parse_cpu(const char *line, long ticks, struct idle_time *ret)
{
    unsigned long long idle, iowait;
    unsigned cpu;

    if (sscanf(line, "cpu%5u %*u %*u %*u %20llu %20llu", &cpu, &idle, &iowait) != 3)
        return false;
    *ret = (struct idle_time){cpu, ((double)idle + (double)iowait) / (double)ticks};
    return true;
}

int idle_times_parse(const char *text, long ticks, struct idle_times *ret)
{
    _cleanup_(idle_times_done) struct idle_times times = {0};
    struct idle_time time;

    for (const char *line = text; line && strncmp(line, "cpu", 3) == 0;) {
        if (line[3] != ' ' && parse_cpu(line, ticks, &time)) {
            if (array_grow(&times.items, times.n) < 0)
                return -ENOMEM;
            times.items[times.n++] = time;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (times.n == 0)
        return -EBADMSG;
    *ret = times;
    times = (struct idle_times){0};
    return 0;
}

int idle_times_load(struct sys *sys, struct idle_times *ret)
{
    _cleanup_(closep) int fd = sys->open_file(sys, "/proc/stat", 0);
    _cleanup_(freep) char *text = NULL;

    if (fd < 0)
        return fd;
    int r = file_read_fd(fd, STAT_MAX, &text, NULL);
    return r < 0 ? r : idle_times_parse(text, sysconf(_SC_CLK_TCK), ret);
}
