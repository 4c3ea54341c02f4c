/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler on this machine's clocks: clients that share a capture, that are refused, and that a reload ends. */
#include "base/cleanup.h"
#include "tests/unit/sampled.h"
#include "tests/unit/test.h"

/* Clients of equal specs share one capture. A client that leaves ends no stream of others. */
static void test_sharing(void **state)
{
    struct sampled *f = *state;
    struct stream_request request = {.seconds = 0.5};
    size_t n = cpuset_count(&f->machine->online);
    struct reader a, b, c, *all[] = {&a, &b};

    sampled_start(f, &request, &a);
    sampled_start(f, &request, &b);
    assert_int_equal(count_perf_fds(), n);
    request.period = 2000000;
    sampled_start(f, &request, &c);
    assert_int_equal(count_perf_fds(), 2 * n);
    reader_stop(&c);
    sampled_run(f, 0.05, NULL, 0);
    assert_int_equal(count_perf_fds(), n);
    sampled_run(f, 10, all, 2);
    assert_non_null(strstr(reader_text_of(&a), "end seconds "));
    assert_true(count_words(a.text.data, "sample ") > 20);
    assert_non_null(strstr(reader_text_of(&b), "end seconds "));
    reader_stop(&a);
    reader_stop(&b);
    sampled_run(f, 0.01, NULL, 0);
    assert_int_equal(count_perf_fds(), 0);
}

static void test_refused(void **state)
{
    struct sampled *f = *state;
    struct error error = {0};
    struct reader a, b, *all[] = {&a};
    struct stream *none;

    f->config.max_clients = 1;
    sampled_start(f, &(struct stream_request){0}, &a);
    assert_int_equal(
        stream_open(f->sampler, &(struct stream_request){0}, &writer_lines, reader_on_ready, &b, &none, &error),
        -EBUSY);
    assert_string_equal(error.message,
                        "1 clients have samples already, as many as sampler.max_clients allows; try again later");
    sampled_run(f, 0.05, NULL, 0);
    reader_drain(&a);
    f->config.enabled = false;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    sampled_run(f, 5, all, 1);
    assert_non_null(strstr(reader_text_of(&a), "end reload "));
    reader_stop(&a);
    assert_int_equal(
        stream_open(f->sampler, &(struct stream_request){0}, &writer_lines, reader_on_ready, &b, &none, &error),
        -EOPNOTSUPP);
    assert_non_null(strstr(error.message, "sampler.enabled"));
    assert_int_equal(sampler_admit(f->sampler, STANDING_OPERATOR, &error), -EOPNOTSUPP);
    f->config.enabled = true;
    assert_int_equal(sampler_admit(f->sampler, STANDING_OPERATOR, &error), 0);
    assert_int_equal(stream_open(f->sampler, &(struct stream_request){.seconds = 61}, &writer_lines, reader_on_ready,
                                 &b, &none, &error),
                     -EINVAL);
    assert_string_equal(error.message, "61 seconds are over the limit of 60, sampler.max_seconds");
    sampled_run(f, 0.01, NULL, 0);
    assert_int_equal(count_perf_fds(), 0);
}

static const struct {
    enum standing in_admits, in_standing;
    int out;
    const char *out_remedy;
} admissions[] = {
    {STANDING_OPERATOR, STANDING_OPERATOR, 0, NULL},
    {STANDING_OPERATOR, STANDING_LOCAL, -EACCES, "\"sampler.allow: local\""},
    {STANDING_OPERATOR, STANDING_LOCAL, -EACCES, "curl --unix-socket"},
    {STANDING_OPERATOR, STANDING_EVERYBODY, -EACCES, "are for operators: clients with a password or certificate"},
    {STANDING_LOCAL, STANDING_OPERATOR, 0, NULL},
    {STANDING_LOCAL, STANDING_LOCAL, 0, NULL},
    {STANDING_LOCAL, STANDING_EVERYBODY, -EACCES, "\"sampler.allow: everybody\""},
    {STANDING_EVERYBODY, STANDING_LOCAL, 0, NULL},
    {STANDING_EVERYBODY, STANDING_EVERYBODY, 0, NULL},
    {STANDING_EVERYBODY, STANDING_PAGE, -EACCES, "samples are for"},
};

static void test_admission(void **state)
{
    struct sampled *f = *state;
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(admissions); i++) {
        sampler_configure(f->sampler, f->machine, &f->config, admissions[i].in_admits);
        assert_int_equal(sampler_admit(f->sampler, admissions[i].in_standing, &error), admissions[i].out);
        if (admissions[i].out < 0 && !strstr(error.message, admissions[i].out_remedy))
            fail_msg("%s", error.message);
    }
}

/* A stream ends if a setting that it depends on changes; a stream that named its own goes on. */
static void test_reload(void **state)
{
    struct sampled *f = *state;
    struct stream_request usual = {.standing = STANDING_LOCAL}, other = {.standing = STANDING_EVERYBODY};
    struct stream_request own = {.standing = STANDING_LOCAL, .event = (char *)"cpu-clock", .period = 2000000};
    struct reader a, b, c, *of_a[] = {&a}, *of_b[] = {&b}, *of_c[] = {&c};

    f->admits = STANDING_EVERYBODY;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    sampled_start(f, &usual, &a);
    sampled_start(f, &own, &b);
    sampled_start(f, &other, &c);
    sampled_run(f, 0.1, NULL, 0);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    f->admits = STANDING_LOCAL;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    sampled_run(f, 5, of_c, 1);
    assert_non_null(strstr(reader_text_of(&c), "end reload "));
    sampled_run(f, 0.1, of_a, 1);
    assert_false(a.ended);
    f->config.period = 3000000;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    sampled_run(f, 5, of_a, 1);
    assert_non_null(strstr(reader_text_of(&a), "end reload "));
    assert_true(count_words(a.text.data, "sample ") > 10);
    f->config.event = (char *)"task-clock";
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    sampled_run(f, 0.1, of_b, 1);
    assert_false(b.ended);
    f->config.ring_pages = 32;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    /* The rings are another's before its last records were taken. */
    sampler_cpus_changed(f->sampler, f->machine, NULL);
    sampled_run(f, 5, of_b, 1);
    assert_non_null(strstr(reader_text_of(&b), "end reload "));
    reader_stop(&a);
    reader_stop(&b);
    reader_stop(&c);
    sampled_run(f, 0.01, NULL, 0);
}

static void count_call(void *userdata)
{
    (*(unsigned *)userdata)++;
}

/* All streams end with what they have, even while /proc is still read. `ended` is called; no client may join. */
static void test_shutdown(void **state)
{
    struct sampled *f = *state;
    struct reader a, b, *all[] = {&a, &b};
    unsigned n_ended = 0;
    struct error error;
    struct stream *none;

    sampled_start(f, &(struct stream_request){0}, &a);
    sampled_run(f, 0.2, NULL, 0);
    sampled_start(f, &(struct stream_request){0}, &b);
    assert_true(sampler_end(f->sampler, count_call, &n_ended));
    sampled_run(f, 5, all, 2);
    assert_non_null(strstr(reader_text_of(&a), "end shutdown "));
    assert_true(count_words(a.text.data, "sample ") > 10);
    assert_true(str_starts(reader_text_of(&b), "begin "));
    assert_non_null(strstr(b.text.data, "end shutdown 0 "));
    assert_int_equal(
        stream_open(f->sampler, &(struct stream_request){0}, &writer_lines, reader_on_ready, &b, &none, &error),
        -EBUSY);
    assert_string_equal(error.message, "perfcountd is ending");
    reader_stop(&a);
    assert_int_equal(n_ended, 0);
    reader_stop(&b);
    assert_int_equal(n_ended, 1);
    sampled_run(f, 0.01, NULL, 0);
    assert_false(sampler_end(f->sampler, count_call, &n_ended));
}

static int (*real_ioctl)(struct sys *sys, int fd, unsigned long request, unsigned long argument);

static int refuse_to_enable(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    return request == PERF_EVENT_IOC_ENABLE ? -ENODEV : real_ioctl(sys, fd, request, argument);
}

/* An event that the kernel does not enable again is an error; a stream that needs it is not opened. */
static void test_resume_fails(void **state)
{
    struct sampled *f = *state;
    struct error error;
    struct stream *none;
    struct reader a, b;

    sampled_start(f, &(struct stream_request){0}, &a);
    assert_int_equal(sampler_pause(f->sampler, true), 0);
    real_ioctl = f->sys.ioctl;
    f->sys.ioctl = refuse_to_enable;
    assert_int_equal(sampler_pause(f->sampler, false), -ENODEV);
    struct stream_request other = {.period = 2000000};
    assert_int_equal(stream_open(f->sampler, &other, &writer_lines, reader_on_ready, &b, &none, &error), -ENODEV);
    assert_true(str_starts(error.message, "sampling cannot start: "));
    reader_stop(&a);
    sampled_run(f, 0.01, NULL, 0);
    assert_int_equal(count_perf_fds(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sharing, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_refused, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_admission, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_reload, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_shutdown, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_resume_fails, sampled_begin, sampled_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
