/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/protocol.h"

#include <limits.h>

#include "base/cleanup.h"
#include "opener/rules.h"
#include "perf/event-parse.h"
#include "perf/perf-event.h"

/* --- Calls of the bpf engine --- */

/*
 * Flags for the packet fields that a BPF call uses, and for the descriptors that come with it: a cgroup directory, or
 * two events.
 */
enum { NUMBER = 1, ID = 2, SHAPE = 4, EVENTS = 8, DIRECTORY = 16, TWO_EVENTS = 32 };

static const unsigned fields[N_OPENER_BPF_CALLS] = {
    [OPENER_BPF_START] = SHAPE,   [OPENER_BPF_SET_CPU] = NUMBER | EVENTS,
    [OPENER_BPF_ATTACH] = NUMBER, [OPENER_BPF_ASSIGN] = NUMBER | DIRECTORY,
    [OPENER_BPF_WITHDRAW] = ID,   [OPENER_OFF_CPU_START] = ID,
    [OPENER_OFF_CPU_READ] = ID,   [OPENER_OFF_CPU_SET_CPU] = NUMBER | ID | TWO_EVENTS,
    [OPENER_OFF_CPU_STOP] = ID,
};

static bool event_is_valid(const struct bpf_event *event)
{
    return event->source <= SOURCE_SWITCHES && event->group < BPF_GROUPS_MAX && event->zero == 0 &&
           event->gives_times <= (event->source == SOURCE_READ);
}

static bool other_fields_are_zero(const struct opener_bpf_packet *packet)
{
    static const struct bpf_event zero[BPF_EVENTS_MAX];
    const struct bpf_shape *shape = &packet->shape;
    unsigned has = fields[packet->call];

    return (has & NUMBER || packet->number == 0) && (has & ID || packet->id == 0) &&
           (has & SHAPE || !(shape->cpus | shape->slots | shape->events | shape->groups)) &&
           (has & EVENTS || memcmp(packet->events, zero, sizeof(zero)) == 0);
}

static size_t count_fds(const struct opener_bpf_packet *packet)
{
    size_t n = fields[packet->call] & TWO_EVENTS ? 2 : (fields[packet->call] & DIRECTORY) != 0;

    for (size_t i = 0; i < BPF_EVENTS_MAX; i++)
        n += packet->events[i].source == SOURCE_READ;
    return n;
}

/* Returns -EBADMSG unless the packet is a valid BPF call that needs `n_fds` descriptors and sets no unused fields. */
static int opener_bpf_parse(const struct opener_bpf_packet *packet, size_t size, size_t n_fds)
{
    if (size != sizeof(*packet) || packet->call < OPENER_BPF_START || packet->call >= N_OPENER_BPF_CALLS ||
        !other_fields_are_zero(packet) || n_fds != count_fds(packet))
        return -EBADMSG;
    for (size_t i = 0; i < BPF_EVENTS_MAX; i++)
        if (!event_is_valid(&packet->events[i]))
            return -EBADMSG;
    return packet->call == OPENER_BPF_ATTACH && packet->number > 1 ? -EBADMSG : 0;
}

static bool shape_is_allowed(const struct bpf_shape *shape, const struct opener_rules *rules)
{
    return shape->cpus == rules->n_cpus && shape->slots > BPF_SLOT_FIRST &&
           shape->slots <= rules->permissions.bpf_slots && shape->events >= 1 && shape->events <= BPF_EVENTS_MAX &&
           shape->groups >= 1 && shape->groups <= BPF_GROUPS_MAX;
}

static bool call_is_allowed(const struct opener_bpf_packet *packet, const struct opener_rules *rules)
{
    switch ((enum opener_bpf_call)packet->call) {
    case OPENER_BPF_START:
        return shape_is_allowed(&packet->shape, rules);
    case OPENER_BPF_SET_CPU:
    case OPENER_OFF_CPU_SET_CPU:
        return packet->number < rules->n_cpus;
    case OPENER_BPF_ASSIGN:
        return packet->number >= BPF_SLOT_ROOT && packet->number < rules->permissions.bpf_slots;
    case OPENER_BPF_ATTACH:
    case OPENER_BPF_WITHDRAW:
    case OPENER_BPF_FLUSH:
    case OPENER_BPF_STOP:
    case OPENER_OFF_CPU_START:
    case OPENER_OFF_CPU_READ:
    case OPENER_OFF_CPU_STOP:
    case N_OPENER_BPF_CALLS:
        break;
    }
    return true;
}

/* Returns -EBADRQC if the rules do not permit this kind of BPF program, or not in this size. */
static int opener_bpf_check(const struct opener_bpf_packet *packet, const struct opener_rules *rules)
{
    bool has_program =
        packet->call >= OPENER_OFF_CPU_START ? rules->permissions.sampling : rules->permissions.bpf_slots > 0;

    return has_program && call_is_allowed(packet, rules) ? 0 : -EBADRQC;
}

int opener_bpf_write(const struct opener_bpf_packet *packet, struct buffer *ret_packet)
{
    struct opener_bpf_packet whole = *packet;

    whole.header =
        (struct opener_packet_header){.version = OPENER_VERSION, .kind = OPENER_REQUEST_BPF, .size = sizeof(whole)};
    buffer_append(ret_packet, &whole, sizeof(whole));
    return ret_packet->failed ? -ENOMEM : 0;
}

/* --- Requests --- */

#define KNOWN_FLAGS (PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC)
#define KNOWN_FORMATS                                                                                                  \
    (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* PERF_ATTR_SIZE_VER0 to _VER8 (include/uapi/linux/perf_event.h), of which installed headers may lack the newest. */
static const uint32_t attr_sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, sizeof(struct perf_event_attr)};

/* Parsing */

static int request_parse_group(const struct opener_group_packet *group, size_t size, size_t n_fds,
                               struct opener_request *ret)
{
    const struct opener_packet_event *events = (const void *)(group + 1);

    if (size < sizeof(*group) || group->n_events == 0 || group->n_events > OPENER_EVENTS_MAX ||
        group->text_size > OPENER_TEXT_MAX || group->leader > 1 || group->whole > 1 ||
        size != sizeof(*group) + group->n_events * sizeof(*events) + group->text_size)
        return -EBADMSG;
    if (n_fds != group->leader + ((group->flags & PERF_FLAG_PID_CGROUP) != 0))
        return -EBADMSG;
    const char *text = (const char *)(events + group->n_events);
    for (size_t i = 0; i < group->n_events; i++) {
        size_t offset = events[i].text;
        if (events[i].zero || offset > group->text_size ||
            (offset && !memchr(text + offset - 1, '\0', group->text_size - (offset - 1))))
            return -EBADMSG;
    }
    *ret = (struct opener_request){.kind = OPENER_REQUEST_GROUP, .group = group, .events = events, .text = text};
    return 0;
}

static int request_parse_file(const struct opener_file_packet *file, size_t size, size_t n_fds,
                              struct opener_request *ret)
{
    const char *path = (const char *)(file + 1);
    size_t length = size - sizeof(*file);

    if (n_fds || length == 0 || length > PATH_MAX || memchr(path, '\0', length) != path + length - 1)
        return -EBADMSG;
    *ret = (struct opener_request){.kind = OPENER_REQUEST_FILE, .path = path};
    return 0;
}

static int request_parse_state(const struct opener_state_packet *state, size_t size, size_t n_fds,
                               struct opener_request *ret)
{
    if (n_fds || size != sizeof(*state))
        return -EBADMSG;
    *ret = (struct opener_request){.kind = OPENER_REQUEST_STATE, .state = &state->request};
    return 0;
}

static int request_parse_bpf(const struct opener_bpf_packet *bpf, size_t size, size_t n_fds, struct opener_request *ret)
{
    int r = opener_bpf_parse(bpf, size, n_fds);

    if (r == 0)
        *ret = (struct opener_request){.kind = OPENER_REQUEST_BPF, .bpf = bpf};
    return r;
}

int opener_request_parse(const void *packet, size_t size, size_t n_fds, struct opener_request *ret)
{
    const struct opener_packet_header *header = packet;

    if (size < sizeof(*header) || size > OPENER_PACKET_MAX || header->version != OPENER_VERSION || header->size != size)
        return -EBADMSG;
    switch (header->kind) {
    case OPENER_REQUEST_GROUP:
        return request_parse_group(packet, size, n_fds, ret);
    case OPENER_REQUEST_FILE:
        return request_parse_file(packet, size, n_fds, ret);
    case OPENER_REQUEST_STATE:
        return request_parse_state(packet, size, n_fds, ret);
    case OPENER_REQUEST_BPF:
        return request_parse_bpf(packet, size, n_fds, ret);
    case OPENER_REQUEST_FINDER:
        *ret = (struct opener_request){.kind = OPENER_REQUEST_FINDER};
        return n_fds || size != sizeof(*header) ? -EBADMSG : 0;
    }
    return -EBADMSG;
}

/* Checking */

static bool attr_size_is_known(const struct perf_event_attr *attr)
{
    static const struct perf_event_attr zero;

    for (size_t i = 0; i < ARRAY_SIZE(attr_sizes); i++)
        if (attr->size == attr_sizes[i] && attr->size <= sizeof(*attr))
            return memcmp((const char *)attr + attr->size, &zero, sizeof(*attr) - attr->size) == 0;
    return false;
}

/*
 * A sample may contain the instruction pointer, the call chain, the task's ids and cgroup, and the counts, but no
 * registers, stack contents or data addresses.
 */
#define KNOWN_SAMPLES                                                                                                  \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |                  \
     PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP)

/*
 * Copies the fields that configure samples and the records about tasks (sampler/record-options.c). The sampling rate
 * need not be checked, because the kernel limits it.
 */
static void copy_sampling(const struct perf_event_attr *from, struct perf_event_attr *to)
{
    to->sample_period = from->sample_period;
    to->freq = from->freq;
    to->sample_type = from->sample_type & KNOWN_SAMPLES;
    to->sample_id_all = from->sample_id_all;
    to->precise_ip = from->precise_ip;
    to->mmap = from->mmap;
    to->mmap2 = from->mmap2;
    to->comm = from->comm;
    to->comm_exec = from->comm_exec;
    to->task = from->task;
    to->ksymbol = from->ksymbol;
    to->cgroup = from->cgroup;
    to->watermark = from->watermark;
    if (from->watermark)
        to->wakeup_watermark = from->wakeup_watermark;
}

/*
 * Copies the fields that only off-CPU events use (sampler/off-cpu.h): the flag for raw data, which the opener's own BPF
 * program writes, and the ring buffer's wakeup and overwrite options.
 */
static void copy_off_cpu(const struct perf_event_attr *from, struct perf_event_attr *to)
{
    to->sample_type |= from->sample_type & PERF_SAMPLE_RAW;
    to->write_backward = from->write_backward;
    if (!from->watermark)
        to->wakeup_events = from->wakeup_events;
}

static bool is_bpf_output(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_BPF_OUTPUT;
}

/* Copies the fields that any event in a sampled group may set. */
static void copy_sampled(const struct perf_event_attr *from, struct perf_event_attr *to)
{
    to->inherit = from->inherit;
    to->exclude_callchain_kernel = from->exclude_callchain_kernel;
    if (from->use_clockid && from->clockid == CLOCK_MONOTONIC) {
        to->use_clockid = 1;
        to->clockid = CLOCK_MONOTONIC;
    }
}

/*
 * Returns whether only permitted fields are set, by comparing the attributes with a copy of these fields. Fields for
 * signals are never permitted, and fields for samples only if the opener was started for sampling. The opener accepts
 * enable_on_exec (see perf/group.c) only on a CPU or a cgroup, where exec(2) does not enable events.
 */
static bool attr_is_known(const struct perf_event_attr *attr, bool of_task,
                          const struct opener_permissions *permissions)
{
    bool sampling = permissions->sampling;
    struct perf_event_attr known;

    memset(&known, 0, sizeof(known));
    known.type = attr->type;
    known.size = attr->size;
    known.config = attr->config;
    known.config1 = attr->config1;
    known.config2 = attr->config2;
    known.read_format = attr->read_format & KNOWN_FORMATS;
    known.disabled = attr->disabled;
    known.enable_on_exec = of_task ? 0 : attr->enable_on_exec;
    known.pinned = attr->pinned;
    known.exclusive = attr->exclusive;
    known.exclude_user = attr->exclude_user;
    known.exclude_kernel = attr->exclude_kernel;
    known.exclude_hv = attr->exclude_hv;
    known.exclude_idle = attr->exclude_idle;
    known.exclude_host = attr->exclude_host;
    known.exclude_guest = attr->exclude_guest;
    if (attr->type == PERF_TYPE_BREAKPOINT)
        known.bp_type = attr->bp_type;
    if (sampling)
        copy_sampled(attr, &known);
    if (sampling && attr->sample_period)
        copy_sampling(attr, &known);
    if (sampling && attr->sample_period && permissions->hindsight && !of_task) /* sampler/hindsight.h */
        known.write_backward = attr->write_backward;
    if (sampling && attr->sample_period && is_bpf_output(attr) && !of_task)
        copy_off_cpu(attr, &known);
    /* Copies config3, unless the installed headers lack this field. */
    if (sizeof(known) >= PERF_ATTR_SIZE_VER8)
        memcpy((char *)&known + PERF_ATTR_SIZE_VER7, (const char *)attr + PERF_ATTR_SIZE_VER7, sizeof(uint64_t));
    return memcmp(&known, attr, sizeof(known)) == 0;
}

/* Checks that an event whose descriptor allows more than counting is one of those permitted. */
static int check_permitted_event(const struct opener_rules *rules, const struct perf_event_attr *attr, const char *text)
{
    bool is_breakpoint = attr->type == PERF_TYPE_BREAKPOINT;

    if (is_breakpoint && !breakpoint_is_in_user_memory(attr))
        return -EBADRQC;
    if (!opener_rules_permit_event(rules, attr, text, attr->sample_period != 0))
        return -ENOPKG;
    return is_breakpoint && !rules->permissions.breakpoints ? -ENOKEY : 0;
}

static int request_check_event(const struct opener_request *request, const struct opener_rules *rules, size_t n)
{
    const struct perf_event_attr *attr = &request->events[n].attr;
    const char *text = opener_request_text(request, n);

    if (!attr_size_is_known(attr) || !attr_is_known(attr, request->group->pid != -1, &rules->permissions) ||
        opener_types_have(&rules->tracing, attr->type))
        return -EBADRQC;
    if (text && !opener_types_have(&rules->probing, attr->type))
        return -EBADRQC;
    return opener_types_have(&rules->counting, attr->type) ? 0 : check_permitted_event(rules, attr, text);
}

/*
 * Returns whether the request is for a group that samples. Events that join an existing leader need no check, because
 * they share its target, which was checked when the leader was opened.
 */
static bool group_samples(const struct opener_request *request)
{
    return request->group->leader || request->events[0].attr.sample_period;
}

static bool target_is_allowed(const struct opener_request *request, const struct opener_rules *rules)
{
    const struct opener_group_packet *group = request->group;

    if (group->flags & ~(uint64_t)KNOWN_FLAGS || group->cpu < -1)
        return false;
    if (group->pid == -1)
        return group->cpu >= 0;
    if (group->pid <= 0 || group->flags & PERF_FLAG_PID_CGROUP)
        return false;
    return group->pid == rules->daemon || (rules->permissions.sampling && group_samples(request));
}

static bool file_is_allowed(const char *path, const struct opener_rules *rules)
{
    return opener_rules_permit_file(rules, path) ||
           opener_path_kind(path, rules->permissions.sampling) != OPENER_FILE_UNKNOWN;
}

static bool state_is_allowed(const struct state_request *request)
{
    char path[STATE_PATH_MAX];

    return state_request_path(request, path, sizeof(path)) == 0;
}

static int request_check(const struct opener_request *request, const struct opener_rules *rules)
{
    if (request->kind == OPENER_REQUEST_FILE)
        return file_is_allowed(request->path, rules) ? 0 : -EBADRQC;
    if (request->kind == OPENER_REQUEST_STATE)
        return state_is_allowed(request->state) ? 0 : -EBADRQC;
    if (request->kind == OPENER_REQUEST_BPF)
        return opener_bpf_check(request->bpf, rules);
    if (request->kind == OPENER_REQUEST_FINDER)
        return rules->permissions.sampling ? 0 : -EBADRQC;
    int r = target_is_allowed(request, rules) ? 0 : -EBADRQC;
    for (size_t i = 0; i < request->group->n_events && r == 0; i++)
        r = request_check_event(request, rules, i);
    return r;
}

int opener_request_check(const struct opener_request *request, const struct opener_rules *rules)
{
    struct opener_rules wider = *rules;
    int r = request_check(request, rules);

    wider.permissions.sampling = wider.permissions.hindsight = true;
    wider.permissions.bpf_slots = UINT32_MAX;
    return r == -EBADRQC && request_check(request, &wider) != -EBADRQC ? -EUNATCH : r;
}

const char *opener_request_text(const struct opener_request *request, size_t n)
{
    size_t offset = request->events[n].text;

    return offset ? request->text + offset - 1 : NULL;
}

/* Writing */

static const char *group_text(const struct sys_group *group, size_t n)
{
    return group->texts ? group->texts[n] : NULL;
}

static void request_write_event(const struct sys_group *group, size_t n, struct buffer *packet, size_t *text_size)
{
    const char *text = group_text(group, n);
    struct opener_packet_event event;

    memset(&event, 0, sizeof(event));
    event.attr = group->attrs[n];
    if (text) {
        event.text = (uint32_t)(1 + *text_size);
        *text_size += strlen(text) + 1;
    }
    buffer_append(packet, &event, sizeof(event));
}

static size_t request_count_fitting(const struct sys_group *group, size_t first)
{
    size_t n = 0, size = 0;

    while (first + n < group->n && n < OPENER_EVENTS_MAX) {
        const char *text = group_text(group, first + n);
        size += text ? strlen(text) + 1 : 0;
        if (size > OPENER_TEXT_MAX)
            break;
        n++;
    }
    return n;
}

int opener_request_write(const struct opener_rules *rules, const struct sys_group *group, size_t first,
                         struct buffer *packet, size_t *ret_n)
{
    size_t n = request_count_fitting(group, first), text_size = 0;
    struct opener_group_packet head = {
        .header = {.version = OPENER_VERSION, .kind = OPENER_REQUEST_GROUP},
        .cpu = group->cpu,
        .flags = group->flags,
        .n_events = (uint32_t)n,
        .leader = group->leader >= 0,
        .whole = group->whole,
    };

    if (n == 0)
        return -EINVAL;
    head.pid = group->flags & PERF_FLAG_PID_CGROUP ? -1 : group->pid == 0 ? rules->daemon : group->pid;
    buffer_append(packet, &head, sizeof(head));
    for (size_t i = 0; i < n; i++)
        request_write_event(group, first + i, packet, &text_size);
    for (size_t i = 0; i < n; i++) {
        const char *text = group_text(group, first + i);
        if (text)
            buffer_append(packet, text, strlen(text) + 1);
    }
    if (packet->failed)
        return -ENOMEM;
    head.text_size = (uint32_t)text_size;
    head.header.size = (uint32_t)packet->size;
    memcpy(packet->data, &head, sizeof(head));
    *ret_n = n;
    return 0;
}

int opener_request_write_file(const char *path, struct buffer *packet)
{
    size_t size = sizeof(struct opener_file_packet) + strlen(path) + 1;
    struct opener_file_packet head = {
        .header = {.version = OPENER_VERSION, .kind = OPENER_REQUEST_FILE, .size = (uint32_t)size},
    };

    buffer_append(packet, &head, sizeof(head));
    buffer_append(packet, path, strlen(path) + 1);
    return packet->failed ? -ENOMEM : 0;
}

int opener_request_write_finder(struct buffer *packet)
{
    struct opener_packet_header header = {
        .version = OPENER_VERSION, .kind = OPENER_REQUEST_FINDER, .size = sizeof(header)};

    buffer_append(packet, &header, sizeof(header));
    return packet->failed ? -ENOMEM : 0;
}

int opener_request_write_state(const struct state_request *request, struct buffer *packet)
{
    struct opener_packet_header header = {
        .version = OPENER_VERSION, .kind = OPENER_REQUEST_STATE, .size = sizeof(struct opener_state_packet)};

    buffer_append(packet, &header, sizeof(header));
    buffer_append(packet, request, sizeof(*request));
    return packet->failed ? -ENOMEM : 0;
}

size_t opener_reply_size(const struct opener_reply *reply)
{
    size_t length = reply->error ? strnlen(reply->message, sizeof(reply->message)) : 0;

    return reply->error ? offsetof(struct opener_reply, message[length ? length + 1 : 0])
                        : offsetof(struct opener_reply, results[reply->n]);
}

void opener_reply_add(struct opener_reply *reply, struct fd_list *opened, int result)
{
    reply->results[reply->n++] = MIN(result, 0);
    if (result >= 0)
        opened->fds[opened->n++] = result;
}
