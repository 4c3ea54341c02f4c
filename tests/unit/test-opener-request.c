/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the opener parses, and requests that it refuses: each case spoils one thing of a valid request. */
#include "base/cleanup.h"
#include "opener/request.h"
#include "tests/newer.h"
#include "tests/unit/test.h"

enum { KPROBE = 6, UPROBE = 7, INTEL_PT = 9, UNKNOWN = 77, DAEMON = 4711 };
static uint32_t counting_types[] = {PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW};
static uint32_t tracing_types[] = {INTEL_PT}, probing_types[] = {KPROBE, UPROBE};
static struct opener_permitted_event permitted[] = {
    {.type = UPROBE, .config2 = 0x1234, .text = (char *)"/bin/true"},
    {.type = UPROBE, .config = 1, .config2 = 0x1234, .text = (char *)"/bin/true"},
    {.type = KPROBE, .text = (char *)"vfs_read", .samples = true},
    {.type = KPROBE, .config2 = 0x77},
    {.type = PERF_TYPE_TRACEPOINT, .config = 310},
    {.type = PERF_TYPE_TRACEPOINT, .config = 311, .samples = true},
    {.type = PERF_TYPE_BREAKPOINT, .config1 = 0x1000, .config2 = 8, .bp_type = 2},
};
static const struct opener_rules rules = {
    .daemon = DAEMON,
    .permissions = {.events = permitted, .n_events = ARRAY_SIZE(permitted)},
    .counting = {counting_types, ARRAY_SIZE(counting_types)},
    .tracing = {tracing_types, ARRAY_SIZE(tracing_types)},
    .probing = {probing_types, ARRAY_SIZE(probing_types)},
};

/* A packet, aligned, that a case may spoil. */
struct packet {
    union {
        uint64_t words[1024];
        struct opener_group_packet group;
    };
    size_t size, n_fds;
    struct opener_packet_event *events;
};

static struct perf_event_attr counting(uint32_t type, uint64_t config)
{
    return (struct perf_event_attr){
        .size = sizeof(struct perf_event_attr),
        .type = type,
        .config = config,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
        .disabled = 1,
        .exclude_kernel = 1,
    };
}

static void make_of(struct packet *packet, const struct sys_group *group)
{
    _cleanup_(buffer_done) struct buffer buffer = {0};
    size_t n;

    assert_int_equal(opener_request_write(&rules, group, 0, &buffer, &n), 0);
    assert_int_equal(n, group->n);
    assert_true(buffer.size < sizeof(packet->words));
    memset(packet, 0, sizeof(*packet));
    memcpy(packet->words, buffer.data, buffer.size);
    packet->size = buffer.size;
    packet->events = (struct opener_packet_event *)(&packet->group + 1);
}

/* A group of two on CPU 1: an event of software, a probe in /bin/true. */
static void make(struct packet *packet)
{
    struct perf_event_attr attrs[2] = {counting(PERF_TYPE_SOFTWARE, 1), counting(UPROBE, 0)};
    const char *const texts[2] = {NULL, "/bin/true"};
    const struct sys_group group = {
        .attrs = attrs, .texts = texts, .n = 2, .pid = -1, .cpu = 1, .leader = -1, .flags = PERF_FLAG_FD_CLOEXEC};

    attrs[1].config2 = 0x1234;
    make_of(packet, &group);
}

/* One event on CPU 0. */
static void make_one(struct packet *packet, struct perf_event_attr attr, const char *text)
{
    make_of(packet, &(struct sys_group){.attrs = &attr, .texts = &text, .n = 1, .pid = -1, .leader = -1});
}

static int judge(const struct packet *packet, const struct opener_rules *by)
{
    struct opener_request request;
    int r = opener_request_parse(packet->words, packet->size, packet->n_fds, &request);

    return r < 0 ? r : opener_request_check(&request, by);
}

static void test_round_trip(void **state)
{
    struct opener_request request;
    struct packet packet;

    (void)state;
    make(&packet);
    assert_int_equal(opener_request_parse(packet.words, packet.size, 0, &request), 0);
    assert_int_equal(opener_request_check(&request, &rules), 0);
    assert_int_equal(request.kind, OPENER_REQUEST_GROUP);
    assert_int_equal(request.group->n_events, 2);
    assert_int_equal(request.group->cpu, 1);
    assert_int_equal(request.group->pid, -1);
    assert_int_equal(request.events[0].attr.config, 1);
    assert_null(opener_request_text(&request, 0));
    assert_int_equal(request.events[1].attr.type, UPROBE);
    assert_int_equal(request.events[1].attr.config1, 0);
    assert_string_equal(opener_request_text(&request, 1), "/bin/true");
}

/* The daemon itself, as 0 or by number; a cgroup, whose descriptor goes beside the packet. */
static void test_targets(void **state)
{
    static const struct {
        pid_t pid;
        int cpu;
        unsigned long flags;
        size_t n_fds;
        int out_pid, out;
    } cases[] = {
        {-1, 0, 0, 0, -1, 0},
        {-1, -1, 0, 0, -1, -EBADRQC},
        {0, -1, 0, 0, DAEMON, 0},
        {DAEMON, 3, 0, 0, DAEMON, 0},
        {DAEMON, -2, 0, 0, DAEMON, -EBADRQC},
        {1, -1, 0, 0, 1, -EBADRQC},
        {DAEMON + 1, 0, 0, 0, DAEMON + 1, -EBADRQC},
        {-2, 0, 0, 0, -2, -EBADRQC},
        {9, 0, PERF_FLAG_PID_CGROUP, 1, -1, 0},
        {9, 0, PERF_FLAG_PID_CGROUP, 0, -1, -EBADMSG},
        {9, 0, PERF_FLAG_PID_CGROUP, 2, -1, -EBADMSG},
        {9, -1, PERF_FLAG_PID_CGROUP, 1, -1, -EBADRQC},
        {-1, 0, 0, 1, -1, -EBADMSG},
        {-1, 0, PERF_FLAG_FD_OUTPUT, 0, -1, -EBADRQC},
        {-1, 0, PERF_FLAG_FD_NO_GROUP, 0, -1, -EBADRQC},
        {-1, 0, 1UL << 20, 0, -1, -EBADRQC},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct perf_event_attr attr = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
        struct sys_group group = {
            .attrs = &attr, .n = 1, .pid = cases[i].pid, .cpu = cases[i].cpu, .leader = -1, .flags = cases[i].flags};
        _cleanup_(buffer_done) struct buffer buffer = {0};
        struct opener_request request;
        size_t n;
        assert_int_equal(opener_request_write(&rules, &group, 0, &buffer, &n), 0);
        assert_int_equal(((struct opener_group_packet *)buffer.data)->pid, cases[i].out_pid);
        int r = opener_request_parse(buffer.data, buffer.size, cases[i].n_fds, &request);
        assert_int_equal(r < 0 ? r : opener_request_check(&request, &rules), cases[i].out);
    }
}

#define SPOIL(name, what, verdict)                                                                                     \
    static void spoil_##name(struct packet *p)                                                                         \
    {                                                                                                                  \
        what;                                                                                                          \
    }                                                                                                                  \
    enum { verdict_##name = (verdict) };
#define SPOILS(X)                                                                                                      \
    X(nothing, (void)p, 0)                                                                                             \
    X(version, p->group.header.version++, -EBADMSG)                                                                    \
    X(kind, p->group.header.kind = 77, -EBADMSG)                                                                       \
    X(size_field, p->group.header.size++, -EBADMSG)                                                                    \
    X(cut, p->size--, -EBADMSG)                                                                                        \
    X(cut_and_said, p->group.header.size = (uint32_t)--p->size, -EBADMSG)                                              \
    X(header_only, p->group.header.size = (uint32_t)(p->size = sizeof(struct opener_packet_header)), -EBADMSG)         \
    X(empty, p->size = 0, -EBADMSG)                                                                                    \
    X(no_events, p->group.n_events = 0, -EBADMSG)                                                                      \
    X(too_many_events, p->group.n_events = OPENER_EVENTS_MAX + 1, -EBADMSG)                                            \
    X(endless_events, p->group.n_events = UINT32_MAX, -EBADMSG)                                                        \
    X(text_size, p->group.text_size++, -EBADMSG)                                                                       \
    X(endless_text, p->group.text_size = UINT32_MAX, -EBADMSG)                                                         \
    X(text_outside, p->events[1].text = 100, -EBADMSG)                                                                 \
    X(text_far_outside, p->events[1].text = UINT32_MAX, -EBADMSG)                                                      \
    X(text_without_end, ((char *)p->words)[p->size - 1] = 'x', -EBADMSG)                                               \
    X(leader_missing, p->group.leader = 1, -EBADMSG)                                                                   \
    X(leader_number, p->group.leader = 2, -EBADMSG)                                                                    \
    X(whole_number, p->group.whole = 2, -EBADMSG)                                                                      \
    X(descriptor_too_many, p->n_fds = 1, -EBADMSG)                                                                     \
    X(padding, p->events[0].zero = 1, -EBADMSG)                                                                        \
    X(address_of_a_probe, (p->events[1].text = 0, p->events[1].attr.config1 = 4096), -ENOPKG)                          \
    X(address_beside_text, p->events[1].attr.config1 = 4096, -ENOPKG)                                                  \
    X(text_of_no_probe, p->events[0].text = 1, -EBADRQC)                                                               \
    X(retprobe, p->events[1].attr.config = 1, 0)                                                                       \
    X(reference_counter, p->events[1].attr.config = UINT64_C(0x1000) << 32, -ENOPKG)                                   \
    X(unknown_of_a_probe, p->events[1].attr.config = 2, -ENOPKG)                                                       \
    X(trace_of_a_cpu, p->events[0].attr.type = INTEL_PT, -EBADRQC)                                                     \
    X(attr_size_0, p->events[0].attr.size = 0, -EBADRQC)                                                               \
    X(attr_size_odd, p->events[0].attr.size = 65, -EBADRQC)                                                            \
    X(attr_size_large, p->events[0].attr.size = 4096, -EBADRQC)                                                        \
    X(attr_size_ver0, p->events[0].attr.size = PERF_ATTR_SIZE_VER0, 0)                                                 \
    X(attr_behind_size, (p->events[0].attr.size = PERF_ATTR_SIZE_VER0, p->events[0].attr.config2 = 1), -EBADRQC)       \
    X(config2, p->events[0].attr.config2 = 1, 0)                                                                       \
    X(pinned, p->events[0].attr.pinned = 1, 0)                                                                         \
    X(exclude_guest, p->events[0].attr.exclude_guest = 1, 0)                                                           \
    X(exclude_idle, p->events[0].attr.exclude_idle = 1, 0)                                                             \
    X(sample_period, p->events[0].attr.sample_period = 1, -EUNATCH)                                                    \
    X(freq, p->events[0].attr.freq = 1, -EBADRQC)                                                                      \
    X(sample_type, p->events[0].attr.sample_type = PERF_SAMPLE_IP, -EBADRQC)                                           \
    X(precise_ip, p->events[1].attr.precise_ip = 1, -EBADRQC)                                                          \
    X(mmap, p->events[0].attr.mmap = 1, -EBADRQC)                                                                      \
    X(mmap2, p->events[0].attr.mmap2 = 1, -EBADRQC)                                                                    \
    X(comm, p->events[0].attr.comm = 1, -EBADRQC)                                                                      \
    X(task, p->events[0].attr.task = 1, -EBADRQC)                                                                      \
    X(inherit, p->events[0].attr.inherit = 1, -EUNATCH)                                                                \
    X(enable_on_exec, p->events[0].attr.enable_on_exec = 1, -EBADRQC)                                                  \
    X(watermark, p->events[0].attr.watermark = 1, -EBADRQC)                                                            \
    X(wakeup, p->events[0].attr.wakeup_events = 1, -EBADRQC)                                                           \
    X(branches, p->events[0].attr.branch_sample_type = 1, -EBADRQC)                                                    \
    X(registers, p->events[0].attr.sample_regs_user = 1, -EBADRQC)                                                     \
    X(stack, p->events[0].attr.sample_stack_user = 8, -EBADRQC)                                                        \
    X(aux, p->events[0].attr.aux_watermark = 1, -EBADRQC)                                                              \
    X(clock, p->events[0].attr.use_clockid = 1, -EBADRQC)                                                              \
    X(signal, attr_set_signal_data(&p->events[0].attr), -EBADRQC)                                                      \
    X(read_format, p->events[0].attr.read_format = 1 << 10, -EBADRQC)                                                  \
    X(reserved, p->events[0].attr.__reserved_2 = 1, -EBADRQC)                                                          \
    X(watchpoint_of_software, p->events[0].attr.bp_type = 1, -EBADRQC)                                                 \
    X(unknown_pmu, p->events[0].attr.type = UNKNOWN, -ENOPKG)
SPOILS(SPOIL)

struct spoiled {
    const char *name;
    void (*spoil)(struct packet *packet);
    int out;
};
#define ROW(name, what, verdict) {#name, spoil_##name, verdict_##name},

static void test_verdicts(void **state)
{
    static const struct spoiled cases[] = {SPOILS(ROW)};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct packet packet;
        make(&packet);
        cases[i].spoil(&packet);
        int r = judge(&packet, &rules);
        if (r != cases[i].out)
            fail_msg("%s: %d, not %d", cases[i].name, r, cases[i].out);
    }
}

/* Events that could do more than count, and events that are almost the same. */
static const struct {
    struct perf_event_attr in;
    const char *in_text;
    int out, out_with_breakpoints, out_sampled;
} permissions[] = {
#define OF(number, ...)                                                                                                \
    {                                                                                                                  \
        .type = (number), .size = sizeof(struct perf_event_attr), __VA_ARGS__                                          \
    }
#define LOW(r) (sizeof(void *) == 8 ? (r) : -EBADRQC) /* on 32 bits, whose it is depends on the kernel */
#define ALL(verdict) (verdict), (verdict), (verdict)
    {OF(UPROBE, .config2 = 0x1234), "/bin/true", 0, 0, -ENOPKG},
    {OF(UPROBE, .config = 1, .config2 = 0x1234), "/bin/true", 0, 0, -ENOPKG},
    {OF(UPROBE, .config2 = 0x1235), "/bin/true", ALL(-ENOPKG)},
    {OF(UPROBE, .config2 = 0x1234), "/bin/false", ALL(-ENOPKG)},
    {OF(UPROBE, .config2 = 0x1234), "", ALL(-ENOPKG)},
    {OF(UPROBE, .config2 = 0x1234), NULL, ALL(-ENOPKG)},
    {OF(KPROBE, .config2 = 0x1234), "/bin/true", ALL(-ENOPKG)},
    {OF(KPROBE, .config = 0), "vfs_read", ALL(0)},
    {OF(KPROBE, .config = 1), "vfs_read", ALL(-ENOPKG)},
    {OF(KPROBE, .config2 = 1), "vfs_read", ALL(-ENOPKG)},
    {OF(KPROBE, .config2 = 0x77), NULL, 0, 0, -ENOPKG},
    {OF(KPROBE, .config1 = 4096, .config2 = 0x77), NULL, ALL(-ENOPKG)},
    {OF(PERF_TYPE_TRACEPOINT, .config = 310), NULL, 0, 0, -ENOPKG},
    {OF(PERF_TYPE_TRACEPOINT, .config = 310), "x", ALL(-EBADRQC)},
    {OF(PERF_TYPE_TRACEPOINT, .config = 310, .config1 = 1), NULL, ALL(-ENOPKG)},
    {OF(PERF_TYPE_TRACEPOINT, .config = 311), NULL, ALL(0)},
    {OF(PERF_TYPE_TRACEPOINT, .config = 312), NULL, ALL(-ENOPKG)},
    {OF(PERF_TYPE_BREAKPOINT, .bp_type = 2, .bp_addr = 0x1000, .bp_len = 8), NULL, LOW(-ENOKEY), LOW(0), LOW(-ENOPKG)},
    {OF(PERF_TYPE_BREAKPOINT, .bp_type = 1, .bp_addr = 0x1000, .bp_len = 8), NULL, ALL(LOW(-ENOPKG))},
    {OF(PERF_TYPE_BREAKPOINT, .bp_type = 2, .bp_addr = 0x1008, .bp_len = 8), NULL, ALL(LOW(-ENOPKG))},
    {OF(PERF_TYPE_BREAKPOINT, .bp_type = 2, .bp_addr = 0x1000, .bp_len = 4), NULL, ALL(LOW(-ENOPKG))},
    {OF(PERF_TYPE_BREAKPOINT, .bp_type = 2, .bp_addr = UINT64_C(1) << 63, .bp_len = 8), NULL, ALL(-EBADRQC)},
    {OF(PERF_TYPE_BREAKPOINT, .bp_type = 2, .bp_addr = UINT64_MAX - 7, .bp_len = 8), NULL, ALL(-EBADRQC)},
    {OF(UNKNOWN, .config = 0), NULL, ALL(-ENOPKG)},
    {OF(INTEL_PT, .config = 0), NULL, ALL(-EBADRQC)},
    {OF(PERF_TYPE_RAW, .config = 0x11), NULL, ALL(0)},
};

/* They are opened exactly as the configuration had them at the start. */
static void test_permissions(void **state)
{
    struct opener_rules breakpoints = rules, sampling = rules;

    (void)state;
    breakpoints.permissions.breakpoints = sampling.permissions.breakpoints = sampling.permissions.sampling = true;
    for (size_t i = 0; i < ARRAY_SIZE(permissions); i++) {
        struct packet packet;
        make_one(&packet, permissions[i].in, permissions[i].in_text);
        int out = judge(&packet, &rules), with = judge(&packet, &breakpoints);
        packet.events[0].attr.sample_period = 1000;
        int sampled = judge(&packet, &sampling);
        if (out != permissions[i].out || with != permissions[i].out_with_breakpoints ||
            sampled != permissions[i].out_sampled)
            fail_msg("case %zu: %d, with breakpoints %d, sampled %d", i, out, with, sampled);
    }
}

/* The event that samples, as sampler/spec.c makes it. */
static void make_sampling(struct packet *packet)
{
    make(packet);
    struct perf_event_attr *attr = &packet->events[0].attr;
    attr->freq = 1;
    attr->sample_freq = 99;
    attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_READ;
    attr->sample_id_all = 1;
    attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = attr->ksymbol = 1;
    attr->watermark = 1;
    attr->wakeup_watermark = 131072;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->precise_ip = 2;
    attr->inherit = 1;
    attr->exclude_callchain_kernel = 1;
}

static void unsample(struct perf_event_attr *attr)
{
    struct perf_event_attr counts = counting(PERF_TYPE_SOFTWARE, 1);

    *attr = counts;
}

/* Each: by an opener for sampling, by one that is not. */
#define SAMPLE_SPOILS(X)                                                                                               \
    X(sampling, (void)p, 0)                                                                                            \
    X(of_a_stranger, p->group.pid = 1, 0)                                                                              \
    X(of_a_stranger_and_group, (p->group.pid = 1, p->group.leader = 1, p->n_fds = 1, p->events[0].attr.freq = 0), 0)   \
    X(member_clock, (p->events[1].attr.use_clockid = 1, p->events[1].attr.clockid = CLOCK_MONOTONIC), 0)               \
    X(period, p->events[0].attr.freq = 0, 0)                                                                           \
    X(config3, attr_set_config3(&p->events[0].attr), 0)                                                                \
    X(of_all_strangers, (p->group.pid = -1, p->group.cpu = -1), -EBADRQC)                                              \
    X(of_a_process_group, p->group.pid = -5, -EBADRQC)                                                                 \
    X(stranger_by_the_second, (p->group.pid = 1, unsample(&p->events[0].attr)), -EBADRQC)                              \
    X(records_without_samples, p->events[0].attr.sample_period = 0, -EBADRQC)                                          \
    X(sampled_clock, p->events[0].attr.clockid = CLOCK_REALTIME, -EBADRQC)                                             \
    X(sampled_address, p->events[0].attr.sample_type |= PERF_SAMPLE_ADDR, -EBADRQC)                                    \
    X(sampled_raw, p->events[0].attr.sample_type |= PERF_SAMPLE_RAW, -EBADRQC)                                         \
    X(sampled_branches, p->events[0].attr.sample_type |= PERF_SAMPLE_BRANCH_STACK, -EBADRQC)                           \
    X(sampled_registers, p->events[0].attr.sample_type |= PERF_SAMPLE_REGS_USER, -EBADRQC)                             \
    X(sampled_stack, p->events[0].attr.sample_type |= PERF_SAMPLE_STACK_USER, -EBADRQC)                                \
    X(sampled_kernel_registers, p->events[0].attr.sample_type |= PERF_SAMPLE_REGS_INTR, -EBADRQC)                      \
    X(sampled_physical, p->events[0].attr.sample_type |= PERF_SAMPLE_PHYS_ADDR, -EBADRQC)                              \
    X(sampled_aux, p->events[0].attr.sample_type |= PERF_SAMPLE_AUX, -EBADRQC)                                         \
    X(sampled_cgroup, p->events[0].attr.sample_type |= PERF_SAMPLE_CGROUP, -EBADRQC)                                   \
    X(sampled_unknown, p->events[0].attr.sample_type |= UINT64_C(1) << 63, -EBADRQC)                                   \
    X(with_registers, p->events[0].attr.sample_regs_user = 1, -EBADRQC)                                                \
    X(with_stack, p->events[0].attr.sample_stack_user = 8, -EBADRQC)                                                   \
    X(with_branches, p->events[0].attr.branch_sample_type = 1, -EBADRQC)                                               \
    X(trace, p->events[0].attr.type = INTEL_PT, -EBADRQC)                                                              \
    X(with_aux, p->events[0].attr.aux_watermark = 1, -EBADRQC)                                                         \
    X(with_aux_output, p->events[0].attr.aux_output = 1, -EBADRQC)                                                     \
    X(with_stacks_of_its_own_depth, p->events[0].attr.sample_max_stack = 500, -EBADRQC)                                \
    X(with_data_mappings, p->events[0].attr.mmap_data = 1, -EBADRQC)                                                   \
    X(with_switches, p->events[0].attr.context_switch = 1, -EBADRQC)                                                   \
    X(with_namespaces, p->events[0].attr.namespaces = 1, -EBADRQC)                                                     \
    X(with_programs, p->events[0].attr.bpf_event = 1, -EBADRQC)                                                        \
    X(with_cgroups, p->events[0].attr.cgroup = 1, -EBADRQC)                                                            \
    X(with_text_poke, p->events[0].attr.text_poke = 1, -EBADRQC)                                                       \
    X(with_build_ids, attr_set_flag(&p->events[0].attr, ATTR_BUILD_ID), -EBADRQC)                                      \
    X(with_statistics, p->events[0].attr.inherit_stat = 1, -EBADRQC)                                                   \
    X(with_user_callchains_only, p->events[0].attr.exclude_callchain_user = 1, -EBADRQC)                               \
    X(with_threads_only, attr_set_flag(&p->events[0].attr, ATTR_INHERIT_THREAD), -EBADRQC)                             \
    X(with_exec, p->events[0].attr.enable_on_exec = 1, -EBADRQC)                                                       \
    X(with_signal, attr_set_flag(&p->events[0].attr, ATTR_SIGTRAP), -EBADRQC)                                          \
    X(with_signal_data, attr_set_signal_data(&p->events[0].attr), -EBADRQC)                                            \
    X(with_backward_ring, p->events[0].attr.write_backward = 1, -EBADRQC)                                              \
    X(woken_by_count, (p->events[0].attr.watermark = 0, p->events[0].attr.wakeup_events = 1), -EBADRQC)

SAMPLE_SPOILS(SPOIL)

static void test_sampling(void **state)
{
    static const struct spoiled cases[] = {SAMPLE_SPOILS(ROW)};
    struct opener_rules sampling = rules;

    (void)state;
    sampling.permissions.sampling = true;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct packet packet;
        make_sampling(&packet);
        cases[i].spoil(&packet);
        int with = judge(&packet, &sampling), without = judge(&packet, &rules);
        if (with != cases[i].out || without != (with == 0 ? -EUNATCH : with))
            fail_msg("%s: %d, not %d; without sampling %d", cases[i].name, with, cases[i].out, without);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_targets),
                                       cmocka_unit_test(test_verdicts), cmocka_unit_test(test_permissions),
                                       cmocka_unit_test(test_sampling)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
