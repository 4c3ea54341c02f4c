/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the opener parses or refuses. Each case changes one property of a valid request. */
#include "base/cleanup.h"
#include "opener/protocol.h"
#include "perf/perf-event.h"
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

/* An aligned packet that a test case can modify. */
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

/* Makes a group of two events on CPU 1: a software event and a uprobe in /bin/true. */
static void make(struct packet *packet)
{
    struct perf_event_attr attrs[2] = {counting(PERF_TYPE_SOFTWARE, 1), counting(UPROBE, 0)};
    const char *const texts[2] = {NULL, "/bin/true"};
    const struct sys_group group = {
        .attrs = attrs, .texts = texts, .n = 2, .pid = -1, .cpu = 1, .leader = -1, .flags = PERF_FLAG_FD_CLOEXEC};

    attrs[1].config2 = 0x1234;
    make_of(packet, &group);
}

/* Makes a request for one event on CPU 0. */
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

TEST(test_round_trip)
{
    struct opener_request request;
    struct packet packet;

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

/*
 * The opener permits CPUs, the daemon's own process, given as 0 or by its pid, and cgroups, whose descriptor is sent
 * along with the packet.
 */
TEST(test_targets)
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

static void assert_judged(const char *name, int result, int expected)
{
    if (result != expected)
        fail_msg("%s: %d, not %d", name, result, expected);
}

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
    X(sample_period, p->events[0].attr.sample_period = 1, -EUNATCH)                                                    \
    X(precise_ip, p->events[1].attr.precise_ip = 1, -EBADRQC)                                                          \
    X(inherit, p->events[0].attr.inherit = 1, -EUNATCH)                                                                \
    X(exec_elsewhere, p->events[0].attr.enable_on_exec = 1, 0)                                                         \
    X(exec_of_the_daemon, (p->events[0].attr.enable_on_exec = 1, p->group.pid = rules.daemon), -EBADRQC)               \
    X(unknown_pmu, p->events[0].attr.type = UNKNOWN, -ENOPKG)

TEST(test_password_results)
{
    struct packet packet, *p = &packet;

#define TRY(name, what, result)                                                                                        \
    make(p);                                                                                                           \
    what;                                                                                                              \
    assert_judged(#name, judge(p, &rules), result);
    SPOILS(TRY)
}

/* Events that can do more than count, and harmless events that look almost the same. */
static const struct {
    struct perf_event_attr in;
    const char *in_text;
    int out, out_with_breakpoints, out_sampled;
} permissions[] = {
#define OF(number, ...)                                                                                                \
    {                                                                                                                  \
        .type = (number), .size = sizeof(struct perf_event_attr), __VA_ARGS__                                          \
    }
#define LOW(r) (sizeof(void *) == 8 ? (r) : -EBADRQC) /* on 32-bit machines, the end of user space varies */
#define ALL(result) (result), (result), (result)
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

/* The opener permits only what the configuration permitted at startup. */
TEST(test_permissions)
{
    struct opener_rules breakpoints = rules, sampling = rules;

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

/* Makes the sampling event that sampler/record-options.c makes. */
static void make_sampling(struct packet *packet)
{
    make(packet);
    struct perf_event_attr *attr = &packet->events[0].attr;
    attr->freq = 1;
    attr->sample_freq = 99;
    attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP;
    attr->sample_id_all = 1;
    attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = attr->ksymbol = attr->cgroup = 1;
    attr->watermark = 1;
    attr->wakeup_watermark = 131072;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->precise_ip = 2;
    attr->inherit = 1;
    attr->exclude_callchain_kernel = 1;
}

static void make_off_cpu(struct packet *packet)
{
    packet->events[0].attr.type = PERF_TYPE_SOFTWARE;
    packet->events[0].attr.config = PERF_COUNT_SW_BPF_OUTPUT;
}

/* Each case is tried with rules that permit sampling and with rules that do not. */
#define SAMPLE_SPOILS(X)                                                                                               \
    X(sampling, (void)p, 0)                                                                                            \
    X(of_a_stranger, p->group.pid = 1, 0)                                                                              \
    X(of_a_stranger_and_group, (p->group.pid = 1, p->group.leader = 1, p->n_fds = 1, p->events[0].attr.freq = 0), 0)   \
    X(member_clock, (p->events[1].attr.use_clockid = 1, p->events[1].attr.clockid = CLOCK_MONOTONIC), 0)               \
    X(period, p->events[0].attr.freq = 0, 0)                                                                           \
    X(of_all_strangers, (p->group.pid = -1, p->group.cpu = -1), -EBADRQC)                                              \
    X(of_a_process_group, p->group.pid = -5, -EBADRQC)                                                                 \
    X(stranger_by_the_second, (p->group.pid = 1, p->events[0].attr = counting(PERF_TYPE_SOFTWARE, 1)), -EBADRQC)       \
    X(cgroups_without_samples, (p->events[0] = p->events[1], p->events[0].attr.cgroup = 1), -EBADRQC)                  \
    X(records_without_samples, p->events[0].attr.sample_period = 0, -EBADRQC)                                          \
    X(sampled_clock, p->events[0].attr.clockid = CLOCK_REALTIME, -EBADRQC)                                             \
    X(trace, p->events[0].attr.type = INTEL_PT, -EBADRQC)                                                              \
    X(woken_by_count, (p->events[0].attr.watermark = 0, p->events[0].attr.wakeup_events = 1), -EBADRQC)                \
    X(raw_data, p->events[0].attr.sample_type |= PERF_SAMPLE_RAW, -EBADRQC)                                            \
    X(off_cpu, (make_off_cpu(p), p->events[0].attr.sample_type |= PERF_SAMPLE_RAW), 0)                                 \
    X(off_cpu_alarm,                                                                                                   \
      (make_off_cpu(p), p->events[0].attr.watermark = 0, p->events[0].attr.wakeup_watermark = 0,                       \
       p->events[0].attr.wakeup_events = 1, p->events[0].attr.write_backward = 1),                                     \
      0)                                                                                                               \
    X(off_cpu_of_a_stranger, (make_off_cpu(p), p->group.pid = 1, p->events[0].attr.sample_type |= PERF_SAMPLE_RAW),    \
      -EBADRQC)

TEST(test_sampling)
{
    struct packet packet, *p = &packet;
    struct opener_rules sampling = rules;

    sampling.permissions.sampling = true;
#define TRY_SAMPLING(name, what, result)                                                                               \
    make_sampling(p);                                                                                                  \
    what;                                                                                                              \
    assert_judged(#name, judge(p, &sampling), result);                                                                 \
    assert_judged(#name " without sampling", judge(p, &rules), (result) == 0 ? -EUNATCH : (result));
    SAMPLE_SPOILS(TRY_SAMPLING)
}

/*
 * Fields of struct perf_event_attr that the opener permits only for sampling events on whole CPUs, and only with
 * hindsight.
 */
#define HINDSIGHT_SPOILS(X)                                                                                            \
    X(overwritten, p->events[0].attr.write_backward = 1, 0)                                                            \
    X(overwritten_of_a_stranger, (p->group.pid = 1, p->events[0].attr.write_backward = 1), -EBADRQC)                   \
    X(overwritten_without_samples, (p->events[0] = p->events[1], p->events[0].attr.write_backward = 1), -EBADRQC)

TEST(test_hindsight)
{
    struct packet packet, *p = &packet;
    struct opener_rules sampling = rules, hindsight = rules;

    sampling.permissions.sampling = hindsight.permissions.sampling = hindsight.permissions.hindsight = true;
#define TRY_HINDSIGHT(name, what, result)                                                                              \
    make_sampling(p);                                                                                                  \
    what;                                                                                                              \
    assert_judged(#name, judge(p, &hindsight), result);                                                                \
    assert_judged(#name " without hindsight", judge(p, &sampling), (result) == 0 ? -EUNATCH : (result));
    HINDSIGHT_SPOILS(TRY_HINDSIGHT)
}

/* Returns an attr in which all bits that a counting event may have are set. */
static struct perf_event_attr harmless(void)
{
    struct perf_event_attr attr = {
        .config = UINT64_MAX,
        .config1 = UINT64_MAX,
        .config2 = UINT64_MAX,
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = 1,
        .enable_on_exec = 1,
        .pinned = 1,
        .exclusive = 1,
        .exclude_user = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .exclude_idle = 1,
        .exclude_host = 1,
        .exclude_guest = 1,
    };

    if (sizeof(attr) >= PERF_ATTR_SIZE_VER8) /* config3 */
        memset((char *)&attr + PERF_ATTR_SIZE_VER7, 0xff, sizeof(uint64_t));
    return attr;
}

/* Sets each clear bit of an event in turn. A bit that is not in `allowed` must be refused. */
static void try_bits(void (*make_it)(struct packet *), const struct perf_event_attr *allowed,
                     const struct opener_rules *by)
{
    for (size_t i = offsetof(struct perf_event_attr, config) * 8; i < sizeof(*allowed) * 8; i++) {
        struct packet packet;
        make_it(&packet);
        unsigned char *byte = (unsigned char *)&packet.events[0].attr + i / 8, bit = (unsigned char)(1U << i % 8);
        if (*byte & bit)
            continue;
        *byte |= bit;
        int r = judge(&packet, by);
        bool may = ((const unsigned char *)allowed)[i / 8] & bit;
        if (may ? r != 0 : r != -EBADRQC && r != -EUNATCH)
            fail_msg("bit %zu of byte %zu: %d", i % 8, i / 8, r);
    }
}

TEST(test_bits)
{
    struct perf_event_attr allowed = harmless();
    struct opener_rules sampling = rules;

    try_bits(make, &allowed, &rules);
    sampling.permissions.sampling = true;
    allowed.sample_period = UINT64_MAX;
    allowed.wakeup_watermark = UINT32_MAX;
    allowed.precise_ip = 3;
    try_bits(make_sampling, &allowed, &sampling);
}

enum { CPUS = 4, SLOTS = 256 };

/* Calls of the cgroup engine. */

struct spoilt {
    struct opener_bpf_packet packet;
    size_t size, n_fds;
};

static void make_bpf(struct spoilt *spoilt, enum opener_bpf_call call)
{
    *spoilt = (struct spoilt){.packet = {.call = call}, .size = sizeof(spoilt->packet)};
    switch (call) {
    case OPENER_BPF_START:
        spoilt->packet.shape = (struct bpf_shape){.cpus = CPUS, .slots = SLOTS, .events = 3, .groups = 2};
        break;
    case OPENER_BPF_SET_CPU:
        spoilt->packet.number = CPUS - 1;
        spoilt->packet.events[0] = (struct bpf_event){.source = SOURCE_READ, .group = 1, .gives_times = 1};
        spoilt->packet.events[1] = (struct bpf_event){.source = SOURCE_SWITCHES};
        spoilt->packet.events[23] = (struct bpf_event){.source = SOURCE_READ, .group = 7};
        spoilt->n_fds = 2;
        break;
    case OPENER_BPF_ATTACH:
        spoilt->packet.number = 1;
        break;
    case OPENER_BPF_ASSIGN:
        spoilt->packet.number = BPF_SLOT_ROOT;
        spoilt->n_fds = 1;
        break;
    case OPENER_BPF_WITHDRAW:
    case OPENER_OFF_CPU_START:
        spoilt->packet.id = UINT64_MAX;
        break;
    case OPENER_OFF_CPU_SET_CPU:
        spoilt->packet.number = CPUS - 1;
        spoilt->n_fds = 2;
        break;
    default:
        break;
    }
}

static int judge_bpf(struct spoilt *spoilt, uint32_t slots, bool sampling)
{
    const struct opener_rules by = {.n_cpus = CPUS, .permissions = {.bpf_slots = slots, .sampling = sampling}};
    struct opener_request request = {0};
    _cleanup_(buffer_done) struct buffer buffer = {0};

    assert_int_equal(opener_bpf_write(&spoilt->packet, &buffer), 0);
    ((struct opener_packet_header *)buffer.data)->size = (uint32_t)spoilt->size;
    buffer_append(&buffer, (char[8]){0}, 8);
    int r = opener_request_parse(buffer.data, spoilt->size, spoilt->n_fds, &request);
    assert_true(r == 0 || !request.bpf);
    return r < 0 ? r : opener_request_check(&request, &by);
}

#define BPF_SPOILS(X)                                                                                                  \
    X(START, (void)p, 0)                                                                                               \
    X(START, p->size--, -EBADMSG)                                                                                      \
    X(START, p->size += 8, -EBADMSG)                                                                                   \
    X(START, p->size = sizeof(struct opener_packet_header), -EBADMSG)                                                  \
    X(START, p->n_fds = 1, -EBADMSG)                                                                                   \
    X(START, p->packet.call = 0, -EBADMSG)                                                                             \
    X(START, p->packet.call = N_OPENER_BPF_CALLS, -EBADMSG)                                                            \
    X(START, p->packet.call = UINT32_MAX, -EBADMSG)                                                                    \
    X(START, p->packet.number = 1, -EBADMSG)                                                                           \
    X(START, p->packet.id = 1, -EBADMSG)                                                                               \
    X(START, p->packet.events[5].group = 1, -EBADMSG)                                                                  \
    X(START, p->packet.shape.cpus = CPUS + 1, -EBADRQC)                                                                \
    X(START, p->packet.shape.cpus = UINT32_MAX, -EBADRQC)                                                              \
    X(START, p->packet.shape.cpus = 0, -EBADRQC)                                                                       \
    X(START, p->packet.shape.slots = SLOTS + 1, -EUNATCH)                                                              \
    X(START, p->packet.shape.slots = UINT32_MAX, -EUNATCH)                                                             \
    X(START, p->packet.shape.slots = BPF_SLOT_FIRST, -EBADRQC)                                                         \
    X(START, p->packet.shape.slots = BPF_SLOT_FIRST + 1, 0)                                                            \
    X(START, p->packet.shape.events = 0, -EBADRQC)                                                                     \
    X(START, p->packet.shape.events = BPF_EVENTS_MAX, 0)                                                               \
    X(START, p->packet.shape.events = BPF_EVENTS_MAX + 1, -EBADRQC)                                                    \
    X(START, p->packet.shape.groups = 0, -EBADRQC)                                                                     \
    X(START, p->packet.shape.groups = BPF_GROUPS_MAX + 1, -EBADRQC)                                                    \
    X(SET_CPU, (void)p, 0)                                                                                             \
    X(SET_CPU, memset(p->packet.events, 0, sizeof(p->packet.events)), -EBADMSG)                                        \
    X(SET_CPU, (memset(p->packet.events, 0, sizeof(p->packet.events)), p->n_fds = 0), 0)                               \
    X(SET_CPU, p->packet.number = CPUS, -EBADRQC)                                                                      \
    X(SET_CPU, p->packet.number = UINT32_MAX, -EBADRQC)                                                                \
    X(SET_CPU, p->n_fds = 1, -EBADMSG)                                                                                 \
    X(SET_CPU, p->n_fds = 3, -EBADMSG)                                                                                 \
    X(SET_CPU, p->packet.events[0].source = SOURCE_SWITCHES + 1, -EBADMSG)                                             \
    X(SET_CPU, (p->packet.events[2].source = SOURCE_SWITCHES + 1, p->packet.events[2].gives_times = 0), -EBADMSG)      \
    X(SET_CPU, p->packet.events[0].group = BPF_GROUPS_MAX, -EBADMSG)                                                   \
    X(SET_CPU, p->packet.events[0].gives_times = 2, -EBADMSG)                                                          \
    X(SET_CPU, p->packet.events[1].gives_times = 1, -EBADMSG)                                                          \
    X(SET_CPU, p->packet.events[0].zero = 1, -EBADMSG)                                                                 \
    X(SET_CPU, p->packet.shape.cpus = 1, -EBADMSG)                                                                     \
    X(ATTACH, (void)p, 0)                                                                                              \
    X(ATTACH, p->packet.number = 0, 0)                                                                                 \
    X(ATTACH, p->packet.number = 2, -EBADMSG)                                                                          \
    X(ATTACH, p->packet.shape.slots = 1, -EBADMSG)                                                                     \
    X(ATTACH, p->packet.shape.events = 1, -EBADMSG)                                                                    \
    X(ATTACH, p->packet.shape.groups = 1, -EBADMSG)                                                                    \
    X(ATTACH, p->n_fds = 1, -EBADMSG)                                                                                  \
    X(ASSIGN, (void)p, 0)                                                                                              \
    X(ASSIGN, p->packet.number = SLOTS - 1, 0)                                                                         \
    X(ASSIGN, p->packet.number = BPF_SLOT_UNKNOWN, -EBADRQC)                                                           \
    X(ASSIGN, p->packet.number = SLOTS, -EUNATCH)                                                                      \
    X(ASSIGN, p->packet.number = BPF_SLOT_NONE, -EBADRQC)                                                              \
    X(ASSIGN, p->n_fds = 0, -EBADMSG)                                                                                  \
    X(ASSIGN, p->n_fds = 2, -EBADMSG)                                                                                  \
    X(ASSIGN, p->packet.id = 7, -EBADMSG)                                                                              \
    X(WITHDRAW, (void)p, 0)                                                                                            \
    X(WITHDRAW, p->packet.number = 1, -EBADMSG)                                                                        \
    X(WITHDRAW, p->n_fds = 1, -EBADMSG)                                                                                \
    X(FLUSH, (void)p, 0)                                                                                               \
    X(FLUSH, p->packet.id = 1, -EBADMSG)                                                                               \
    X(FLUSH, p->packet.number = 1, -EBADMSG)                                                                           \
    X(STOP, (void)p, 0)                                                                                                \
    X(STOP, p->packet.events[0].source = SOURCE_SWITCHES, -EBADMSG)

TEST(test_bpf)
{
    struct spoilt spoilt, *p = &spoilt;

#define TRY_BPF(name, what, result)                                                                                    \
    make_bpf(p, OPENER_BPF_##name);                                                                                    \
    what;                                                                                                              \
    assert_judged(#name ", " #what, judge_bpf(p, SLOTS, false), result);                                               \
    assert_judged(#name ", " #what ", without a BPF program", judge_bpf(p, 0, true),                                   \
                  (result) == 0 ? -EUNATCH : (result));
    BPF_SPOILS(TRY_BPF)
}

#define OFF_CPU_SPOILS(X)                                                                                              \
    X(START, (void)p, 0)                                                                                               \
    X(START, p->packet.number = 1, -EBADMSG)                                                                           \
    X(START, p->n_fds = 1, -EBADMSG)                                                                                   \
    X(START, p->packet.shape.slots = 1, -EBADMSG)                                                                      \
    X(SET_CPU, (void)p, 0)                                                                                             \
    X(SET_CPU, p->packet.id = UINT64_MAX, 0) /* the id is valid, although the loader has no program with this id */    \
    X(SET_CPU, p->packet.number = CPUS, -EBADRQC)                                                                      \
    X(SET_CPU, p->n_fds = 1, -EBADMSG)                                                                                 \
    X(SET_CPU, p->n_fds = 3, -EBADMSG)                                                                                 \
    X(SET_CPU, p->packet.events[0].source = SOURCE_READ, -EBADMSG)                                                     \
    X(READ, (void)p, 0)                                                                                                \
    X(READ, p->n_fds = 1, -EBADMSG)                                                                                    \
    X(STOP, (void)p, 0)                                                                                                \
    X(STOP, p->packet.number = 1, -EBADMSG)

TEST(test_off_cpu)
{
    struct spoilt spoilt, *p = &spoilt;

#define TRY_OFF_CPU(name, what, result)                                                                                \
    make_bpf(p, OPENER_OFF_CPU_##name);                                                                                \
    what;                                                                                                              \
    assert_judged(#name ", " #what, judge_bpf(p, 0, true), result);                                                    \
    assert_judged(#name ", " #what ", without sampling", judge_bpf(p, SLOTS, false),                                   \
                  (result) == 0 ? -EUNATCH : (result));
    OFF_CPU_SPOILS(TRY_OFF_CPU)
}

/* A request for a state file is refused if the packet has the wrong size or carries a descriptor. */
TEST(test_state_files)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    struct state_request request = {.user = 1000, .ticket = 42, .home = "/home/ann"};
    struct opener_request parsed;
    uint64_t words[64] = {0};

    assert_int_equal(opener_request_write_state(&request, &packet), 0);
    assert_true(packet.size < sizeof(words));
    memcpy(words, packet.data, packet.size);
    assert_int_equal(opener_request_parse(words, packet.size, 0, &parsed), 0);
    assert_int_equal(parsed.kind, OPENER_REQUEST_STATE);
    assert_memory_equal(parsed.state, &request, sizeof(request));
    assert_int_equal(opener_request_parse(words, packet.size, 1, &parsed), -EBADMSG);
    for (uint32_t size = 8; size < packet.size + 16; size++) {
        ((struct opener_packet_header *)words)->size = size;
        assert_int_equal(opener_request_parse(words, size, 0, &parsed), size == packet.size ? 0 : -EBADMSG);
    }
}

TEST_MAIN(NULL, NULL)
