/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "sampler/stream-request.h"
#include "tests/unit/test.h"

static void test_good(void **state)
{
    _cleanup_(stream_request_done) struct stream_request request = {0};
    static const char *const in[][2] = {
        {"seconds", "0.5"},  {"event", "{cycles,instructions}:u"},
        {"frequency", "99"}, {"period", "0x10"},
        {"cpu", "0-3,6"},    {"cgroup", "/system.slice"},
        {"pid", "1"},        {"max", "10"},
        {"read", "1"},       {"event", "cycles"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(in); i++)
        assert_int_equal(stream_request_set(&request, in[i][0], in[i][1], NULL), 0);
    assert_true(request.seconds == 0.5);
    assert_string_equal(request.event, "cycles"); /* the last one holds */
    assert_int_equal(request.frequency, 99);
    assert_int_equal(request.period, 16);
    assert_string_equal(request.cpus, "0-3,6");
    assert_string_equal(request.cgroup, "/system.slice");
    assert_int_equal(request.pid, 1);
    assert_int_equal(request.max, 10);
    assert_true(request.read);
}

static void test_bad(void **state)
{
    static const struct {
        const char *in_name, *in_value, *out_message;
    } cases[] = {
        {"seconds", "", "parameter \"seconds\": expected a number of at least 0.001, found \"\""},
        {"seconds", "0", "parameter \"seconds\": expected a number of at least 0.001, found \"0\""},
        {"seconds", "-1", "parameter \"seconds\": expected a number of at least 0.001, found \"-1\""},
        {"seconds", "nan", "parameter \"seconds\": expected a number of at least 0.001, found \"nan\""},
        {"seconds", "inf", "parameter \"seconds\": expected a number of at least 0.001, found \"inf\""},
        {"seconds", "1s", "parameter \"seconds\": expected a number of at least 0.001, found \"1s\""},
        {"event", "", "parameter \"event\": the text is empty"},
        {"frequency", "0",
         "parameter \"frequency\": expected a whole number from 1 to 9223372036854775807, found \"0\""},
        {"frequency", "9223372036854775808",
         "parameter \"frequency\": expected a whole number from 1 to 9223372036854775807, found "
         "\"9223372036854775808\""},
        {"period", "1.5", "parameter \"period\": expected a whole number from 1 to 9223372036854775807, found \"1.5\""},
        {"cpu", "", "parameter \"cpu\": the text is empty"},
        {"cgroup", "", "parameter \"cgroup\": the text is empty"},
        {"pid", "-1", "parameter \"pid\": expected a whole number from 1 to 4194304, found \"-1\""},
        {"pid", "4194305", "parameter \"pid\": expected a whole number from 1 to 4194304, found \"4194305\""},
        {"max", "0", "parameter \"max\": expected a whole number from 1 to 9223372036854775807, found \"0\""},
        {"read", "yes", "parameter \"read\": expected 0 or 1, found \"yes\""},
        {"reed", "1", "unknown parameter \"reed\""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(stream_request_done) struct stream_request request = {0};
        struct error error = {0};
        assert_int_equal(stream_request_set(&request, cases[i].in_name, cases[i].in_value, &error), -EINVAL);
        assert_string_equal(error.message, cases[i].out_message);
    }
}

/* Each that a route takes is one that can be set. */
static void test_lists(void **state)
{
    const char *const *const lists[] = {stream_record_parameters, stream_profile_parameters};

    (void)state;
    for (size_t l = 0; l < ARRAY_SIZE(lists); l++)
        for (size_t i = 0; lists[l][i]; i++) {
            struct stream_request request = {0};
            struct error error = {0};
            stream_request_set(&request, lists[l][i], "", &error);
            assert_null(strstr(error.message, "unknown"));
            stream_request_done(&request);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
