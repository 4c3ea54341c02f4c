/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/faults/faulty-sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "bpf/calls.h"
#include "tests/unit/fake-event.h"

/* Wrong results that a call may return, apart from the errors of errno(3). */
enum seam_lie {
    LIE_SHORT = 1000, /* a read returns half of the bytes */
    LIE_EMPTY,        /* a read returns 0 bytes; a file is empty */
    LIE_MORE,         /* a group reports one member more */
    LIE_FEWER,        /* a group reports one member fewer, in as many bytes */
    LIE_ID,           /* a group reports the ID of another event */
    LIE_BACK,         /* a group's counts decrease */
    LIE_TIME,         /* a group's times decrease */
    LIE_RUNNING,      /* a group's time_running exceeds its time_enabled */
    LIE_TWICE,        /* the same bytes as in the last read, as if nothing was counted */
};

/*
 * How each call may fail, from "ERRORS" in the manual pages perf_event_open(2), open(2), read(2), ioctl(2), close(2),
 * mmap(2), mount(2) and bpf(2), and from "Reading results" in perf_event_open(2). If one call and all later ones fail,
 * each fails with the first error of its row. 0 ends a row.
 */
static const struct {
    const char *name;
    int how[24];
} rows[] = {
    [SEAM_OPEN] = {"perf_event_open",
                   {EMFILE, ENOMEM, E2BIG, EACCES, EBADF, EBUSY, EFAULT, EINTR, EINVAL, ENFILE, ENODEV, ENOENT, ENOSPC,
                    ENOSYS, EOPNOTSUPP, EOVERFLOW, EPERM, ESRCH}},
    [SEAM_OPEN_FILE] = {"open_file",
                        {EMFILE, EACCES, EBUSY, EFAULT, EINTR, EINVAL, EIO, ELOOP, ENAMETOOLONG, ENFILE, ENODEV, ENOENT,
                         ENOMEM, ENOTDIR, ENXIO, EOVERFLOW, EPERM, LIE_EMPTY}},
    [SEAM_READ] = {"read",
                   {EIO, EAGAIN, EBADF, EFAULT, EINTR, EINVAL, ENOMEM, ENOSPC, LIE_SHORT, LIE_EMPTY, LIE_MORE,
                    LIE_FEWER, LIE_ID, LIE_BACK, LIE_TIME, LIE_RUNNING, LIE_TWICE}},
    [SEAM_IOCTL] = {"ioctl", {EINVAL, EBADF, EFAULT, ENOTTY, EINTR, EACCES, EBUSY}},
    [SEAM_CLOSE] = {"close", {EIO, EINTR, ENOSPC, EDQUOT}},
    [SEAM_MMAP] = {"mmap", {ENOMEM, EACCES, EAGAIN, EBADF, EINVAL, ENFILE, ENODEV, EOVERFLOW, EPERM}},
    [SEAM_MUNMAP] = {"munmap", {EINVAL, ENOMEM}},
    [SEAM_MOUNT] = {"mount", {EPERM, EACCES, EBUSY, ENODEV, ENOMEM, ENOENT}},
    /* EPIPE and ETIMEDOUT come from the opener, which makes the call. */
    [SEAM_BPF] = {"bpf",
                  {ENOMEM, EPERM, EPIPE, ETIMEDOUT, E2BIG, EAGAIN, EBADF, EBUSY, EFAULT, EINVAL, EMFILE, ENOENT, ENOSPC,
                   ENOSYS}},
};

const char *seam_call_name(enum seam_call call)
{
    return rows[call].name;
}

unsigned seam_count_variants(enum seam_call call)
{
    unsigned n = 0;

    while (rows[call].how[n])
        n++;
    return n;
}

const char *seam_variant_name(enum seam_call call, unsigned n)
{
    static const char *const lies[] = {"short",       "empty",      "more-members", "fewer-members", "another-id",
                                       "counts-fall", "times-fall", "ran-too-long", "all-zero"};
    int how = rows[call].how[n];

    return how >= LIE_SHORT ? lies[how - LIE_SHORT] : error_name(-how);
}

/* Returns the simulated machine. */
static struct sys *real_of(const struct sys *sys)
{
    return &((struct fake_sys *)sys->owner)->sys;
}

/* Returns the simulated machine. Its own calls and allocations do not fail until real_release(). */
static struct sys *real_hold(const struct sys *sys)
{
    faults_hold();
    return real_of(sys);
}

static int real_release(int r)
{
    faults_release();
    return r;
}

/* Returns how the call fails: an errno value or an enum seam_lie; 0 if it does not fail. */
static int planned(enum seam_call call)
{
    int n = faults_fail_call(call);

    return n < 0 ? 0 : rows[call].how[n];
}

/* The simulated machine's result, unless the call must fail. */
#define FAIL_OR(call, expression)                                                                                      \
    ({                                                                                                                 \
        int fails = planned(call);                                                                                     \
        faults_hold();                                                                                                 \
        real_release(fails ? -fails : (expression));                                                                   \
    })

/* The simulated machine identifies a directory by its inode, and other files by their descriptor. */
static int inode_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? (int)st.st_ino : fd;
}

static int faulty_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                       unsigned long flags)
{
    int fails = planned(SEAM_OPEN);
    struct sys *real = real_hold(sys);

    /* ENOENT for an event that every kernel has means that the cgroup was removed, which would not be a fault. */
    bool tries_cgroup =
        flags & PERF_FLAG_PID_CGROUP && attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
    if (fails && !(tries_cgroup && fails == ENOENT))
        return real_release(-fails);
    if (flags & PERF_FLAG_PID_CGROUP)
        pid = inode_of(pid);
    return real_release(sys_perf_event_open(real, attr, pid, cpu, group_fd, flags));
}

static int faulty_open_file(struct sys *sys, const char *path, int flags)
{
    int fails = planned(SEAM_OPEN_FILE);
    struct sys *real = real_hold(sys);

    if (fails && fails != LIE_EMPTY)
        return real_release(-fails);
    int fd = sys_open_file(real, path, flags);
    if (fd < 0 || fails != LIE_EMPTY || flags & O_DIRECTORY)
        return real_release(fd); /* a file that does not exist cannot be read as empty */
    close(fd);
    return real_release(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

/* The format is { nr, time_enabled, time_running, { value, id } ... }: perf_event_open(2), "Reading results". */
static ssize_t lie_about(int lie, uint64_t *words, ssize_t n)
{
    size_t members = (size_t)n / 8 > 3 ? words[0] : 0;

    if (lie == LIE_SHORT)
        return n / 2 / 8 * 8;
    if (lie == LIE_EMPTY)
        return 0;
    if (lie == LIE_FEWER && members)
        n -= 16;
    if ((lie == LIE_MORE || lie == LIE_FEWER) && members)
        words[0] += lie == LIE_MORE ? 1 : (uint64_t)-1;
    if (lie == LIE_ID && members)
        words[4]++;
    if (lie == LIE_TIME || lie == LIE_TWICE)
        words[1] = words[2] = 0;
    if (lie == LIE_RUNNING)
        words[2] = words[1] + 1000;
    for (size_t i = 0; i < members && (lie == LIE_BACK || lie == LIE_TWICE); i++)
        words[3 + 2 * i] = lie == LIE_TWICE ? 0 : words[3 + 2 * i] / 2;
    return n;
}

static ssize_t faulty_read(struct sys *sys, int fd, void *buffer, size_t size)
{
    int fails = planned(SEAM_READ);
    struct sys *real = real_hold(sys);
    ssize_t n = fails && fails < LIE_SHORT ? -fails : sys_read(real, fd, buffer, size);

    faults_release();
    return fails && n > 0 ? lie_about(fails, buffer, n) : n;
}

static int faulty_ioctl(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    return FAIL_OR(SEAM_IOCTL, sys_ioctl(real_of(sys), fd, request, argument));
}

/* The descriptor is closed even if an error is returned: close(2). */
static int faulty_close(struct sys *sys, int fd)
{
    int fails = planned(SEAM_CLOSE);
    struct sys *real = real_hold(sys);
    int r = real_release(sys_close(real, fd));

    return fails ? -fails : r;
}

static int faulty_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    return FAIL_OR(SEAM_MMAP, sys_mmap(real_of(sys), fd, size, protection, ret));
}

/* The mapping is removed even if an error is returned, since no caller could retry. */
static int faulty_munmap(struct sys *sys, void *address, size_t size)
{
    int fails = planned(SEAM_MUNMAP);
    struct sys *real = real_hold(sys);
    int r = real_release(sys_munmap(real, address, size));

    return fails ? -fails : r;
}

static uint64_t faulty_now(struct sys *sys, clockid_t clock)
{
    return sys_now(real_of(sys), clock);
}

static int faulty_mount(struct sys *sys, const char *path)
{
    return FAIL_OR(SEAM_MOUNT, sys_mount_tracefs(real_of(sys), path));
}

/* --- BPF programs --- */

static const struct bpf_calls *real_bpf(const struct fake_sys *fake)
{
    return &fake->bpf_calls;
}

static int faulty_start(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error)
{
    int fails = planned(SEAM_BPF);
    const struct bpf_calls *real = real_bpf(owner);

    faults_hold();
    if (fails)
        return real_release(error_set(error, -fails, "the BPF program cannot start: %s", strerror(fails)));
    return real_release(real->start(owner, shape, ret, error));
}

static int faulty_set_cpu(void *owner, unsigned cpu, const struct bpf_event *events, const int *fds)
{
    return FAIL_OR(SEAM_BPF, real_bpf(owner)->set_cpu(owner, cpu, events, fds));
}

static int faulty_attach(void *owner, bool attached)
{
    return FAIL_OR(SEAM_BPF, real_bpf(owner)->attach(owner, attached));
}

static int faulty_assign(void *owner, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    return FAIL_OR(SEAM_BPF, real_bpf(owner)->assign(owner, cgroup_fd, slot, ret_id));
}

static int faulty_withdraw(void *owner, uint64_t id)
{
    return FAIL_OR(SEAM_BPF, real_bpf(owner)->withdraw(owner, id));
}

static int faulty_flush(void *owner)
{
    return FAIL_OR(SEAM_BPF, real_bpf(owner)->flush(owner));
}

static void faulty_stop(void *owner)
{
    const struct bpf_calls *real = real_bpf(owner);

    faults_hold();
    real->stop(owner);
    real_release(0);
}

void faulty_bpf_init(struct bpf_calls *bpf, struct fake_sys *fake)
{
    if (!bpf_is_available(&fake->bpf_calls))
        return;
    *bpf = (struct bpf_calls){
        .owner = fake,
        .start = faulty_start,
        .set_cpu = faulty_set_cpu,
        .attach = faulty_attach,
        .assign = faulty_assign,
        .withdraw = faulty_withdraw,
        .flush = faulty_flush,
        .stop = faulty_stop,
    };
}

static const struct sys_calls faulty_calls = {
    .perf_event_open = faulty_open,
    .open_group = sys_own_open_group,
    .open_file = faulty_open_file,
    .read = faulty_read,
    .ioctl = faulty_ioctl,
    .close = faulty_close,
    .mmap = faulty_mmap,
    .munmap = faulty_munmap,
    .now = faulty_now,
    .mount_tracefs = faulty_mount,
};

void faulty_sys_init(struct sys *sys, struct fake_sys *fake)
{
    *sys = (struct sys){
        .calls = faulty_calls,
        .owner = fake,
        .root = fake->sys.root,
    };
}
