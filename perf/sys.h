/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface to the kernel: every system call for counting and sampling, and every access to a file in /sys or
 * /proc, goes through struct sys, so that a unit test can simulate any machine.
 *
 * All functions return the result of the system call, or -errno. A test embeds `struct sys` as the first member of its
 * simulated machine. Only one thread uses a struct sys.
 */
#ifndef PERF_SYS_H
#define PERF_SYS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/util.h"

/*
 * The events of a group to open, in order. Each event joins `leader`; if that is -1, the first event that opens is the
 * leader. A leader that is to count a cgroup at once (`disabled` is 0) is nevertheless opened disabled, and the caller
 * enables it when all members are open. On a kernel where the leader must be enabled earlier (early_leaders), it is
 * already enabled, and the caller's call has no effect. `disabled`, `enable_on_exec`, `pinned` and `exclusive` apply to
 * a whole group and are taken from the leader only.
 */
struct sys_group {
    const struct perf_event_attr *attrs;
    /*
     * texts[i] is the function or file on which the probe attrs[i] is set, NULL for other events. `texts` may be NULL
     * if there are no probes. The kernel expects a pointer to the text in config1, which is set just before the event
     * is opened.
     */
    const char *const *texts;
    size_t n;
    pid_t pid;
    int cpu, leader;
    unsigned long flags;
    bool whole; /* all or none: events after the first one that fails are not tried */
};

struct sys;
struct descriptors;
struct memory_limit;

/*
 * The table of calls is set as a whole: by sys_init(), by the opener's client, or by a test. Use the functions below to
 * make the calls.
 */
struct sys_calls {
    int (*perf_event_open)(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                           unsigned long flags);
    /*
     * Opens several events. ret[i] is a descriptor, the -errno of perf_event_open(), or -ECANCELED if it was not tried.
     */
    void (*open_group)(struct sys *sys, const struct sys_group *group, int *ret);
    /* Opens a file or directory below the root for reading; `flags` are added to those of open(2). */
    int (*open_file)(struct sys *sys, const char *path, int flags);
    ssize_t (*read)(struct sys *sys, int fd, void *buffer, size_t size);
    int (*ioctl)(struct sys *sys, int fd, unsigned long request, unsigned long argument);
    int (*close)(struct sys *sys, int fd);
    /* Maps the first `size` bytes of `fd`, shared. */
    int (*mmap)(struct sys *sys, int fd, size_t size, int protection, void **ret);
    int (*munmap)(struct sys *sys, void *address, size_t size);
    /* Reads `clock`, in nanoseconds. Never fails for the clocks in use. */
    uint64_t (*now)(struct sys *sys, clockid_t clock);
    /*
     * Starts a finder with the opener's privileges (process/finder.h). ret[0] takes its requests, ret[1] is read by the
     * next process in the chain; the caller closes both. Returns how many of the finders that were started earlier are
     * still running. The pointer is NULL if there is no opener.
     */
    int (*start_finder)(struct sys *sys, int ret[2]);
    /* Mounts tracefs at `path`. */
    int (*mount_tracefs)(struct sys *sys, const char *path);
};

struct sys {
    struct sys_calls calls;
    void *owner; /* owner of `calls`: the opener's client, or NULL if this process makes the calls itself */
    /* The directory that contains /sys and /proc: "" on the real machine, a directory of test data in a test. */
    const char *root;
    struct descriptors *descriptors;   /* limits sys_open_group(); NULL if only the kernel's limits apply */
    const struct memory_limit *memory; /* process/memory-limit.h; NULL if nothing limits the memory */
    /* Nanoseconds by which CLOCK_MONOTONIC of this time namespace is ahead of the host's (time_namespaces(7)). */
    int64_t monotonic_offset_ns;
    bool early_leaders; /* sys_own_open_group() enables a cgroup's leader before it opens the siblings */
};

/* Initializes the interface to the machine on which the process runs. */
void sys_init(struct sys *sys);
/*
 * The timestamp that the kernel would give a record now if attr.clockid is CLOCK_MONOTONIC. In every time namespace,
 * this is the host's clock, so record times must not be compared with sys_now().
 */
uint64_t sys_record_now(struct sys *sys);
/*
 * Parses the text of /proc/PID/timens_offsets. Returns the nanoseconds by which CLOCK_MONOTONIC is ahead of the host's,
 * or 0 if the text does not say. Pure.
 */
int64_t sys_parse_monotonic_offset(const char *text);
/* The table with which this process makes the calls itself, on the real machine. */
extern const struct sys_calls sys_own_calls;
void sys_own_open_group(struct sys *sys, const struct sys_group *group, int *ret);
int sys_own_open_file(struct sys *sys, const char *path, int flags);

/* --- Calls --- */

/* Opens the events of a group. Events beyond the limit in sys->descriptors fail with -EMFILE. */
void sys_open_group(struct sys *sys, const struct sys_group *group, int *ret);
int sys_close(struct sys *sys, int fd);

static inline int sys_perf_event_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                                      unsigned long flags)
{
    return sys->calls.perf_event_open(sys, attr, pid, cpu, group_fd, flags);
}

static inline int sys_open_file(struct sys *sys, const char *path, int flags)
{
    return sys->calls.open_file(sys, path, flags);
}

static inline ssize_t sys_read(struct sys *sys, int fd, void *buffer, size_t size)
{
    return sys->calls.read(sys, fd, buffer, size);
}

static inline int sys_ioctl(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    return sys->calls.ioctl(sys, fd, request, argument);
}

static inline int sys_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    return sys->calls.mmap(sys, fd, size, protection, ret);
}

static inline int sys_munmap(struct sys *sys, void *address, size_t size)
{
    return sys->calls.munmap(sys, address, size);
}

static inline uint64_t sys_now(struct sys *sys, clockid_t clock)
{
    return sys->calls.now(sys, clock);
}

static inline bool sys_has_finder(const struct sys *sys)
{
    return sys->calls.start_finder;
}

static inline int sys_start_finder(struct sys *sys, int ret[2])
{
    return sys->calls.start_finder(sys, ret);
}

static inline int sys_mount_tracefs(struct sys *sys, const char *path)
{
    return sys->calls.mount_tracefs(sys, path);
}

/* --- Files --- */

/*
 * Reads a file of at most 64 KiB below the root, without its trailing newlines. The caller frees the text. Returns
 * errors of open(2) and read(2), -EFBIG, or -ENOMEM.
 */
int sys_read_file(struct sys *sys, const char *path, char **ret_text);
/* Like sys_read_file(), for a path that is formatted as by printf(3). Returns -ENAMETOOLONG if the path is too long. */
int sys_read_filef(struct sys *sys, char **ret_text, const char *format, ...) PRINTF_LIKE(3, 4);

/*
 * A file in /proc or /sys that is read repeatedly. The file stays open in between, since opening and closing it costs
 * several times as much as reading it. All zero before the first reading.
 */
struct kept_file {
    int fd; /* descriptor of the file; 0 if it is not open */
};
/*
 * Reads the file from its start. Replaces the content of `text`, and adds a NUL that its size does not include. The
 * descriptor is one of those for counting (below); if there is no room for it, or if the file cannot be read, it is
 * closed and the next call opens the file again. Returns errors of sys_open_file() and file_reread().
 */
int kept_file_read(struct sys *sys, struct kept_file *file, const char *path, size_t max, struct buffer *text);
void kept_file_close(struct sys *sys, struct kept_file *file);

/*
 * Lists the names in a directory below the root, sorted, without those that begin with a dot. The caller frees them
 * with strings_free(). Returns errors of opendir(3), or -ENOMEM.
 */
int sys_list_directory(struct sys *sys, const char *path, char ***ret_names, size_t *ret_n);
void strings_free(char **strings, size_t n);

/* --- Descriptors --- */

/*
 * Limits how many of the process's descriptors counting and sampling may hold; the rest is for clients and for the
 * process itself.
 *
 * sys_open_group() applies the limit, so nothing that counts or samples can bypass it: a collector, a retry, a new
 * cgroup, a reload, a CPU that is back online, a capture. An event that exceeds the limit fails with -EMFILE, as if the
 * kernel had refused it. A descriptor that sys_close() closes is free again. Single events, opened by
 * sys_perf_event_open(), are closed at once and are not counted.
 */
struct descriptor_limits {
    uint64_t counting; /* counting may hold at most this many descriptors */
    uint64_t sampling; /* reserved for sampling, which also gets what counting leaves; 0: no sampling */
};

struct descriptors {
    struct descriptor_limits limits;
    uint64_t n_counting, n_sampling; /* open now */
    unsigned char *uses;             /* indexed by descriptor: whether counting or sampling holds it */
    size_t n_uses;
};

/* Sets the limit. `descriptors` must outlive all events. */
void descriptors_attach(struct descriptors *descriptors, struct sys *sys, const struct descriptor_limits *limits);
/* Removes the limit. Does nothing if `descriptors` is NULL or descriptors_attach() was not called. */
void descriptors_done(struct descriptors *descriptors, struct sys *sys);

/*
 * Counts descriptors that counting opened by other means. The descriptors are free again when sys_close() closes them.
 * Returns -EMFILE if there is no room for all of them, or -ENOMEM; none of them is counted then.
 */
int descriptors_keep(struct sys *sys, const int *fds, size_t n);
/*
 * How many descriptors a user that now holds `own` may hold in total for counting, or UINT64_MAX if there is no limit.
 */
uint64_t descriptors_room(const struct sys *sys, uint64_t own);

#endif
