/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam to the kernel: every system call of counting, and every file of /sys and /proc that it needs, goes through
 * here, so that a unit test can play any machine.
 *
 * All functions return the result of the system call, or -errno. A test embeds `struct sys` first in the larger struct
 * of the machine that it plays.
 *
 * The share of the process's descriptors that counting and sampling may hold; the rest is for clients and for the
 * process itself.
 *
 * It stands in the seam (sys.h) before the function that opens groups, so nothing that counts or samples can bypass it:
 * a collector, a retry, a cgroup that came later, a reload, a CPU that is back, a capture. An event without room fails
 * with -EMFILE, as where the kernel refuses it. A descriptor that the seam closes is free again. Single events
 * (perf_event_open() of the seam) are closed at once, and are not counted.
 *
 * For one thread, like all of the seam.
 */
#ifndef PERF_SYS_H
#define PERF_SYS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "base/util.h"

/*
 * The events of a group to open, in order. Each joins `leader`; where that is -1, the first that opens leads. A leader
 * that is to count a cgroup at once (`disabled` is 0) is still opened disabled; the caller enables it when all are
 * open, which does nothing on a kernel that needs it earlier (early_leaders). `disabled`, `enable_on_exec`, `pinned`
 * and `exclusive` hold for a whole group and are taken from the leader only.
 */
struct sys_group {
    const struct perf_event_attr *attrs;
    /*
     * texts[i]: the function or file that the probe attrs[i] is set on; NULL for other events. `texts` is NULL where
     * all are. The kernel wants a pointer to it in config1, which is set when the event is opened and nowhere else.
     */
    const char *const *texts;
    size_t n;
    pid_t pid;
    int cpu, leader;
    unsigned long flags;
    bool whole; /* all or none: after an event that fails the rest is not tried */
};

struct descriptors;
struct memory_limit;
struct state_request;
struct tally_calls;

struct sys {
    /* The directory that has /sys and /proc: "" on the real machine, a directory of fixtures in a test. */
    const char *root;
    int (*perf_event_open)(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                           unsigned long flags);
    /* Opens several events. ret[i]: a descriptor, the -errno of perf_event_open(), or -ECANCELED where not tried. */
    void (*open_group)(struct sys *sys, const struct sys_group *group, int *ret);
    /* Opens a file or directory below the root for reading; `flags` of open(2) are added. */
    int (*open_file)(struct sys *sys, const char *path, int flags);
    ssize_t (*read)(struct sys *sys, int fd, void *buffer, size_t size);
    int (*ioctl)(struct sys *sys, int fd, unsigned long request, unsigned long argument);
    int (*close)(struct sys *sys, int fd);
    /* Maps the first `size` bytes of `fd`, shared. */
    int (*mmap)(struct sys *sys, int fd, size_t size, int protection, void **ret);
    int (*munmap)(struct sys *sys, void *address, size_t size);
    /* Nanoseconds of `clock`; cannot fail for the clocks in use. */
    uint64_t (*now)(struct sys *sys, clockid_t clock);
    /*
     * Starts a finder with this machine's privileges (process/finder.h): ret[0] takes its requests, and the process
     * after it in the chain reads ret[1]. Returns how many finders that were started before have not ended. NULL: there
     * is no opener.
     */
    int (*start_finder)(struct sys *sys, int ret[2]);
    /* Mounts tracefs at `path`. */
    int (*mount_tracefs)(struct sys *sys, const char *path);
    /*
     * Has a state file (state-file.h) read: 0, and then records with its ticket come by `state_records`. -EALREADY
     * where the file is as it was; -EAGAIN where the reader has enough to do; -ENOSYS where there is no reader;
     * -EBADRQC where the request is refused; errors of open(2).
     */
    int (*read_state)(struct sys *sys, const struct state_request *request);
    int state_records;                 /* packets of cgroups/names-reader.h; -1 where there is no reader */
    const struct tally_calls *tally;   /* tally/tally.h; NULL: this process cannot have one */
    struct descriptors *descriptors;   /* the limit of open_group() (descriptors.h); NULL: the kernel's alone */
    const struct memory_limit *memory; /* process/memory-limit.h; NULL: nothing limits it */
    /* Of this time namespace: nanoseconds by which its CLOCK_MONOTONIC is ahead of the host's (time_namespaces(7)). */
    int64_t monotonic_offset_ns;
    bool early_leaders; /* in sys_open_one_by_one(): a cgroup's leader is enabled before its siblings are opened */
    void *userdata;     /* belongs to the code that replaced some of these functions */
};

/* The machine that the process runs on. */
void sys_init(struct sys *sys);
/*
 * The time of a record that the kernel writes now, with attr.clockid CLOCK_MONOTONIC. That is the host's clock in every
 * time namespace, so times of records must not be compared with now().
 */
uint64_t sys_record_now(struct sys *sys);
/*
 * The nanoseconds by which CLOCK_MONOTONIC is ahead of the host's, from the text of /proc/PID/timens_offsets; 0 where
 * the text has none.
 */
int64_t sys_parse_monotonic_offset(const char *text);
/* open_group() and open_file() of the machine itself, for those that replace them. */
void sys_open_one_by_one(struct sys *sys, const struct sys_group *group, int *ret);
int sys_open_file(struct sys *sys, const char *path, int flags);

/*
 * The text of a file of at most 64 KiB below the root, without its trailing newlines; the caller frees it. Errors of
 * open(2) and read(2); -EFBIG.
 */
int sys_read_file(struct sys *sys, const char *path, char **ret_text);
/* The same, for a path made by printf; -ENAMETOOLONG. */
int sys_read_filef(struct sys *sys, char **ret_text, const char *format, ...) PRINTF_LIKE(3, 4);
/*
 * The names in a directory below the root, without those that start with a dot, sorted; each and the array are freed by
 * strings_free(). Errors of opendir(3).
 */
int sys_list_directory(struct sys *sys, const char *path, char ***ret_names, size_t *ret_n);
void strings_free(char **strings, size_t n);

/* Numbers of descriptors. */
struct descriptor_limits {
    uint64_t counting; /* for counting, at most */
    uint64_t sampling; /* for sampling, at least, and those that counting leaves; 0: nothing samples */
};

struct descriptors {
    struct descriptor_limits limits;
    uint64_t n_counting, n_sampling; /* open now */
    unsigned char *uses;             /* by descriptor: which of the two it is open for */
    size_t n_uses;
    /* The functions of the seam that it replaced. */
    void (*open_group)(struct sys *sys, const struct sys_group *group, int *ret);
    int (*close)(struct sys *sys, int fd);
};

/* Goes into the seam, after everything else that replaces open_group() there. `descriptors` must outlive all events. */
void descriptors_attach(struct descriptors *descriptors, struct sys *sys, const struct descriptor_limits *limits);
/* Leaves the seam. NULL is allowed, and one that was never attached. */
void descriptors_done(struct descriptors *descriptors, struct sys *sys);

/*
 * Descriptors that counting has opened otherwise count as its own from now on; the seam closes them. -EMFILE where
 * there is no room for all of them, -ENOMEM; then they are not counted.
 */
int descriptors_keep(struct sys *sys, const int *fds, size_t n);
/* How many descriptors a user that now holds `own` may hold in all for counting; UINT64_MAX where there is no limit. */
uint64_t descriptors_room(const struct sys *sys, uint64_t own);

#endif
