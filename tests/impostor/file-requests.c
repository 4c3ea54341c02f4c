/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for files: those outside the list, and the powers of the descriptor of one that is in it. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "tests/impostor/ask.h"

/* Nobody gets these, whatever the configuration is. */
static const char *const forbidden[] = {
    "/etc/shadow",
    "/etc/passwd",
    "/etc/ssl/private",
    "/root/.ssh/id_rsa",
    "/",
    "",
    ".",
    "etc/shadow",
    "//etc/shadow",
    "/dev/mem",
    "/dev/kmem",
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/1/mem",
    "/proc/1/environ",
    "/proc/1/fd",
    "/proc/1/fd/0",
    "/proc/1/root",
    "/proc/1/root/etc/shadow",
    "/proc/1/cwd/etc/shadow",
    "/proc/1/exe",
    "/proc/1/stack",
    "/proc/1/syscall",
    "/proc/1/auxv",
    "/proc/1/pagemap",
    "/proc/1/maps/../environ",
    "/proc/1/task/1/mem",
    "/proc/1/task/1/environ",
    "/proc/1/map_files",
    "/proc/1/map_files/../mem",
    "/proc/1/../self/mem",
    "/proc/self/mem",
    "/proc/self/environ",
    "/proc/thread-self/mem",
    "/proc/kallsyms/../kcore",
    "/proc/sys/kernel/core_pattern",
    "/proc/1/root/tmp/perf-1.map/../../etc/shadow",
    "/proc/1/root/tmp/../etc/shadow",
    "/sys/kernel/tracing",
    "/sys/kernel/tracing/trace",
    "/sys/kernel/tracing/trace_pipe",
    "/sys/kernel/tracing/kprobe_events",
    "/sys/kernel/tracing/uprobe_events",
    "/sys/kernel/tracing/dynamic_events",
    "/sys/kernel/tracing/set_event",
    "/sys/kernel/tracing/events/../trace",
    "/sys/kernel/tracing/events/sched/../../trace",
    "/sys/kernel/tracing/events/sched/sched_switch/enable",
    "/sys/kernel/tracing/events/sched/sched_switch/filter",
    "/sys/kernel/tracing/events/sched/sched_switch/trigger",
    "/sys/kernel/tracing/events/sched/sched_switch/hist",
    "/sys/kernel/tracing/events/sched/sched_switch/id/../trigger",
    "/sys/kernel/debug/tracing/events/../trace",
    "/sys/kernel/debug",
    "/sys/kernel/security",
    "/sys/fs/cgroup",
};

static void try_forbidden(struct impostor *impostor, const char *path)
{
    static const struct must refused = REFUSED;
    char name[320];

    snprintf(name, sizeof(name), "request: the file \"%s\"", path);
    impostor_judge(impostor, name, ask_file(impostor, path, NULL), &refused);
}

static long try_link(struct impostor *impostor, const struct attempt *attempt)
{
    char path[PATH_MAX + 32];

    if (!*impostor->known.scratch)
        return impostor_skip(impostor, "there is no directory for links");
    snprintf(path, sizeof(path), "%s/%s", impostor->known.scratch, attempt->text);
    return ask_file(impostor, path, NULL);
}

static long try_long(struct impostor *impostor, const struct attempt *attempt)
{
    char path[8192];

    memset(path, '/', sizeof(path));
    snprintf(path, sizeof(path), "/proc/%0*d/comm", (int)attempt->number, 1);
    return ask_file(impostor, path, NULL);
}

static const struct attempt outside[] = {
    {"request: a link to /etc/shadow", try_link, .must = REFUSED, .text = "link"},
    {"request: a file below a link to /etc", try_link, .must = REFUSED, .text = "directory/shadow"},
    {"request: a path of 300 bytes", try_long, .must = REFUSED, .number = 300},
    {"request: a path of 4,000 bytes", try_long, .must = REFUSED, .number = 4000},
};

/* Those that are in the list for somebody. */
static const char *const listed[] = {
    "/sys/kernel/tracing/events",
    "/sys/kernel/tracing/events/sched",
    "/sys/kernel/tracing/events/sched/sched_switch/id",
    "/proc/kallsyms",
    "/proc/modules",
    "/proc/1/comm",
    "/proc/1/maps",
    "/proc/1/task",
    "/proc/1/task/1/comm",
};

static long mode_of(int fd)
{
    return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? 0 : -EISDIR;
}

/* By the descriptor of a directory whoever has it opens what is below, with their own rights. */
static long open_from(int fd, const char *path, int flags)
{
    _cleanup_(closep) int opened = openat(fd, path, flags | O_CLOEXEC);

    return opened < 0 ? -errno : 0;
}

static long write_to(int fd)
{
    return write(fd, "0", 1) < 0 ? -errno : 0;
}

static long map_shared(int fd)
{
    void *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (area == MAP_FAILED)
        return -errno;
    munmap(area, 4096);
    return 0;
}

static long open_again(int fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    _cleanup_(closep) int opened = open(path, O_WRONLY | O_CLOEXEC);
    return opened < 0 ? -errno : 0;
}

static void judge_file(struct impostor *impostor, const char *path, const char *what, long got, const struct must *must)
{
    char name[320];

    snprintf(name, sizeof(name), "the opener's descriptor of %s: %s", path, what);
    impostor_judge(impostor, name, got, must);
}

#define DENIED MUST(EACCES, EPERM, EROFS, ENOENT)

static void try_directory(struct impostor *impostor, const char *path, int fd)
{
    static const struct must denied = DENIED;

    judge_file(impostor, path, "../trace through it", open_from(fd, "../trace", O_RDONLY), &denied);
    judge_file(impostor, path, "../uprobe_events through it", open_from(fd, "../uprobe_events", O_WRONLY), &denied);
    judge_file(impostor, path, "../environ through it", open_from(fd, "../environ", O_RDONLY), &denied);
    judge_file(impostor, path, "1/mem through it", open_from(fd, "1/mem", O_RDONLY), &denied);
    judge_file(impostor, path, "sched_switch/enable through it", open_from(fd, "sched_switch/enable", O_WRONLY),
               &denied);
}

static void try_listed(struct impostor *impostor, const char *path)
{
    static const struct must works = MUST_WORK, unwritable = MUST(EBADF, EISDIR, EINVAL),
                             unmapped = MUST(EACCES, ENODEV, EIO, EISDIR), denied = MUST(EACCES, EPERM, EROFS, EISDIR);
    _cleanup_(closep) int fd = -1;
    long got = ask_file(impostor, path, &fd);
    struct stat status;

    if (fd < 0) {
        impostor_skip(impostor, "the opener does not give it here (%s)", error_name((int)got));
        judge_file(impostor, path, "all of it", ATTEMPT_SKIPPED, NULL);
        return;
    }
    judge_file(impostor, path, "it is for reading", mode_of(fd), &works);
    judge_file(impostor, path, "writing", write_to(fd), &unwritable);
    judge_file(impostor, path, "mapping it for writing", map_shared(fd), &unmapped);
    judge_file(impostor, path, "opening it again for writing", open_again(fd), &denied);
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
        try_directory(impostor, path, fd);
}

void file_requests_run(struct impostor *impostor)
{
    for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
        try_forbidden(impostor, forbidden[i]);
    impostor_try(impostor, outside, ARRAY_SIZE(outside));
    for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
        try_listed(impostor, listed[i]);
    if (impostor->config->file)
        try_listed(impostor, impostor->config->file);
}
