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
    struct group_target target;
    struct member *members;
    size_t n;
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
    free(group->members);
    free(group);
    return NULL;
}

int group_add(struct group *group, const struct attr *sibling)
{
    struct perf_event_attr attr = sibling->kernel;
    struct sys *sys = group->sys;
    struct member member;

    if (group->n == GROUP_MEMBERS_MAX)
        return -E2BIG;
    int r = array_grow(&group->members, group->n);
    if (r < 0)
        return r;
    bool leads = group->n == 0;
    attr.size = sizeof(attr);
    attr.read_format = READ_FORMAT;
    attr.disabled = leads;
    /* Where nothing is sampled there is no instruction pointer to be precise about, and x86 refuses to try. */
    attr.precise_ip = 0;
    /* Pinned and exclusive are said of a whole group: the kernel refuses them on a sibling. */
    attr.pinned = leads && attr.pinned;
    attr.exclusive = leads && attr.exclusive;
    member.fd = sys->perf_event_open(sys, &attr, group->target.pid, group->target.cpu,
                                     leads ? -1 : group->members[0].fd, group->target.flags);
    if (member.fd < 0)
        return member.fd;
    r = sys->ioctl(sys, member.fd, PERF_EVENT_IOC_ID, (unsigned long)&member.id);
    if (r < 0) {
        sys->close(sys, member.fd);
        return r;
    }
    group->members[group->n++] = member;
    return 0;
}

int group_open(struct sys *sys, const struct attr *leader, const struct group_target *target, struct group **ret)
{
    _cleanup_(group_freep) struct group *group = calloc(1, sizeof(*group));

    if (!group)
        return -ENOMEM;
    group->sys = sys;
    group->target = *target;
    group->target.flags |= PERF_FLAG_FD_CLOEXEC;
    int r = group_add(group, leader);
    if (r < 0)
        return r;
    *ret = steal(group);
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
