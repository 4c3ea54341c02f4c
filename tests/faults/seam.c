/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How each call of the seam may fail: see seam.h. Sources: perf_event_open(2), open(2), read(2), ioctl(2), close(2),
 * mmap(2), mount(2), bpf(2), "ERRORS"; perf_event_open(2), "Reading results". The first of a row is that of the runs in
 * which all calls fail from one on.
 */
#include "tests/faults/seam.h"

#include <errno.h>

#include "base/cleanup.h"

#define FAILS(error)                                                                                                   \
    {                                                                                                                  \
#error, error, LIE_NONE                                                                                        \
    }

static const struct seam_variant of_open[] = {
    FAILS(EMFILE), FAILS(ENOMEM), FAILS(E2BIG),      FAILS(EACCES),    FAILS(EBADF),  FAILS(EBUSY),
    FAILS(EFAULT), FAILS(EINTR),  FAILS(EINVAL),     FAILS(ENFILE),    FAILS(ENODEV), FAILS(ENOENT),
    FAILS(ENOSPC), FAILS(ENOSYS), FAILS(EOPNOTSUPP), FAILS(EOVERFLOW), FAILS(EPERM),  FAILS(ESRCH),
};
static const struct seam_variant of_open_file[] = {
    FAILS(EMFILE), FAILS(EACCES),  FAILS(EBUSY),        FAILS(EFAULT),    FAILS(EINTR),  FAILS(EINVAL),
    FAILS(EIO),    FAILS(ELOOP),   FAILS(ENAMETOOLONG), FAILS(ENFILE),    FAILS(ENODEV), FAILS(ENOENT),
    FAILS(ENOMEM), FAILS(ENOTDIR), FAILS(ENXIO),        FAILS(EOVERFLOW), FAILS(EPERM),  {"empty", 0, LIE_EMPTY},
};
static const struct seam_variant of_read[] = {
    FAILS(EIO),
    FAILS(EAGAIN),
    FAILS(EBADF),
    FAILS(EFAULT),
    FAILS(EINTR),
    FAILS(EINVAL),
    FAILS(ENOMEM),
    FAILS(ENOSPC),
    {"short", 0, LIE_SHORT},
    {"nothing", 0, LIE_EMPTY},
    {"more-members", 0, LIE_MORE},
    {"fewer-members", 0, LIE_FEWER},
    {"another-id", 0, LIE_ID},
    {"counts-fall", 0, LIE_BACK},
    {"times-fall", 0, LIE_TIME},
    {"ran-too-long", 0, LIE_RUNNING},
    {"all-zero", 0, LIE_TWICE},
};
static const struct seam_variant of_ioctl[] = {FAILS(EINVAL), FAILS(EBADF),  FAILS(EFAULT), FAILS(ENOTTY),
                                               FAILS(EINTR),  FAILS(EACCES), FAILS(EBUSY)};
static const struct seam_variant of_close[] = {FAILS(EIO), FAILS(EINTR), FAILS(ENOSPC), FAILS(EDQUOT)};
static const struct seam_variant of_mmap[] = {FAILS(ENOMEM), FAILS(EACCES),    FAILS(EAGAIN),
                                              FAILS(EBADF),  FAILS(EINVAL),    FAILS(ENFILE),
                                              FAILS(ENODEV), FAILS(EOVERFLOW), FAILS(EPERM)};
static const struct seam_variant of_munmap[] = {FAILS(EINVAL), FAILS(ENOMEM)};
static const struct seam_variant of_mount[] = {FAILS(EPERM),  FAILS(EACCES), FAILS(EBUSY),
                                               FAILS(ENODEV), FAILS(ENOMEM), FAILS(ENOENT)};
/* Of the opener that is asked (EPIPE, ETIMEDOUT), and of bpf(2). */
static const struct seam_variant of_tally[] = {
    FAILS(ENOMEM), FAILS(EPERM),  FAILS(EPIPE),  FAILS(ETIMEDOUT), FAILS(E2BIG),  FAILS(EAGAIN), FAILS(EBADF),
    FAILS(EBUSY),  FAILS(EFAULT), FAILS(EINVAL), FAILS(EMFILE),    FAILS(ENOENT), FAILS(ENOSPC), FAILS(ENOSYS),
};

static const struct {
    const char *name;
    const struct seam_variant *variants;
    unsigned n;
} rows[] = {
    [SEAM_OPEN] = {"perf_event_open", of_open, ARRAY_SIZE(of_open)},
    [SEAM_OPEN_FILE] = {"open_file", of_open_file, ARRAY_SIZE(of_open_file)},
    [SEAM_READ] = {"read", of_read, ARRAY_SIZE(of_read)},
    [SEAM_IOCTL] = {"ioctl", of_ioctl, ARRAY_SIZE(of_ioctl)},
    [SEAM_CLOSE] = {"close", of_close, ARRAY_SIZE(of_close)},
    [SEAM_MMAP] = {"mmap", of_mmap, ARRAY_SIZE(of_mmap)},
    [SEAM_MUNMAP] = {"munmap", of_munmap, ARRAY_SIZE(of_munmap)},
    [SEAM_MOUNT] = {"mount", of_mount, ARRAY_SIZE(of_mount)},
    [SEAM_TALLY] = {"tally", of_tally, ARRAY_SIZE(of_tally)},
};

const char *seam_call_name(enum seam_call call)
{
    return rows[call].name;
}

unsigned seam_count_variants(enum seam_call call)
{
    return rows[call].n;
}

const struct seam_variant *seam_variant(enum seam_call call, unsigned n)
{
    return n < rows[call].n ? &rows[call].variants[n] : NULL;
}
