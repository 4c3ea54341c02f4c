/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/group.h"

#include "base/cleanup.h"

/* --- Partition --- */

struct partition_opening {
    struct sys *sys;
    const struct attr *attrs;
    const struct group_target *target;
    uint64_t rest; /* events that are in no group yet and may still open */
};

void partition_done(struct partition *partition)
{
    for (size_t i = 0; i < partition->n_groups; i++)
        group_free(partition->groups[i].group);
    free(partition->groups);
    *partition = (struct partition){0};
}

/* Opens a group of the events in opening->rest; `errors` is indexed by event. */
static int open_rest(const struct partition_opening *opening, bool whole, int *errors, struct group **ret)
{
    struct attr attrs[GROUP_MEMBERS_MAX];
    int in_order[GROUP_MEMBERS_MAX];
    size_t n = 0;

    EVENTS_FOREACH (event, opening->rest)
        attrs[n++] = opening->attrs[event];
    int r = group_open_many(opening->sys, attrs, n, whole, opening->target, in_order, ret);
    n = 0;
    EVENTS_FOREACH (event, opening->rest)
        errors[event] = r < 0 ? r : in_order[n++];
    return r;
}

/*
 * Opens the first event that can be a leader, and all events that can join its group. An event that cannot join is left
 * for the next group, which it leads. If the event opens there, it merely did not fit into this group; if it fails
 * there too, the error says why it cannot be counted.
 */
static int open_next_group(struct partition_opening *opening, int *errors, struct partition_group *group)
{
    int found[GROUP_MEMBERS_MAX];
    int r = open_rest(opening, false, found, &group->group);

    if (r < 0)
        return r;
    EVENTS_FOREACH (event, opening->rest) {
        if (found[event] == 0)
            group->events |= event_bit(event);
        else if (group->events)
            continue;
        errors[event] = found[event];
        opening->rest &= ~event_bit(event);
    }
    return 0;
}

/* Enables a group and adds it. If the group cannot be enabled, it is closed and its members get the error. */
static void partition_add_group(const struct partition_opening *opening, struct partition *partition,
                                const struct partition_group *group)
{
    int r = opening->target->paused ? 0 : group_enable(group->group);

    if (r == 0) {
        partition->groups[partition->n_groups++] = *group;
        return;
    }
    EVENTS_FOREACH (event, group->events)
        partition->errors[event] = r;
    group_free(group->group);
}

static int open_weak(struct partition_opening *opening, struct partition *partition)
{
    while (opening->rest) {
        struct partition_group group = {0};
        int r = array_grow(&partition->groups, partition->n_groups);
        if (r < 0)
            return r;
        r = open_next_group(opening, partition->errors, &group);
        if (r < 0)
            return r;
        if (group.group)
            partition_add_group(opening, partition, &group);
    }
    return 0;
}

/* Whether the kernel refused the event only because the others in its group take all counters. */
static bool opens_alone(const struct partition_opening *opening, size_t event, int error)
{
    struct group *group;

    if ((error != -EINVAL && error != -ENOSPC) ||
        group_open(opening->sys, &opening->attrs[event], opening->target, &group) < 0)
        return false;
    group_free(group);
    return true;
}

static int open_strict(struct partition_opening *opening, struct partition *partition)
{
    struct partition_group group = {.events = opening->rest};
    int r = array_grow(&partition->groups, 0);

    if (r < 0)
        return r;
    partition->culprit = (size_t)__builtin_ctzll(opening->rest);
    r = open_rest(opening, true, partition->errors, &group.group);
    EVENTS_FOREACH (event, opening->rest)
        if (r == 0 && partition->errors[event] < 0) {
            partition->culprit = event;
            r = partition->errors[event];
        }
    if (r == 0)
        partition_add_group(opening, partition, &group);
    else if (opens_alone(opening, partition->culprit, r))
        partition->fits = event_count(opening->rest & (event_bit(partition->culprit) - 1));
    EVENTS_FOREACH (event, r < 0 ? opening->rest : 0)
        partition->errors[event] = r;
    return 0;
}

int partition_open(struct sys *sys, const struct attr *attrs, uint64_t events, bool strict,
                   const struct group_target *target, struct partition *ret)
{
    struct partition_opening opening = {.sys = sys, .attrs = attrs, .target = target, .rest = events};
    _cleanup_(partition_done) struct partition partition = {0};

    if (!events)
        return -EINVAL;
    int r = strict ? open_strict(&opening, &partition) : open_weak(&opening, &partition);
    if (r < 0)
        return r;
    *ret = partition;
    partition = (struct partition){0};
    return 0;
}

/* --- Group --- */

#define READ_FORMAT                                                                                                    \
    (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
/*
 * Members of an inherited group are read one by one, since not all kernels accept PERF_FORMAT_GROUP with `inherit`
 * (perf_event_open(2)).
 */
#define READ_FORMAT_OF_ONE (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct member {
    int fd;
    uint64_t id;
};

/* This struct is kept small, because each cgroup has several groups on each CPU. */
struct group {
    union {
        struct sys *sys;
        struct group *whole; /* if is_part */
    };
    uint16_t n;
    bool is_part, always_runs, inherits;
    uint32_t references;
    struct member members[];
};

/* The result of read(2) with READ_FORMAT ("read_format" in perf_event_open(2)). */
struct raw_reading {
    uint64_t n, enabled, running;
    struct {
        uint64_t value, id;
    } members[GROUP_MEMBERS_MAX];
};

/* The result of read(2) with READ_FORMAT_OF_ONE. */
struct raw_value {
    uint64_t value, enabled, running;
};

DEFINE_CLEANUP(struct group *, group_free);

struct group *group_free(struct group *group)
{
    if (!group || --group->references > 0)
        return NULL;
    if (group->is_part)
        group_free(group->whole);
    /* Siblings are closed first: closing the leader turns each remaining sibling into a group of its own. */
    while (group->n > 0 && !group->is_part)
        sys_close(group->sys, group->members[--group->n].fd);
    free(group);
    return NULL;
}

static struct group *group_ref(struct group *group)
{
    group->references++;
    return group;
}

/* Returns the group that owns the descriptors. */
static const struct group *group_whole(const struct group *group)
{
    return group->is_part ? group->whole : group;
}

/*
 * Returns the attributes of a member. perf/sys.h takes `disabled` and `enable_on_exec` from the leader only.
 *
 * enable_on_exec is for Arm PMUs. When their driver checks whether a group fits, it skips a disabled event unless
 * enable_on_exec is set (validate_event() in drivers/perf/arm_pmu.c). A group whose leader is skipped may have one
 * event more than there are counters: it opens, and never counts. exec(2) enables events of tasks only
 * (perf_event_enable_on_exec() in kernel/events/core.c), so the attribute changes nothing else for a CPU or a cgroup.
 */
static struct perf_event_attr member_attr(const struct attr *attr, const struct group_target *target)
{
    struct perf_event_attr kernel = attr->kernel;

    kernel.size = sizeof(kernel);
    kernel.read_format = READ_FORMAT;
    kernel.disabled = target->paused || !(target->flags & PERF_FLAG_PID_CGROUP);
    kernel.enable_on_exec = kernel.disabled && (target->pid == -1 || target->flags & PERF_FLAG_PID_CGROUP);
    if (target->inherit) {
        kernel.read_format = READ_FORMAT_OF_ONE;
        kernel.inherit = kernel.enable_on_exec = 1;
    }
    /* x86 refuses precise_ip for an event that does not sample. */
    kernel.precise_ip = 0;
    return kernel;
}

/* Adds the descriptor as a member; closes it on failure. */
static int group_adopt(struct group *group, int fd)
{
    struct member member = {.fd = fd};
    int r = sys_ioctl(group->sys, fd, PERF_EVENT_IOC_ID, (unsigned long)&member.id);

    if (r < 0) {
        sys_close(group->sys, fd);
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
        kernel[i] = member_attr(&attrs[i], target);
        texts[i] = attrs[i].text;
    }
    sys_open_group(sys,
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

/* Returns a group without members, with room for `n` of them. */
static struct group *group_new(struct sys *sys, size_t n)
{
    struct group *group = malloc(sizeof(*group) + n * sizeof(group->members[0]));

    if (group)
        *group = (struct group){.sys = sys, .references = 1, .always_runs = true};
    return group;
}

struct group *group_subgroup(struct group *whole, const int *members, size_t n)
{
    struct group *part = group_new(NULL, n);

    if (!part)
        return NULL;
    part->whole = group_ref(whole);
    part->is_part = true;
    part->always_runs = whole->always_runs;
    for (size_t i = 0; i < n; i++)
        part->members[part->n++] = members[i] == GROUP_CLOCK ? (struct member){.fd = -1} : whole->members[members[i]];
    return part;
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

/*
 * The kernel schedules software events and tracepoints separately from hardware events (perf_sw_context), unless their
 * leader is a hardware event.
 */
static bool needs_no_counter(const struct attr *attr)
{
    return attr->kernel.type == PERF_TYPE_SOFTWARE || attr->kernel.type == PERF_TYPE_TRACEPOINT;
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
    group->inherits = target->inherit;
    open_members(sys, attrs, n, whole, target, fds);
    for (size_t i = 0; i < n; i++) {
        ret_errors[i] = fds[i] < 0 ? fds[i] : group_adopt(group, fds[i]);
        failed |= ret_errors[i] < 0;
        group->always_runs &= ret_errors[i] < 0 || needs_no_counter(&attrs[i]);
    }
    *ret = group->n > 0 && !(whole && failed) ? steal(group) : NULL;
    return 0;
}

/*
 * All members but the leader are opened enabled (perf/sys.h), so the leader's state decides for the whole group.
 * PERF_IOC_FLAG_GROUP would disable each member, and a member on a PMU other than the leader's may no longer count when
 * it is enabled again (Linux 6.18).
 */
static int group_control(const struct group *group, unsigned long request)
{
    const struct group *whole = group_whole(group);

    return sys_ioctl(whole->sys, whole->members[0].fd, request, 0);
}

int group_enable(struct group *group)
{
    return group_control(group, PERF_EVENT_IOC_ENABLE);
}

int group_disable(struct group *group)
{
    return group_control(group, PERF_EVENT_IOC_DISABLE);
}

/*
 * Finds the value of a member. The kernel lists members in the order in which they joined, so the value is normally at
 * `hint`.
 */
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

/* Asks for more values than the group has members, to detect a group that is larger than expected. */
static inline int read_raw(const struct group *whole, struct raw_reading *ret)
{
    size_t size = offsetof(struct raw_reading, members) + whole->n * sizeof(ret->members[0]);
    ssize_t n = sys_read(whole->sys, whole->members[0].fd, ret, sizeof(*ret));

    if (n < 0)
        return (int)n;
    if (n == 0)
        return -ENODATA;
    return (size_t)n != size || ret->n != whole->n ? -EBADMSG : 0;
}

static int part_read(const struct group *part, struct group_reading *ret)
{
    struct raw_reading raw;
    int r = read_raw(part->whole, &raw);

    if (r < 0)
        return r;
    for (size_t i = 0; i < part->n; i++)
        if (part->members[i].fd < 0)
            ret->values[i] = raw.running;
        else if (find_value(&raw, i < raw.n ? i : 0, part->members[i].id, &ret->values[i]) < 0)
            return -EBADMSG;
    ret->enabled = raw.enabled;
    ret->running = raw.running;
    ret->n = part->n;
    return 0;
}

static int read_one_by_one(const struct group *group, struct group_reading *ret)
{
    struct raw_value raw;

    for (size_t i = 0; i < group->n; i++) {
        ssize_t n = sys_read(group->sys, group->members[i].fd, &raw, sizeof(raw));
        if (n != sizeof(raw))
            return n < 0 ? (int)n : n == 0 ? -ENODATA : -EBADMSG;
        ret->values[i] = raw.value;
        if (i > 0)
            continue;
        ret->enabled = raw.enabled;
        ret->running = raw.running;
    }
    ret->n = group->n;
    return 0;
}

int group_read(const struct group *group, struct group_reading *ret)
{
    struct raw_reading raw;

    if (group->is_part)
        return part_read(group, ret);
    if (group->inherits)
        return read_one_by_one(group, ret);
    int r = read_raw(group, &raw);
    if (r < 0)
        return r;
    for (size_t i = 0; i < raw.n; i++)
        if (find_value(&raw, i, group->members[i].id, &ret->values[i]) < 0)
            return -EBADMSG;
    ret->enabled = raw.enabled;
    ret->running = raw.running;
    ret->n = raw.n;
    return 0;
}

size_t group_size(const struct group *group)
{
    return group->n;
}

size_t group_descriptors(const struct group *group)
{
    return group->is_part ? 0 : group->n;
}

int group_fd(const struct group *group, size_t n)
{
    return group->members[n].fd;
}

uint64_t group_id(const struct group *group, size_t n)
{
    return group->members[n].id;
}

bool group_always_runs(const struct group *group)
{
    return group->always_runs;
}

/* Events that any programmable counter can count, the most common first. */
static const uint64_t capacity_candidates[] = {
    PERF_COUNT_HW_BRANCH_MISSES,
    PERF_COUNT_HW_INSTRUCTIONS,
    PERF_COUNT_HW_CPU_CYCLES,
};

/*
 * Opens a group of the maximum size: cycles first, then copies of `config`. The number of members that open is the
 * number of the PMU's counters. Cycles are included because they may have a dedicated counter.
 */
static int try_capacity(struct sys *sys, const struct pmu *pmu, uint64_t config, unsigned *ret)
{
    const struct attr attr = {.kernel = {.type = PERF_TYPE_HARDWARE}, .pmu = pmu, .scale = 1.0, .unit = ""};
    struct group_target target = {.pid = -1, .cpu = cpuset_next(&pmu->cpus, -1)};
    _cleanup_(group_freep) struct group *group = NULL;
    struct attr attrs[GROUP_MEMBERS_MAX];
    int errors[GROUP_MEMBERS_MAX];

    for (size_t i = 0; i < GROUP_MEMBERS_MAX; i++) {
        attrs[i] = attr;
        attrs[i].kernel.config = i == 0 ? PERF_COUNT_HW_CPU_CYCLES : config;
    }
    int r = group_open_many(sys, attrs, GROUP_MEMBERS_MAX, false, &target, errors, &group);
    if (r < 0)
        return r;
    r = errors[GROUP_MEMBERS_MAX - 1];
    if (!group || (r != -EINVAL && r != -ENOSPC))
        return r == 0 ? -ENODATA : r;
    *ret = (unsigned)group_size(group);
    return 0;
}

int group_probe_capacity(struct sys *sys, const struct pmu *pmu, unsigned *ret_counters)
{
    if (pmu->absent || pmu->scope != PMU_CORE || cpuset_count(&pmu->cpus) == 0)
        return -ENODATA;
    for (size_t i = 0; i < ARRAY_SIZE(capacity_candidates); i++) {
        int r = try_capacity(sys, pmu, capacity_candidates[i], ret_counters);
        if (r != -ENOENT && r != -EOPNOTSUPP)
            return r;
    }
    return -ENODATA;
}
