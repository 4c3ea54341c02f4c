/* SPDX-License-Identifier: Apache-2.0 */
/* A group of events that the kernel schedules together: see group.h. */
#include "perf/group.h"

#include "base/cleanup.h"

#define READ_FORMAT                                                                                                    \
    (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct member {
    int fd;
    uint64_t id;
};

struct group {
    struct sys *sys;
    size_t n;
    struct member members[];
};

/* What read(2) gives for READ_FORMAT: see "read_format" in perf_event_open(2). */
struct raw_reading {
    uint64_t n, enabled, running;
    struct {
        uint64_t value, id;
    } members[GROUP_MEMBERS_MAX];
};

DEFINE_CLEANUP(struct group *, group_free);

struct group *group_free(struct group *group)
{
    if (!group)
        return NULL;
    /* Siblings first: closing a leader would make each of them a group of its own for a moment. */
    while (group->n > 0)
        group->sys->close(group->sys, group->members[--group->n].fd);
    free(group);
    return NULL;
}

/* What every member asks; of a leader, `disabled` holds for all. */
static struct perf_event_attr member_attr(const struct attr *attr)
{
    struct perf_event_attr kernel = attr->kernel;

    kernel.size = sizeof(kernel);
    kernel.read_format = READ_FORMAT;
    kernel.disabled = 1;
    /* Where nothing is sampled there is no instruction pointer to be precise about, and x86 refuses to try. */
    kernel.precise_ip = 0;
    return kernel;
}

/* Takes the descriptor over, or closes it. */
static int adopt(struct group *group, int fd)
{
    struct member member = {.fd = fd};
    int r = group->sys->ioctl(group->sys, fd, PERF_EVENT_IOC_ID, (unsigned long)&member.id);

    if (r < 0) {
        group->sys->close(group->sys, fd);
        return r;
    }
    group->members[group->n++] = member;
    return 0;
}

static void open_members(struct sys *sys, const struct attr *attrs, size_t n, bool whole,
                         const struct group_target *target, int *ret_fds)
{
    struct perf_event_attr kernel[GROUP_MEMBERS_MAX];
    const char *texts[GROUP_MEMBERS_MAX];

    for (size_t i = 0; i < n; i++) {
        kernel[i] = member_attr(&attrs[i]);
        texts[i] = attrs[i].text;
    }
    sys->open_group(sys,
                    &(struct sys_group){
                        .attrs = kernel,
                        .texts = texts,
                        .n = n,
                        .pid = target->pid,
                        .cpu = target->cpu,
                        .leader = -1,
                        .flags = target->flags | PERF_FLAG_FD_CLOEXEC,
                        .whole = whole,
                    },
                    ret_fds);
}

/* With room for so many members. */
static struct group *group_new(struct sys *sys, size_t n)
{
    struct group *group = malloc(sizeof(*group) + n * sizeof(group->members[0]));

    if (group)
        *group = (struct group){.sys = sys};
    return group;
}

int group_open(struct sys *sys, const struct attr *leader, const struct group_target *target, struct group **ret)
{
    struct group *group;
    int error;
    int r = group_open_many(sys, leader, 1, true, target, &error, &group);

    if (r < 0 || error < 0)
        return r < 0 ? r : error;
    *ret = group;
    return 0;
}

int group_open_many(struct sys *sys, const struct attr *attrs, size_t n, bool whole, const struct group_target *target,
                    int *ret_errors, struct group **ret)
{
    _cleanup_(group_freep) struct group *group = NULL;
    int fds[GROUP_MEMBERS_MAX];
    bool failed = false;

    if (n > GROUP_MEMBERS_MAX)
        return -E2BIG;
    group = group_new(sys, n);
    if (!group)
        return -ENOMEM;
    open_members(sys, attrs, n, whole, target, fds);
    for (size_t i = 0; i < n; i++) {
        ret_errors[i] = fds[i] < 0 ? fds[i] : adopt(group, fds[i]);
        failed |= ret_errors[i] < 0;
    }
    *ret = group->n > 0 && !(whole && failed) ? steal(group) : NULL;
    return 0;
}

int group_enable(struct group *group)
{
    return group->sys->ioctl(group->sys, group->members[0].fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

int group_disable(struct group *group)
{
    return group->sys->ioctl(group->sys, group->members[0].fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

/* The kernel lists members in the order in which they joined; should it not, they are found by id. */
static int find_value(const struct raw_reading *raw, size_t hint, uint64_t id, uint64_t *ret)
{
    for (size_t i = 0; i < raw->n; i++) {
        size_t at = hint + i < raw->n ? hint + i : hint + i - raw->n;
        if (raw->members[at].id == id) {
            *ret = raw->members[at].value;
            return 0;
        }
    }
    return -EBADMSG;
}

int group_read(const struct group *group, struct group_reading *ret)
{
    struct raw_reading raw;
    size_t size = offsetof(struct raw_reading, members) + group->n * sizeof(raw.members[0]);

    /* Asking for more than is due shows a group that is larger than expected. */
    ssize_t n = group->sys->read(group->sys, group->members[0].fd, &raw, sizeof(raw));
    if (n < 0)
        return (int)n;
    if (n == 0)
        return -ENODATA;
    if ((size_t)n != size || raw.n != group->n)
        return -EBADMSG;
    for (size_t i = 0; i < group->n; i++)
        if (find_value(&raw, i, group->members[i].id, &ret->values[i]) < 0)
            return -EBADMSG;
    ret->enabled = raw.enabled;
    ret->running = raw.running;
    ret->n = group->n;
    return 0;
}

size_t group_size(const struct group *group)
{
    return group->n;
}

int group_fd(const struct group *group, size_t n)
{
    return group->members[n].fd;
}
