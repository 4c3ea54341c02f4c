/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, checked against simulated machines. */
#include "base/cleanup.h"
#include "sampler/spec-make.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

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

    fake_file(fake, "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
    fake_file(fake, "/proc/42/task/42/comm", "x\n");
    assert_int_equal(machine_load(&fake->sys, &f.machine, &error), 0);
    return f;
}

static void end(struct fixture *f)
{
    assert_int_equal(f->fake->n_open, 0);
    machine_free(f->machine);
    fake_sys_free(f->fake);
}

static int make(struct fixture *f, const struct stream_request *request, struct spec *ret, struct error *error)
{
    return spec_make(&f->fake->sys, f->machine, &f->config, request, ret, error);
}

static struct spec good(struct fixture *f, const struct stream_request *request)
{
    struct error error = {0};
    struct spec spec;

    if (make(f, request, &spec, &error) < 0)
        fail_msg("%s", error.message);
    return spec;
}

static void test_defaults(void **state)
{
    struct fixture f = begin(fake_machine_one_pmu());
    struct spec spec = good(&f, &(struct stream_request){0});
    struct spec_group group;

    (void)state;
    assert_string_equal(spec.events.events[0].text, "cycles");
    assert_int_equal(spec.frequency, 99);
    assert_int_equal(spec.period, 0);
    assert_int_equal(cpuset_count(&spec.cpus), 4);
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 0, &group, NULL), 0);
    assert_int_equal(group.n, 1);
    const struct perf_event_attr *attr = &group.attrs[0];
    assert_int_equal(attr->sample_type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                            PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN);
    assert_true(attr->freq && attr->disabled && attr->sample_id_all && attr->mmap && attr->mmap2 && attr->comm &&
                attr->comm_exec && attr->task && attr->watermark && attr->use_clockid);
    assert_false(attr->inherit || attr->exclude_kernel);
    assert_int_equal(attr->sample_freq, 99);
    assert_int_equal(attr->clockid, CLOCK_MONOTONIC);
    assert_int_equal(attr->wakeup_watermark, 2 * sysconf(_SC_PAGESIZE));
    assert_int_equal(attr->read_format, 0);
    spec_done(&spec);
    end(&f);
}

/* Where nothing is sampled: records laid out as the others', of an event that never happens. */
static void test_tracking(void **state)
{
    struct fixture f = begin(fake_machine_big_little());
    struct spec spec = good(&f, &(struct stream_request){.event = (char *)"{cycles,instructions}", .read = true});
    struct spec_group group, tracking;

    (void)state;
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 0, &group, NULL), 0);
    spec_bind_tracking(&spec, &tracking);
    assert_true(spec_tracks(&spec));
    assert_int_equal(tracking.n, 1);
    assert_null(tracking.pmu);
    struct perf_event_attr attr = tracking.attrs[0], sampling = group.attrs[0];
    assert_int_equal(attr.type, PERF_TYPE_SOFTWARE);
    assert_int_equal(attr.config, PERF_COUNT_SW_DUMMY);
    assert_false(attr.freq);
    assert_int_equal(attr.sample_period, 1);
    assert_int_equal(group.ring_pages, 8);
    assert_int_equal(tracking.ring_pages, 8);
    attr.type = sampling.type;
    attr.config = sampling.config;
    attr.freq = sampling.freq;
    attr.sample_period = sampling.sample_period;
    assert_memory_equal(&attr, &sampling, sizeof(attr));
    spec.ring_pages = 128;
    spec_bind_tracking(&spec, &tracking);
    assert_int_equal(tracking.ring_pages, TRACKING_PAGES);
    assert_int_equal(tracking.attrs[0].wakeup_watermark, 2 * sysconf(_SC_PAGESIZE));
    spec.ring_pages = 2;
    spec_bind_tracking(&spec, &tracking);
    assert_int_equal(tracking.ring_pages, 2);
    spec_done(&spec);
    spec = good(&f, &(struct stream_request){.pid = 42});
    assert_false(spec_tracks(&spec));
    spec_done(&spec);
    end(&f);
}

/* Without a PMU it is the clock; with a group and read=1 all are opened, else the first. */
static void test_groups(void **state)
{
    struct fixture f = begin(fake_machine_no_pmu());
    struct spec spec = good(&f, &(struct stream_request){0});
    struct spec_group group;

    (void)state;
    assert_string_equal(spec.events.events[0].text, "cpu-clock");
    spec_done(&spec);
    struct stream_request request = {.event = (char *)"{cpu-clock,context-switches}:D", .period = 1000000};
    spec = good(&f, &request);
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 1, &group, NULL), 0);
    assert_int_equal(group.n, 1);
    assert_false(group.attrs[0].freq);
    assert_int_equal(group.attrs[0].sample_period, 1000000);
    spec_done(&spec);
    request.read = true;
    request.pid = 42;
    spec = good(&f, &request);
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 1, &group, NULL), 0);
    assert_int_equal(group.n, 2);
    assert_true(group.attrs[0].sample_type & PERF_SAMPLE_READ);
    assert_int_equal(group.attrs[0].read_format, group.attrs[1].read_format);
    assert_true(group.attrs[0].read_format & PERF_FORMAT_GROUP);
    assert_int_equal(group.attrs[1].sample_type, 0);
    assert_true(group.attrs[0].pinned && !group.attrs[1].pinned);
    assert_false(group.attrs[0].inherit);
    spec_done(&spec);
    end(&f);
}

/* S behind a group is read=1. */
static void test_group_modifiers(void **state)
{
    struct fixture f = begin(fake_machine_no_pmu());
    struct stream_request request = {.event = (char *)"{cpu-clock,context-switches}:SI"};
    struct spec_group group;
    struct error error;
    struct spec spec;

    (void)state;
    assert_int_equal(make(&f, &request, &spec, &error), -EINVAL); /* I is for the clock alone */
    request.event = (char *)"{cpu-clock:I,context-switches}:S";
    spec = good(&f, &request);
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 1, &group, NULL), 0);
    assert_int_equal(group.n, 2);
    assert_true(group.attrs[0].sample_type & PERF_SAMPLE_READ);
    assert_true(group.attrs[0].exclude_idle && !group.attrs[1].exclude_idle);
    spec_done(&spec);
    request.event = (char *)"{cpu-clock},context-switches";
    assert_int_equal(make(&f, &request, &spec, &error), -EINVAL);
    assert_string_equal(error.message,
                        "parameter \"event\": only one group can stand here: write all events inside one "
                        "pair of braces, or sample the others in a stream of their own");
    end(&f);
}

/* Each kind of core by its own PMU, and an event of one kind on its CPUs alone. */
static void test_two_kinds(void **state)
{
    struct fixture f = begin(fake_machine_big_little());
    struct stream_request request = {.event = (char *)"armv8_cortex_a76/event=0x11/ppp"};
    struct spec spec = good(&f, &(struct stream_request){0});
    struct spec_group little, big;

    (void)state;
    assert_string_equal(spec.events.events[0].text, "cycles");
    spec_done(&spec);
    spec = good(&f, &request);
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 0, &little, NULL), 0);
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 7, &big, NULL), 0);
    assert_int_equal(little.n, 0);
    assert_int_equal(big.n, 1);
    assert_int_equal(big.attrs[0].type, 9);
    assert_int_equal(big.attrs[0].precise_ip, 3);
    spec_done(&spec);
    end(&f);
}

/* A process that may not sample the kernel samples user space; if it may sample nothing, the reason is reported. */
static void test_permission(void **state)
{
    struct fixture f = begin(fake_machine_one_pmu());
    struct error error;
    struct spec spec;

    (void)state;
    fake_fail(f.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EACCES, .times = 1});
    spec = good(&f, &(struct stream_request){0});
    assert_true(spec.user_only);
    struct spec_group group;
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 0, &group, NULL), 0);
    assert_true(group.attrs[0].exclude_kernel && group.attrs[0].exclude_callchain_kernel);
    spec_done(&spec);
    fake_fail_no_more(f.fake);
    fake_fail(f.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EACCES});
    assert_int_equal(make(&f, &(struct stream_request){0}, &spec, &error), -EACCES);
    assert_non_null(strstr(error.message, "permission denied (EACCES)"));
    fake_fail_no_more(f.fake);
    end(&f);
}

/* An event that samples only the kernel needs the permission. */
static void test_kernel_alone(void **state)
{
    struct fixture f = begin(fake_machine_no_pmu());
    struct stream_request request = {.event = (char *)"cpu-clock:k"};
    struct spec spec = good(&f, &request);
    struct spec_group group;
    struct error error;

    (void)state;
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 0, &group, NULL), 0);
    assert_true(group.attrs[0].exclude_user && !group.attrs[0].exclude_kernel);
    spec_done(&spec);
    fake_fail(f.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EACCES, .times = 1});
    assert_int_equal(make(&f, &request, &spec, &error), -EACCES);
    fake_fail_no_more(f.fake);
    fake_fail(f.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EACCES, .times = 1});
    request.event = (char *)"cpu-clock:u";
    spec = good(&f, &request);
    assert_int_equal(spec_bind(&spec, &f.fake->sys, f.machine, 0, &group, NULL), 0);
    assert_true(!group.attrs[0].exclude_user && group.attrs[0].exclude_kernel);
    spec_done(&spec);
    fake_fail_no_more(f.fake);
    end(&f);
}

static void test_rate_follows_limit(void **state)
{
    struct fixture f = begin(fake_machine_one_pmu());

    (void)state;
    fake_file(f.fake, "/proc/sys/kernel/perf_event_max_sample_rate", "50\n");
    struct spec spec = good(&f, &(struct stream_request){0});
    assert_int_equal(spec.frequency, 50);
    spec_done(&spec);
    end(&f);
}

static void test_equal(void **state)
{
    static const struct {
        struct stream_request in;
        bool out;
    } cases[] = {
        {{0}, true},
        {{.seconds = 2, .max = 5}, true}, /* of the stream, not of the capture */
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
    struct spec usual = good(&f, &(struct stream_request){0});

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct spec spec = good(&f, &cases[i].in);
        assert_int_equal(spec_equal(&usual, &spec), cases[i].out);
        spec_done(&spec);
    }
    spec_done(&usual);
    end(&f);
}

static void test_bad(void **state)
{
    static const struct {
        struct stream_request in;
        int out;
        const char *out_message;
    } cases[] = {
        {{.frequency = 100001},
         -EINVAL,
         "a frequency of 100001 Hz is over the limit of 100000, kernel.perf_event_max_sample_rate; ask for less, or "
         "raise it"},
        {{.frequency = 1, .period = 1}, -EINVAL, "frequency and period exclude each other"},
        {{.event = (char *)"cycls"}, -EINVAL, "there is no event \"cycls\""},
        {{.event = (char *)"{cycles"}, -EINVAL, "parameter \"event\": "},
        {{.event = (char *)"nopmu/x/"}, -EINVAL, "there is no PMU \"nopmu\""},
        {{.event = (char *)"power/event=1/"}, -EINVAL, "power/event=1/ cannot sample: it counts for several CPUs"},
        {{.cpus = (char *)"0-x"}, -EINVAL, "parameter \"cpu\": "},
        {{.cpus = (char *)"0,9"}, -EINVAL, "parameter \"cpu\": there is no CPU 9 on this machine, only 0-3"},
        {{.cpus = (char *)"3"}, -EINVAL, "CPU 3 is offline"},
        {{.pid = 41}, -ENOENT, "there is no process 41"},
        {{.pid = 42, .cgroup = (char *)"/x"}, -EINVAL, "pid and cgroup exclude each other"},
        {{.cgroup = (char *)"x"}, -EINVAL, "\"x\" is not a path from the root of the cgroups"},
        {{.cgroup = (char *)"/../x"}, -EINVAL, "\"/../x\" is not a path from the root of the cgroups"},
        {{.cgroup = (char *)"/x/.."}, -EINVAL, "\"/x/..\" is not a path from the root of the cgroups"},
        {{.cgroup = (char *)"/x"}, -ENOENT, "there is no cgroup /x"},
    };
    struct fixture f = begin(fake_machine_one_pmu());

    (void)state;
    fake_file(f.fake, "/proc/self/mountinfo", "26 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(f.fake, "/sys/fs/cgroup/cgroup.procs", "\n");
    fake_set_online(f.fake, 3, false);
    machine_free(f.machine);
    assert_int_equal(machine_load(&f.fake->sys, &f.machine, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        struct spec spec;
        assert_int_equal(make(&f, &cases[i].in, &spec, &error), cases[i].out);
        if (!str_starts(error.message, cases[i].out_message))
            fail_msg("case %zu: %s", i, error.message);
    }
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_tracking),
        cmocka_unit_test(test_groups),    cmocka_unit_test(test_group_modifiers),
        cmocka_unit_test(test_two_kinds), cmocka_unit_test(test_permission),
        cmocka_unit_test(test_equal),     cmocka_unit_test(test_rate_follows_limit),
        cmocka_unit_test(test_bad),       cmocka_unit_test(test_kernel_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
