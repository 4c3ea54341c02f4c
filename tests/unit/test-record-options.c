/* SPDX-License-Identifier: Apache-2.0 */
/* What a client can request from the sampler: parameters, permitted events, and the events that are opened. */
#include <limits.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "perf/event-parse.h"
#include "sampler/record-options.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

/* --- parameters --- */

TEST(test_parameters)
{
    _cleanup_(record_request_done) struct record_request request = {0};
    static const char *const in[][2] = {
        {"seconds", "0.5"},  {"event", "{cycles,instructions}:u"},
        {"frequency", "99"}, {"period", "0x10"},
        {"cpu", "0-3,6"},    {"cgroup", "/system.slice"},
        {"pid", "1"},        {"max", "10"},
        {"read", "1"},       {"event", "cycles"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(in); i++)
        assert_int_equal(record_request_set(&request, in[i][0], in[i][1], NULL), 0);
    assert_true(request.seconds == 0.5);
    assert_string_equal(request.event, "cycles"); /* if a parameter is repeated, its last value is used */
    assert_int_equal(request.frequency, 99);
    assert_int_equal(request.period, 16);
    assert_string_equal(request.cpus, "0-3,6");
    assert_string_equal(request.cgroup, "/system.slice");
    assert_int_equal(request.pid, 1);
    assert_int_equal(request.max, 10);
    assert_true(request.read);
}

#define WHOLE "expected a whole number from 1 to 9223372036854775807"
#define SECONDS "expected seconds, at least 0.001, or a duration such as 5m"
#define PID "expected a whole number from 1 to 4194304"

TEST(test_bad_parameters)
{
    static const struct {
        const char *in_name, *in_value,
            *out; /* the message contains the name before this text and the value after it */
    } cases[] = {
        {"seconds", "", SECONDS},
        {"seconds", "0", SECONDS},
        {"seconds", "-1", SECONDS},
        {"seconds", "nan", SECONDS},
        {"seconds", "inf", SECONDS},
        {"seconds", "1x", SECONDS},
        {"seconds", "0s", SECONDS},
        {"seconds", "100us", SECONDS},
        {"frequency", "0", WHOLE},
        {"frequency", "9223372036854775808", WHOLE},
        {"period", "1.5", WHOLE},
        {"pid", "-1", PID},
        {"pid", "4194305", PID},
        {"max", "0", WHOLE},
        {"read", "yes", "expected 0 or 1"},
        {"event", "", NULL},
        {"cpu", "", NULL},
        {"cgroup", "", NULL},
    };
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(record_request_done) struct record_request request = {0};
        char expected[256];
        snprintf(expected, sizeof(expected), "parameter \"%s\": %s, found \"%s\"", cases[i].in_name, cases[i].out,
                 cases[i].in_value);
        if (!cases[i].out)
            snprintf(expected, sizeof(expected), "parameter \"%s\": the value is empty", cases[i].in_name);
        assert_int_equal(record_request_set(&request, cases[i].in_name, cases[i].in_value, &error), -EINVAL);
        assert_string_equal(error.message, expected);
    }
    char text[8194];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(record_request_set(&(struct record_request){0}, "event", text, &error), -EINVAL);
    assert_string_equal(error.message, "parameter \"event\": the value is too long");
    assert_int_equal(record_request_set(&(struct record_request){0}, "reed", "1", &error), -EINVAL);
    assert_string_equal(error.message, "unknown parameter \"reed\"");
}

TEST(test_seconds)
{
    static const struct {
        const char *in;
        double out;
    } cases[] = {{"10", 10}, {"0.5", 0.5}, {"10s", 10}, {"5m", 300}, {"1.5h", 5400}, {"1ms", 0.001}};
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct record_request request = {0};
        assert_int_equal(record_request_set(&request, "seconds", cases[i].in, &error), 0);
        assert_true(request.seconds == cases[i].out);
    }
}

/* Every parameter that a route accepts can be set. */
TEST(test_lists)
{
    const char *const *const lists[] = {stream_record_parameters, stream_profile_parameters};

    for (size_t l = 0; l < ARRAY_SIZE(lists); l++)
        for (size_t i = 0; lists[l][i]; i++) {
            struct record_request request = {0};
            struct error error = {0};
            record_request_set(&request, lists[l][i], "", &error);
            assert_null(strstr(error.message, "unknown"));
            record_request_done(&request);
        }
}

/* --- events that clients may name; tests/e2e/sampler.sh covers events that read or change a program --- */

static struct fake_sys *make_machine(struct machine **ret)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_add_pmu(fake, "uprobe", 7, NULL, "0-3");
    fake_add_pmu(fake, "kprobe", 6, NULL, "0-3");
    fake_add_pmu(fake, "breakpoint", 5, NULL, "0-3");
    fake_add_pmu(fake, "intel_pt", 23, NULL, "0-3");
    fake_pmu_file(fake, "intel_pt", "events/trace-it", "config=1\n");
    assert_int_equal(machine_load(&fake->sys, ret, NULL), 0);
    return fake;
}

static const struct {
    const char *in;
    int out;
} verdicts[] = {
    {"cycles", 0},
    {"cpu-clock", 0},
    {"r11", 0},
    {"1:0", 0},
    {"4:0x11/config1=1/", 0},
    {"cycles/name=x/", 0},
    {"mem:0x1000:w/name=x/", -EACCES},
    {"syscalls:sys_enter_openat/name=x/", -EACCES},
    {"L1-dcache-load-misses", 0},
    {"cpu/event=0x3c/", 0},
    {"sched:sched_switch", 0},
    {"sched:sched_switch:k", 0},
    {"sched:sched_switc", -EACCES},
    {"sched:sched_switch_more", -EACCES},
    {"sche:d_sched_switch", -EACCES},
    {"uprobe/path=/bin/sh,offset=0x10/", -EACCES},
    {"kprobe/addr=0x77/", -EACCES},
    {"intel_pt/config=1/", -EACCES},
    {"intel_pt_4/config=1/", -EACCES},
    {"trace-it", -EACCES},
    {"uprobe/retprobe/", -EACCES},
};

TEST(test_password_results)
{
    char *listed[] = {(char *)"sched:sched_switch", (char *)"sched:sched_wakeup"};
    const struct config_sampler config = {.tracepoints = listed, .n_tracepoints = ARRAY_SIZE(listed)};
    struct machine *machine = NULL;
    struct fake_sys *fake = make_machine(&machine);

    for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
        _cleanup_(event_done) struct event event = {0};
        struct error error = {0};
        if (event_parse(verdicts[i].in, &event, &error) < 0)
            fail_msg("%s: %s", verdicts[i].in, error.message);
        int r = client_event_check(&config, machine, &event, &error);
        if (r != verdicts[i].out)
            fail_msg("%s: %d, not %d", verdicts[i].in, r, verdicts[i].out);
        assert_true(r == 0 || strstr(error.message, verdicts[i].in));
    }
    machine_free(machine);
    fake_sys_free(fake);
}

/* --- events that are opened --- */

struct fixture {
    struct fake_sys *fake;
    struct machine *machine;
    struct config_sampler config;
};

static struct fixture begin(struct fake_sys *fake)
{
    struct fixture f = {
        .fake = fake,
        .config = {.enabled = true, .event = (char *)"auto", .frequency = 99, .callchain = true, .ring_pages = 8},
    };
    struct error error;

    fake_file(fake, "/proc/42/task/42/comm", "x\n");
    fake_file(fake, "/proc/self/mountinfo", "26 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "\n");
    assert_int_equal(machine_load(&fake->sys, &f.machine, &error), 0);
    return f;
}

static void end(struct fixture *f)
{
    assert_int_equal(f->fake->n_open, 0);
    machine_free(f->machine);
    fake_sys_free(f->fake);
}

static int make(struct fixture *f, const struct record_request *request, struct record_options *ret,
                struct error *error)
{
    return record_options_make(&f->fake->sys, f->machine, &f->config, request, ret, error);
}

static struct record_options good(struct fixture *f, const struct record_request *request)
{
    struct error error = {0};
    struct record_options options;

    if (make(f, request, &options, &error) < 0)
        fail_msg("%s", error.message);
    return options;
}

TEST(test_defaults)
{
    struct fixture f = begin(fake_machine_one_pmu());
    struct record_options options = good(&f, &(struct record_request){0});
    struct record_group group;

    assert_string_equal(options.events.events[0].text, "cycles");
    assert_int_equal(options.frequency, 99);
    assert_int_equal(options.period, 0);
    assert_int_equal(cpuset_count(&options.cpus), 4);
    assert_int_equal(record_options_bind(&options, &f.fake->sys, f.machine, 0, &group, NULL), 0);
    assert_int_equal(group.n, 1);
    const struct perf_event_attr *attr = &group.attrs[0];
    assert_int_equal(attr->sample_type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                            PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
                                            PERF_SAMPLE_CGROUP);
    assert_true(attr->cgroup);
    assert_true(attr->freq && attr->disabled && attr->sample_id_all && attr->mmap && attr->mmap2 && attr->comm &&
                attr->comm_exec && attr->task && attr->watermark && attr->use_clockid);
    assert_false(attr->inherit || attr->exclude_kernel);
    assert_int_equal(attr->sample_freq, 99);
    assert_int_equal(attr->clockid, CLOCK_MONOTONIC);
    assert_int_equal(attr->wakeup_watermark, 2 * sysconf(_SC_PAGESIZE));
    assert_int_equal(attr->read_format, 0);
    record_options_done(&options);
    end(&f);
}

/*
 * Kernels before 5.7 refuse PERF_SAMPLE_CGROUP. A second attempt without PERF_SAMPLE_CGROUP succeeds, and samples have
 * no cgroup. If the kernel refuses an event for another reason, there is no second attempt.
 */
TEST(test_without_cgroups)
{
    struct fixture f = begin(fake_machine_one_pmu());
    struct record_options options;
    struct record_group group;
    struct error error;

    fake_fail(f.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EINVAL, .times = 1});
    options = good(&f, &(struct record_request){0});
    assert_false(options.cgroups);
    assert_int_equal(record_options_bind(&options, &f.fake->sys, f.machine, 0, &group, NULL), 0);
    assert_false(group.attrs[0].cgroup || group.attrs[0].sample_type & PERF_SAMPLE_CGROUP);
    record_options_done(&options);
    fake_fail_no_more(f.fake);
    fake_fail(f.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EINVAL});
    assert_int_equal(make(&f, &(struct record_request){.event = (char *)"cycles"}, &options, &error), -EINVAL);
    fake_fail_no_more(f.fake);
    end(&f);
}

/* On CPUs that are not sampled, an event that never occurs provides the other records, in the same layout. */
TEST(test_tracking)
{
    struct fixture f = begin(fake_machine_big_little());
    struct record_options options =
        good(&f, &(struct record_request){.event = (char *)"{cycles,instructions}", .read = true});
    struct record_group group, tracking;

    assert_int_equal(record_options_bind(&options, &f.fake->sys, f.machine, 0, &group, NULL), 0);
    record_options_bind_tracking(&options, &tracking);
    assert_true(record_options_tracks(&options));
    assert_int_equal(tracking.n, 1);
    assert_null(tracking.pmu);
    struct perf_event_attr attr = tracking.attrs[0], sampling = group.attrs[0];
    assert_int_equal(attr.type, PERF_TYPE_SOFTWARE);
    assert_int_equal(attr.config, PERF_COUNT_SW_DUMMY);
    assert_false(attr.freq);
    assert_int_equal(attr.sample_period, 1);
    attr.type = sampling.type;
    attr.config = sampling.config;
    attr.freq = sampling.freq;
    attr.sample_period = sampling.sample_period;
    assert_memory_equal(&attr, &sampling, sizeof(attr));
    record_options_done(&options);
    options = good(&f, &(struct record_request){.pid = 42});
    assert_false(record_options_tracks(&options));
    record_options_done(&options);
    end(&f);
}

static struct fake_sys *one_cpu_offline(void)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_set_online(fake, 3, false);
    fake_file(fake, "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
    return fake;
}

static struct fake_sys *rate_limit_50(void)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_file(fake, "/proc/sys/kernel/perf_event_max_sample_rate", "50\n");
    return fake;
}

#define EVENT(text) .event = (char *)(text)
#define A76 "armv8_cortex_a76/event=0x11/ppp"
#define READ_PAIR EVENT("{cpu-clock,context-switches}:D"), .period = 1000000
#define ONE_GROUP                                                                                                      \
    "parameter \"event\": only one group is allowed here: write all events inside one pair of braces, or sample the "  \
    "others in a separate stream"
#define TOO_OFTEN                                                                                                      \
    "a frequency of 100001 Hz is over the limit of 100000, kernel.perf_event_max_sample_rate; ask for less, or raise " \
    "it"
#define NO_PATH(path) "\"" path "\" is not a path from the root of the cgroup hierarchy"
#define ALWAYS UINT_MAX

/*
 * `in_refused` is how often the kernel refuses to open the event with EACCES. `out` is the start of the error, or lists
 * the type, config, rate and other properties of each event that is opened on the CPU.
 */
static const struct {
    struct fake_sys *(*in_machine)(void);
    struct record_request in;
    const char *out;
    int out_r;
    unsigned in_cpu, in_refused;
} options_list[] = {
    {fake_machine_one_pmu, {.pid = 0}, .out = "cycles 0:0 freq 99"},
    /*
     * Without a PMU, cpu-clock is sampled. With read=1 all events of a group are opened, otherwise only the first. The
     * modifier S has the same effect as read=1.
     */
    {fake_machine_no_pmu, {.pid = 0}, .out = "cpu-clock 1:0 freq 99"},
    {fake_machine_no_pmu, {READ_PAIR}, .out = "cpu-clock 1:0 period 1000000 pinned"},
    {fake_machine_no_pmu,
     {READ_PAIR, .read = true, .pid = 42},
     .out = "cpu-clock 1:0 period 1000000 pinned read, 1:3 counted read"},
    {fake_machine_no_pmu, {EVENT("{cpu-clock:I,cs}:S")}, .out = "cpu-clock:I 1:0 freq 99 idle read, 1:3 counted read"},
    {fake_machine_no_pmu, {EVENT("{cpu-clock,cs}:SI")}, .out = "", .out_r = -EINVAL}, /* cs does not accept I */
    {fake_machine_no_pmu, {EVENT("{cpu-clock},cs")}, .out = ONE_GROUP, .out_r = -EINVAL},
    /*
     * Each kind of core is sampled through its own PMU. An event of one kind is opened on the CPUs of that kind only.
     */
    {fake_machine_big_little, {.pid = 0}, .out = "cycles 0:0 freq 99"},
    {fake_machine_big_little, {EVENT(A76)}, .out = ""},
    {fake_machine_big_little, {EVENT(A76)}, A76 " 9:11 freq 99 precise 3", .in_cpu = 7},
    /*
     * Without permission to sample the kernel, only user space is sampled. An event that excludes user space is
     * refused.
     */
    {fake_machine_one_pmu, {.pid = 0}, "cycles 0:0 freq 99 user", .in_refused = 1},
    {fake_machine_one_pmu,
     {.pid = 0},
     "cpu 0 cpu-clock: permission denied (EACCES)",
     .out_r = -EACCES,
     .in_refused = ALWAYS},
    /*
     * Without a PMU the default event is cpu-clock, even if the kernel refuses cycles with EACCES because it checks
     * permissions before it looks for a PMU.
     */
    {fake_machine_no_pmu, {.pid = 0}, "cpu-clock 1:0 freq 99", .in_refused = 1},
    {fake_machine_no_pmu,
     {.pid = 0},
     "cpu 0 cpu-clock: permission denied (EACCES)",
     .out_r = -EACCES,
     .in_refused = ALWAYS},
    {fake_machine_no_pmu, {EVENT("cpu-clock:k")}, .out = "cpu-clock:k 1:0 freq 99 kernel"},
    {fake_machine_no_pmu, {EVENT("cpu-clock:k")}, "", .out_r = -EACCES, .in_refused = 1},
    {fake_machine_no_pmu, {EVENT("cpu-clock:u")}, "cpu-clock:u 1:0 freq 99 user", .in_refused = 1},
    {rate_limit_50, {.pid = 0}, .out = "cycles 0:0 freq 50"},
    {one_cpu_offline, {.frequency = 100001}, TOO_OFTEN, .out_r = -EINVAL},
    {one_cpu_offline, {.frequency = 1, .period = 1}, "frequency and period exclude each other", .out_r = -EINVAL},
    {one_cpu_offline, {EVENT("cycls")}, "there is no event \"cycls\"", .out_r = -EINVAL},
    {one_cpu_offline, {EVENT("{cycles")}, .out = "parameter \"event\": ", .out_r = -EINVAL},
    {one_cpu_offline,
     {EVENT("power/event=1/")},
     "power/event=1/ cannot sample: it counts for several CPUs",
     .out_r = -EINVAL},
    {one_cpu_offline, {.cpus = (char *)"0-x"}, "parameter \"cpu\": ", .out_r = -EINVAL},
    {one_cpu_offline, {.cpus = (char *)"3"}, "parameter \"cpu\": CPU 3 is offline", .out_r = -EINVAL},
    {one_cpu_offline, {.pid = 42, .cgroup = (char *)"/x"}, "pid and cgroup exclude each other", .out_r = -EINVAL},
    {one_cpu_offline, {.cgroup = (char *)"x"}, NO_PATH("x"), .out_r = -EINVAL},
    {one_cpu_offline, {.cgroup = (char *)"/../x"}, NO_PATH("/../x"), .out_r = -EINVAL},
    {one_cpu_offline, {.cgroup = (char *)"/x/.."}, NO_PATH("/x/.."), .out_r = -EINVAL},
};

/* Describes what is opened on a CPU, and checks what all members of a group share. */
static char *show_group(const struct record_options *options, const struct record_group *group)
{
    struct buffer out = {0};

    for (size_t i = 0; i < group->n; i++) {
        const struct perf_event_attr *attr = &group->attrs[i];
        buffer_append_text(&out, i ? ", " : options->events.events[0].text);
        buffer_appendf(&out, "%s%u:%llx", i ? "" : " ", attr->type, (unsigned long long)attr->config);
        if (i)
            buffer_append_text(&out, " counted");
        else
            buffer_appendf(&out, " %s %llu", attr->freq ? "freq" : "period", (unsigned long long)attr->sample_period);
        if (attr->precise_ip)
            buffer_appendf(&out, " precise %u", (unsigned)attr->precise_ip);
        buffer_append_text(&out, attr->pinned ? " pinned" : "");
        buffer_append_text(&out, attr->exclude_idle ? " idle" : "");
        buffer_append_text(&out, attr->exclude_kernel ? " user" : "");
        buffer_append_text(&out, attr->exclude_user ? " kernel" : "");
        buffer_append_text(&out, attr->read_format & PERF_FORMAT_GROUP ? " read" : "");
        assert_int_equal(attr->read_format, group->attrs[0].read_format);
        assert_int_equal(!!(attr->sample_type & PERF_SAMPLE_READ), i == 0 && attr->read_format);
        assert_int_equal(attr->sample_type == 0, i > 0);
        assert_int_equal(attr->exclude_callchain_kernel, options->user_only);
        assert_false(attr->inherit);
    }
    return buffer_string(&out);
}

TEST(test_specs)
{
    for (size_t i = 0; i < ARRAY_SIZE(options_list); i++) {
        struct fixture f = begin(options_list[i].in_machine());
        struct error error = {0};
        struct record_options options;
        struct record_group group;
        print_message("%zu: %s\n", i, options_list[i].in.event ? options_list[i].in.event : "");
        if (options_list[i].in_refused)
            fake_fail(f.fake, (struct fake_failure){
                                  .call = FAKE_OPEN,
                                  .error = EACCES,
                                  .times = options_list[i].in_refused == ALWAYS ? 0 : options_list[i].in_refused});
        int r = make(&f, &options_list[i].in, &options, &error);
        assert_int_equal(r, options_list[i].out_r);
        if (r < 0) {
            if (!str_starts(error.message, options_list[i].out))
                fail_msg("%s", error.message);
            end(&f);
            continue;
        }
        assert_int_equal(record_options_bind(&options, &f.fake->sys, f.machine, options_list[i].in_cpu, &group, NULL),
                         0);
        _cleanup_(freep) char *text = show_group(&options, &group);
        assert_string_equal(text ? text : "", options_list[i].out);
        record_options_done(&options);
        end(&f);
    }
}

TEST(test_equal)
{
    static const struct {
        struct record_request in;
        bool out;
    } cases[] = {
        {{0}, true},
        {{.seconds = 2, .max = 5}, true}, /* these limits belong to the stream, not to the capture */
        {{.event = (char *)"cycles"}, true},
        {{.event = (char *)"cycles:u"}, false},
        {{.event = (char *)"cycles:p"}, false},
        {{.frequency = 98}, false},
        {{.period = 99}, false},
        {{.cpus = (char *)"0-3"}, true},
        {{.cpus = (char *)"0"}, false},
        {{.pid = 42}, false},
        {{.read = true}, false},
    };
    struct fixture f = begin(fake_machine_one_pmu());
    struct record_options usual = good(&f, &(struct record_request){0});

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct record_options options = good(&f, &cases[i].in);
        assert_int_equal(record_options_equal(&usual, &options), cases[i].out);
        record_options_done(&options);
    }
    record_options_done(&usual);
    end(&f);
}

TEST_MAIN(NULL, NULL)
