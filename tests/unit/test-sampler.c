/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler with this machine's clock events: clients that share a capture, are refused, or lose their stream by a
 * reload.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "sampler/record-options.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/sampled.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

/* Clients with equal requests share one capture. If a client leaves, the streams of the others continue. */
TEST_WITH(test_sharing, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct record_request request = {.period = 1000000};
    size_t n = cpuset_count(&f->machine->online);
    struct reader a, b, c;

    sampled_start(f, &(struct record_request){0}, &a);
    sampled_start(f, &request, &b);
    assert_int_equal(count_perf_fds(), n);
    request.period = 2000000;
    sampled_start(f, &request, &c);
    assert_int_equal(count_perf_fds(), 2 * n);
    reader_stop(&c);
    sampled_until(f, count_perf_fds() == n);
    sampled_until(f, reader_has(&a, "sample ", 20));
    assert_non_null(strstr(sampled_disable(f, &a), "end reload "));
    assert_non_null(strstr(sampled_disable(f, &b), "end reload "));
    sampled_until(f, count_perf_fds() == 0);
    reader_stop(&a);
    reader_stop(&b);
}

/* Symbol tables may use the part of sampler.memory that the streams leave free. */
TEST_WITH(test_memory, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct reader a;

    sampled_start(f, &(struct record_request){0}, &a);
    sampler_limit_symbols(f->sampler);
    assert_in_range(seen.room, 1 << 20, 16 << 20);
    f->config.memory = 64 << 20;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    sampler_limit_symbols(f->sampler);
    assert_in_range(seen.room, 49 << 20, 64 << 20);
    reader_stop(&a);
    sampled_until(f, count_perf_fds() == 0);
}

TEST_WITH(test_refused, sampled_begin, sampled_end)
{
    static const struct {
        struct record_request in;
        bool in_disabled;
        int out;
        const char *out_message;
    } cases[] = {
        {{.seconds = 1},
         false,
         -EBUSY,
         "too many clients already receive samples (sampler.max_clients is 1); try again later"},
        {{.seconds = 1}, true, -EOPNOTSUPP, "sampler.enabled"},
        {{.seconds = 61}, false, -EINVAL, "61 seconds are over the limit of 60, sampler.max_seconds"},
    };
    struct sampled *f = *state;
    struct error error = {0};
    struct reader a, b;
    struct stream *none;

    f->config.max_clients = 1;
    sampled_start(f, &(struct record_request){0}, &a);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        f->config.enabled = !cases[i].in_disabled;
        int r = stream_open(f->sampler, &cases[i].in, &writer_lines, reader_on_ready, &b, &none, &error);
        assert_int_equal(r, cases[i].out);
        assert_non_null(strstr(error.message, cases[i].out_message));
        int admitted = sampler_admit(f->sampler, TRUST_OPERATOR, &error);
        assert_int_equal(admitted, cases[i].in_disabled ? -EOPNOTSUPP : 0);
    }
    reader_stop(&a);
}

#define MOUNT "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
#define PAST_ALL_PIDS 4194305 /* PID_MAX_LIMIT in include/linux/threads.h, plus one */

static int refusal;     /* error for events that also sample the kernel; 0: none */
static bool is_removed; /* the cgroup disappears before the kernel looks it up */

static void open_refused(struct sys *sys, const struct sys_group *group, int *ret)
{
    (void)sys;
    if (is_removed)
        assert_int_equal(unlinkat(group->pid, "cgroup.procs", 0), 0);
    *ret = group->attrs->exclude_kernel && refusal == -EACCES ? 1000 : refusal ? refusal : 1000;
}

static int close_nothing(struct sys *sys, int fd)
{
    (void)sys;
    assert_int_equal(fd, 1000);
    return 0;
}

/* The error and the message for a request that names something unknown or that the kernel refuses. */
TEST(test_spec)
{
    static const struct {
        struct record_request in;
        int in_refusal;
        bool in_removed;
        int out;
        const char *out_message; /* "": no error */
        bool out_user_only;
    } rows[] = {
        {{.cgroup = (char *)"/a.slice"}, 0, false, 0, "", false},
        {{.cgroup = (char *)"/"}, 0, false, 0, "", false},
        {{.cgroup = (char *)"/b"}, 0, false, -ENOENT, "there is no cgroup /b below /", false},
        {{.cgroup = (char *)"/a.slice/cgroup.procs"}, 0, false, -ENOENT, "there is no cgroup /a.slice/", false},
        {{.cgroup = (char *)"/a.slice"}, -ENOENT, true, -ENOENT, "the cgroup /a.slice no longer exists", false},
        {{.cgroup = (char *)"/a.slice"},
         -ENOENT,
         false,
         -EINVAL,
         "cpu 0 cpu-clock: perf does not know this cgroup (ENOENT): enable a controller, such as ",
         false},
        {{.cgroup = (char *)"a.slice"}, 0, false, -EINVAL, "\"a.slice\" is not a path", false},
        {{.cgroup = (char *)"/a.slice/.."}, 0, false, -EINVAL, "\"/a.slice/..\" is not a path", false},
        {{.cgroup = (char *)"/../a.slice"}, 0, false, -EINVAL, "\"/../a.slice\" is not a path", false},
        {{.cgroup = (char *)"/a.slice", .pid = 1}, 0, false, -EINVAL, "pid and cgroup exclude each other", false},
        {{.pid = 1}, 0, false, 0, "", false},
        {{.pid = PAST_ALL_PIDS}, 0, false, -ENOENT, "there is no process 4194305", false},
        {{.pid = 1}, -ESRCH, false, -ENOENT, "there is no process 1", false},
        {{.cpus = (char *)"9-2"}, 0, false, -EINVAL, "cpu", false},
        {{.cpus = (char *)"3-5"}, 0, false, -EINVAL, "no CPU 4", false},
        {{.pid = 0}, -EACCES, false, 0, "", true},
        {{.event = (char *)"cpu-clock:k"}, -EACCES, false, -EACCES, "permission denied", false},
        {{.pid = 0},
         -EUNATCH,
         false,
         -EOPNOTSUPP,
         "the configuration allowed no such samples when perfcountd started",
         false},
        {{.pid = 0}, -EOPNOTSUPP, false, -EINVAL, "the PMU does not support this", false},
        {{.pid = 0}, -E2BIG, false, -EINVAL, "the kernel is older", false},
        {{.pid = 0}, -ENXIO, false, -EINVAL, "the CPU is offline or does not exist", false},
        {{.pid = 0}, -ENODEV, false, -EINVAL, "the PMU cannot count here", false},
        {{.pid = 0}, -ENOPKG, false, -EOPNOTSUPP, "the opener does not know", false},
        {{.pid = 0}, -ENOKEY, false, -EOPNOTSUPP, "opener.breakpoints", false},
        {{.pid = 0}, -EMFILE, false, -EMFILE, "too many open files", false},
        {{.event = (char *)"cycles:ppp"}, -EOPNOTSUPP, false, -EINVAL, "ask for fewer p", false},
        {{.event = (char *)"cycles:p"}, -EINVAL, false, -EINVAL, "ask for fewer p", false},
        {{.event = (char *)"power/energy-pkg/"}, 0, false, -EINVAL, "cannot sample", false},
        {{.event = (char *)"cyclez"}, 0, false, -EINVAL, "did you mean", false},
    };
    const struct config_sampler config = {.event = (char *)"cpu-clock", .period = 1000000, .ring_pages = 16};
    struct fake_sys *fake = fake_machine_one_pmu();
    struct machine *machine;
    struct error error;

    fake_file(fake, "/proc/self/mountinfo", MOUNT);
    fake_file(fake, "/proc/1/task/1/comm", "init\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    assert_int_equal(machine_load(&fake->sys, &machine, &error), 0);
    wrap_calls(&fake->sys, (struct sys_calls){.open_group = open_refused, .close = close_nothing});
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct record_options options = {.cgroup_fd = -1};
        error = (struct error){0};
        refusal = rows[i].in_refusal;
        is_removed = rows[i].in_removed;
        fake_file(fake, "/sys/fs/cgroup/a.slice/cgroup.procs", "%s", "");
        int r = record_options_make(&fake->sys, machine, &config, &rows[i].in, &options, &error);
        if (r != rows[i].out || !strstr(error.message, rows[i].out_message) ||
            options.user_only != rows[i].out_user_only)
            fail_msg("row %zu: %d %s", i, r, error.message);
        record_options_done(&options);
    }
    machine_free(machine);
    fake_sys_free(fake);
}

/* The sampling rate comes from the event's terms, else from the request, else from the configuration. */
TEST(test_rate_of_spec)
{
    static const struct {
        const char *in_event; /* event of the request; NULL: none */
        uint64_t in_frequency, in_period;
        uint64_t out_frequency, out_period;
        const char *out_message; /* NULL: no error */
    } rows[] = {
        {NULL, 0, 0, 0, 1000000, NULL},
        {"cpu-clock", 99, 0, 99, 0, NULL},
        {"cpu-clock/period=5000/", 0, 0, 0, 5000, NULL},
        {"{cpu-clock/freq=50/u,cs}", 0, 0, 50, 0, NULL},
        {"cpu-clock/period=5000/", 99, 0, 0, 0,
         "parameter \"event\": \"cpu-clock/period=5000/\" already sets the rate in a term; leave out the parameter "
         "\"frequency\""},
        {"cpu-clock/period=5000/", 0, 5000, 0, 0, "leave out the parameter \"period\""},
        {"cpu-clock/freq=100001/", 0, 0, 0, 0, "a frequency of 100001 Hz is over the limit of 100000"},
    };
    const struct config_sampler config = {.event = (char *)"cpu-clock", .period = 1000000, .ring_pages = 16};
    struct fake_sys *fake = fake_machine_one_pmu();
    struct machine *machine;

    assert_int_equal(machine_load(&fake->sys, &machine, NULL), 0);
    fake_file(fake, "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
    wrap_calls(&fake->sys, (struct sys_calls){.open_group = open_refused, .close = close_nothing});
    refusal = 0;
    is_removed = false;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct record_request request = {
            .event = (char *)rows[i].in_event, .frequency = rows[i].in_frequency, .period = rows[i].in_period};
        struct record_options options = {.cgroup_fd = -1};
        struct error error = {0};
        int r = record_options_make(&fake->sys, machine, &config, &request, &options, &error);
        if (r != (rows[i].out_message ? -EINVAL : 0) || !strstr(error.message, rows[i].out_message ?: "") ||
            options.frequency != rows[i].out_frequency || options.period != rows[i].out_period)
            fail_msg("row %zu: %d %s", i, r, error.message);
        record_options_done(&options);
    }
    machine_free(machine);
    fake_sys_free(fake);
}

static const struct {
    enum trust in_admits, in_trust;
    int out;
    const char *out_remedy;
} admissions[] = {
    {TRUST_OPERATOR, TRUST_OPERATOR, 0, NULL},
    {TRUST_OPERATOR, TRUST_LOCAL, -EACCES, "\"sampler.allow: local\""},
    {TRUST_OPERATOR, TRUST_LOCAL, -EACCES, "curl --unix-socket"},
    {TRUST_OPERATOR, TRUST_EVERYBODY, -EACCES, "are for operators: clients with a password or certificate"},
    {TRUST_LOCAL, TRUST_OPERATOR, 0, NULL},
    {TRUST_LOCAL, TRUST_LOCAL, 0, NULL},
    {TRUST_LOCAL, TRUST_EVERYBODY, -EACCES, "\"sampler.allow: everybody\""},
    {TRUST_EVERYBODY, TRUST_LOCAL, 0, NULL},
    {TRUST_EVERYBODY, TRUST_EVERYBODY, 0, NULL},
    {TRUST_EVERYBODY, TRUST_PAGE, -EACCES, "samples are for"},
};

TEST_WITH(test_admission, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(admissions); i++) {
        sampler_configure(f->sampler, f->machine, &f->config, admissions[i].in_admits);
        assert_int_equal(sampler_admit(f->sampler, admissions[i].in_trust, &error), admissions[i].out);
        if (admissions[i].out < 0 && !strstr(error.message, admissions[i].out_remedy))
            fail_msg("%s", error.message);
    }
}

/* Checks that the stream continues: it receives samples taken after this call. */
static void check_running(struct sampled *f, struct reader *reader)
{
    reader_ended(reader);
    unsigned before = count_words(reader_text_of(reader), "sample ");
    sampled_until(f, reader_has(reader, "sample ", before + 100) || reader->ended);
    assert_false(reader->ended);
}

static void configure(struct sampled *f)
{
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
}

/* A stream ends if a setting that it depends on changes. A stream that overrides the setting continues. */
TEST_WITH(test_reload, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct record_request usual = {.trust = TRUST_LOCAL}, other = {.trust = TRUST_EVERYBODY};
    struct record_request own = {.trust = TRUST_LOCAL, .event = (char *)"cpu-clock", .period = 2000000};
    struct reader a, b, c;

    f->admits = TRUST_EVERYBODY;
    configure(f);
    sampled_start(f, &usual, &a);
    sampled_start(f, &own, &b);
    sampled_start(f, &other, &c);
    sampled_until(f, reader_has(&c, "sample ", 1));
    configure(f);
    check_running(f, &c);
    f->admits = TRUST_LOCAL;
    configure(f);
    sampled_until(f, reader_ended(&c));
    check_running(f, &a);
    f->config.period = 3000000;
    configure(f);
    sampled_until(f, reader_ended(&a));
    f->config.event = (char *)"task-clock";
    configure(f);
    check_running(f, &b);
    f->config.ring_pages = 32;
    configure(f);
    /* The ring buffers are replaced before the stream has read its last records. */
    sampler_cpus_changed(f->sampler, f->machine, NULL);
    sampled_until(f, reader_ended(&b));
    for (struct reader *const *reader = (struct reader *[]){&a, &b, &c, NULL}; *reader; reader++) {
        assert_non_null(strstr(reader_text_of(*reader), "end reload "));
        reader_stop(*reader);
    }
}

static void count_call(void *userdata)
{
    (*(unsigned *)userdata)++;
}

/*
 * At shutdown all streams end with the records they have, even while /proc is still read. The callback `ended` is
 * called, and no client can join.
 */
TEST_WITH(test_shutdown, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct reader a, b;
    unsigned n_ended = 0;
    struct error error;
    struct stream *none;

    sampled_start(f, &(struct record_request){0}, &a);
    sampled_until(f, reader_has(&a, "sample ", 10));
    sampled_start(f, &(struct record_request){0}, &b);
    assert_true(sampler_end(f->sampler, count_call, &n_ended));
    sampled_until(f, reader_ended(&a));
    sampled_until(f, reader_ended(&b));
    assert_non_null(strstr(reader_text_of(&a), "end shutdown "));
    assert_true(str_starts(reader_text_of(&b), "begin "));
    assert_non_null(strstr(reader_text_of(&b), "end shutdown 0 "));
    assert_int_equal(
        stream_open(f->sampler, &(struct record_request){0}, &writer_lines, reader_on_ready, &b, &none, &error),
        -EBUSY);
    assert_string_equal(error.message, "perfcountd is shutting down");
    reader_stop(&a);
    assert_int_equal(n_ended, 0);
    reader_stop(&b);
    assert_int_equal(n_ended, 1);
    sampled_until(f, !sampler_end(f->sampler, count_call, &n_ended));
}

static struct sys_calls real;

static int refuse_to_enable(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    return request == PERF_EVENT_IOC_ENABLE ? -ENODEV : real.ioctl(sys, fd, request, argument);
}

/*
 * If the kernel does not enable an event again, the caller gets an error, and a stream that needs the event is not
 * opened.
 */
TEST_WITH(test_resume_fails, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct error error;
    struct stream *none;
    struct reader a, b;

    sampled_start(f, &(struct record_request){0}, &a);
    assert_int_equal(sampler_pause(f->sampler, true), 0);
    real = wrap_calls(&f->sys, (struct sys_calls){.ioctl = refuse_to_enable});
    assert_int_equal(sampler_pause(f->sampler, false), -ENODEV);
    struct record_request other = {.period = 2000000};
    assert_int_equal(stream_open(f->sampler, &other, &writer_lines, reader_on_ready, &b, &none, &error), -ENODEV);
    assert_true(str_starts(error.message, "sampling cannot start: "));
    reader_stop(&a);
    sampled_until(f, count_perf_fds() == 0);
}

/* --- hindsight --- */

static void enable_hindsight(struct sampled *f, bool enabled)
{
    f->config.hindsight = (struct config_hindsight){
        .enabled = enabled, .seconds = 60, .frequency = 997, .event = (char *)"cpu-clock", .memory = 8 << 20};
    configure(f);
}

static int look_back(struct sampled *f, const struct record_request *request, struct reader *reader,
                     struct error *error)
{
    *reader = (struct reader){0};
    return stream_open(f->sampler, request, &writer_lines, reader_on_ready, reader, &reader->stream, error);
}

/*
 * Uses CPU time, so that there are samples to look back at. Spins 200 times for a millisecond each, since a virtual
 * machine takes only one sample while its host does not run it, but may count that time.
 */
static void burn(void)
{
    for (int i = 0; i < 200; i++)
        for (clock_t end = clock() + CLOCKS_PER_SEC / 1000; clock() < end;)
            ;
}

/*
 * With hindsight, a stream returns samples that were taken before the request. A client can request those of a single
 * process, here of this one.
 */
TEST_WITH(test_hindsight, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    size_t n = cpuset_count(&f->machine->online);
    struct error error;
    struct reader a, b;

    enable_hindsight(f, true);
    if (sampler_no_hindsight(f->sampler))
        skip_because("%s", sampler_no_hindsight(f->sampler));
    assert_int_equal(count_perf_fds(), HINDSIGHT_EVENTS * n);
    burn();
    assert_int_equal(look_back(f, &(struct record_request){.last = 60, .pid = (uint32_t)getpid()}, &a, &error), 0);
    assert_in_range((uint64_t)(stream_past_seconds(a.stream) * 1000), 200, 60000);
    sampled_until(f, reader_ended(&a));
    assert_int_equal(look_back(f, &(struct record_request){.last = 60}, &b, &error), 0);
    sampled_until(f, reader_ended(&b));
    unsigned own = count_words(reader_text_of(&a), "sample "), all = count_words(reader_text_of(&b), "sample ");
    assert_in_range(own, 20, all);
    assert_non_null(strstr(reader_text_of(&a), "end last "));
    char pid[32];
    snprintf(pid, sizeof(pid), " %d\n", (int)getpid());
    assert_int_equal(count_words(reader_text_of(&a), pid), own);
    reader_stop(&a);
    reader_stop(&b);
    assert_int_equal(count_perf_fds(), HINDSIGHT_EVENTS * n);
    /* A pause discards the history. */
    assert_int_equal(sampler_pause(f->sampler, true), 0);
    burn();
    assert_int_equal(sampler_pause(f->sampler, false), 0);
    assert_int_equal(look_back(f, &(struct record_request){.last = 60, .pid = (uint32_t)getpid()}, &a, &error), 0);
    sampled_until(f, reader_ended(&a));
    assert_in_range(count_words(reader_text_of(&a), "sample "), 0, own / 2);
    reader_stop(&a);
    enable_hindsight(f, false);
    assert_int_equal(count_perf_fds(), 0);
    assert_int_equal(look_back(f, &(struct record_request){.last = 1}, &a, &error), -EOPNOTSUPP);
    assert_non_null(strstr(error.message, "hindsight: {enabled: true}"));
    assert_non_null(strstr(error.message, "restart"));
    f->config.enabled = false;
    enable_hindsight(f, true);
    const char *reason = sampler_no_hindsight(f->sampler);
    assert_non_null(strstr(reason ? reason : "", "sampler.enabled is false"));
}

static size_t locked_max;  /* largest ring buffer that the kernel permits, in bytes */
static bool is_before_5_7; /* the kernel is older than 5.7, so samples have no cgroups */

static int lock_little(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    return size > locked_max ? -EPERM : real.mmap(sys, fd, size, protection, ret);
}

static void open_like_older(struct sys *sys, const struct sys_group *group, int *ret)
{
    if (is_before_5_7 && (group->attrs->sample_type & PERF_SAMPLE_CGROUP))
        *ret = -EINVAL;
    else
        real.open_group(sys, group, ret);
}

/*
 * The sampler tries smaller ring buffers until the kernel accepts them. Without cgroups in samples, only requests that
 * need cgroups are refused.
 */
TEST_WITH(test_hindsight_of_less, sampled_begin, sampled_end)
{
    static const struct {
        size_t in_pages; /* number of ring buffer pages that the kernel permits */
        bool in_before_5_7;
        const char *out; /* part of the reason why hindsight is unavailable; NULL: it is available */
    } cases[] = {{64, false, NULL}, {33, true, NULL}, {1, false, "limit for locked memory"}};
    struct sampled *f = *state;
    struct error error;
    struct reader a;

    real = wrap_calls(&f->sys, (struct sys_calls){.mmap = lock_little, .open_group = open_like_older});
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        locked_max = cases[i].in_pages * (size_t)sysconf(_SC_PAGESIZE);
        is_before_5_7 = cases[i].in_before_5_7;
        enable_hindsight(f, false);
        enable_hindsight(f, true);
        if (cases[i].out) {
            assert_non_null(strstr(sampler_no_hindsight(f->sampler), cases[i].out));
            assert_int_equal(look_back(f, &(struct record_request){.last = 1}, &a, &error), -EOPNOTSUPP);
            assert_non_null(strstr(error.message, cases[i].out));
            continue;
        }
        if (sampler_no_hindsight(f->sampler))
            skip_because("%s", sampler_no_hindsight(f->sampler));
        assert_int_equal(count_perf_fds(), HINDSIGHT_EVENTS * cpuset_count(&f->machine->online));
        int r = look_back(f, &(struct record_request){.last = 1, .cgroup = (char *)"/"}, &a, &error);
        assert_true(r == (is_before_5_7 ? -EOPNOTSUPP : 0) || r == -ENOENT); /* no hierarchy is mounted */
        if (r == 0)
            reader_stop(&a);
    }
    enable_hindsight(f, false);
}

/* If the ring buffers cannot be opened when the CPUs come online again, there is nothing to look back at. */
TEST_WITH(test_hindsight_of_nothing, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct error error;
    struct reader a;

    real = wrap_calls(&f->sys, (struct sys_calls){.mmap = lock_little, .open_group = open_like_older});
    locked_max = SIZE_MAX;
    is_before_5_7 = false;
    enable_hindsight(f, true);
    if (sampler_no_hindsight(f->sampler))
        skip_because("%s", sampler_no_hindsight(f->sampler));
    locked_max = 0;
    sampler_cpus_changed(f->sampler, f->machine, &f->machine->online);
    assert_int_equal(look_back(f, &(struct record_request){.last = 1}, &a, &error), -EBUSY);
    assert_non_null(strstr(error.message, "could not be opened"));
    enable_hindsight(f, false);
}

TEST_MAIN(NULL, NULL)
