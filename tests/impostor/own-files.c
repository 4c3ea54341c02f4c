/* SPDX-License-Identifier: Apache-2.0 */
/* Files of root's that this process tries to read or write itself. A file that opens is closed again, unchanged. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/impostor/impostor.h"

enum way { READ, WRITE, CREATE };

static const struct {
    const char *path;
    enum way way;
} files[] = {
    {"/etc/impostor", CREATE},
    {"/etc/cron.d/impostor", CREATE},
    {"/usr/bin/impostor", CREATE},
    {"/root/impostor", CREATE},
    {"/impostor", CREATE},
    {"/run/impostor", CREATE},
    {"/var/impostor", CREATE},
    {"/etc/shadow", READ},
    {"/etc/shadow", WRITE},
    {"/etc/passwd", WRITE},
    {"/etc/ld.so.cache", WRITE},
    {"/bin/sh", WRITE},
    {"/proc/self/exe", WRITE},
    {"/proc/sys/kernel/core_pattern", WRITE},
    {"/proc/sys/kernel/modprobe", WRITE},
    {"/proc/sys/kernel/perf_event_paranoid", WRITE},
    {"/proc/sys/kernel/kptr_restrict", WRITE},
    {"/proc/sys/vm/drop_caches", WRITE},
    {"/proc/sysrq-trigger", WRITE},
    {"/proc/kcore", READ},
    {"/proc/kmsg", READ},
    {"/dev/mem", READ},
    {"/dev/kmsg", WRITE},
    {"/dev/vda", READ},
    {"/dev/sda", READ},
    {"/sys/kernel/uevent_helper", WRITE},
    {"/sys/kernel/tracing/trace", READ},
    {"/sys/kernel/tracing/trace", WRITE},
    {"/sys/kernel/tracing/trace_pipe", READ},
    {"/sys/kernel/tracing/kprobe_events", WRITE},
    {"/sys/kernel/tracing/uprobe_events", WRITE},
    {"/sys/kernel/tracing/dynamic_events", WRITE},
    {"/sys/kernel/tracing/set_event", WRITE},
    {"/sys/kernel/tracing/tracing_on", WRITE},
    {"/sys/kernel/tracing/events/sched/sched_switch/enable", WRITE},
    {"/sys/kernel/tracing/events/sched/sched_switch/filter", WRITE},
    {"/sys/kernel/tracing/events/sched/sched_switch/trigger", WRITE},
    {"/sys/kernel/security/lockdown", WRITE},
    {"/sys/fs/cgroup/cgroup.procs", WRITE},
    {"/sys/fs/cgroup/cgroup.subtree_control", WRITE},
    {"/sys/fs/cgroup/unified/cgroup.procs", WRITE},
    {"/sys/fs/cgroup/impostor", CREATE},
    {"/sys/devices/system/cpu/cpu1/online", WRITE},
    {"/sys/power/state", WRITE},
    {"/proc/1/mem", READ},
    {"/proc/1/mem", WRITE},
    {"/proc/1/environ", READ},
    {"/proc/1/maps", READ},
    {"/proc/1/root/etc/shadow", READ},
    {"/proc/1/oom_score_adj", WRITE},
};

static long open_read(const char *path)
{
    char byte;
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    /* Some files are opened by anybody and read by few. */
    return fd < 0 ? -errno : read(fd, &byte, 1) < 0 && errno != EAGAIN ? -errno : 0;
}

static long open_write(const char *path)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);

    return fd < 0 ? -errno : 0;
}

static long create(const char *path)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    unlink(path);
    return 0;
}

static bool is_there(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 || errno != ENOENT;
}

static void try_file(struct impostor *impostor, const char *path, enum way way)
{
    static const char *const verbs[] = {[READ] = "reading", [WRITE] = "opening for writing", [CREATE] = "creating"};
    static const struct must denied = MUST(EACCES, EPERM, EROFS, ETXTBSY, ENOENT, ENXIO);
    long got = way == READ ? open_read(path) : way == WRITE ? open_write(path) : create(path);
    char name[160];

    snprintf(name, sizeof(name), "itself: %s %s", verbs[way], path);
    if (got == -ENOENT && way != CREATE && !is_there(path))
        got = impostor_skip(impostor, "this process sees no such file");
    impostor_judge(impostor, name, got, &denied);
}

static long try_mode(struct impostor *impostor, const struct attempt *attempt)
{
    struct stat status;

    (void)impostor;
    if (stat(attempt->text, &status) < 0)
        return -errno;
    return chmod(attempt->text, status.st_mode & 07777) < 0 ? -errno : 0;
}

static long try_owner(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    return chown(attempt->text, 0, 0) < 0 ? -errno : 0;
}

/* A hard link to a program of root's, to be kept until that has a hole. */
static long try_link(struct impostor *impostor, const struct attempt *attempt)
{
    char path[PATH_MAX + 16];

    if (!*impostor->known.scratch)
        return impostor_skip(impostor, "there is no directory for it");
    snprintf(path, sizeof(path), "%s/hard", impostor->known.scratch);
    if (link(attempt->text, path) < 0)
        return -errno;
    unlink(path);
    return 0;
}

/* Its own configuration, which root's opener reads at the next start. */
static long try_configuration(struct impostor *impostor, const struct attempt *attempt)
{
    (void)attempt;
    return impostor->config->file ? open_write(impostor->config->file)
                                  : impostor_skip(impostor, "there is no file of it");
}

#define DENIED MUST(EACCES, EPERM, EROFS, EXDEV)

static const struct attempt attempts[] = {
    {"itself: the mode of /etc/passwd", try_mode, .must = DENIED, .text = "/etc/passwd"},
    {"itself: the owner of /etc/passwd", try_owner, .must = DENIED, .text = "/etc/passwd"},
    {"itself: opening its configuration for writing", try_configuration, .must = DENIED},
    {"itself: a hard link to /etc/shadow", try_link, .must = DENIED, .text = "/etc/shadow"},
};

void own_files_run(struct impostor *impostor)
{
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        try_file(impostor, files[i].path, files[i].way);
    impostor_try(impostor, attempts, ARRAY_SIZE(attempts));
}
