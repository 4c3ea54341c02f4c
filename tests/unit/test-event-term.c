/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of events in the format of sysfs: numbers, flags, "?", and the errors for malformed ones. */
#include "base/cleanup.h"
#include "perf/event-term.h"
#include "tests/unit/test.h"

TEST(test_terms)
{
    static const struct {
        const char *in;
        size_t out_n;
        struct {
            const char *name, *text;
            uint64_t value;
            bool numeric;
            size_t offset;
        } out[3];
    } cases[] = {
        {"event=0x3c", 1, {{"event", "0x3c", 0x3c, true, 0}}},
        {"event=0x0011,umask=17", 2, {{"event", "0x0011", 17, true, 0}, {"umask", "17", 17, true, 13}}},
        {"event=1,edge,inv=0", 3, {{"event", "1", 1, true, 0}, {"edge", NULL, 1, false, 8}, {"inv", "0", 0, true, 13}}},
        {"chip=?,domain=2", 2, {{"chip", "?", 0, false, 0}, {"domain", "2", 2, true, 7}}},
        {" event = 1", 0, {{0}}},
        {"a\n", 1, {{"a", NULL, 1, false, 0}}},
        {" a , b ", 2, {{"a", NULL, 1, false, 1}, {"b", NULL, 1, false, 5}}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_terms_done) struct event_terms terms = {0};
        int r = event_terms_parse_text(cases[i].in, &terms, NULL);
        assert_int_equal(r, cases[i].out_n ? 0 : -EINVAL);
        assert_int_equal(terms.n, cases[i].out_n);
        for (size_t k = 0; k < terms.n; k++) {
            const struct event_term *term = &terms.terms[k];
            assert_string_equal(term->name, cases[i].out[k].name);
            assert_int_equal(term->text != NULL, cases[i].out[k].text != NULL);
            if (term->text)
                assert_string_equal(term->text, cases[i].out[k].text);
            assert_int_equal(term->numeric, cases[i].out[k].numeric);
            if (term->numeric || !term->text)
                assert_int_equal(term->value, cases[i].out[k].value);
            assert_int_equal(term->offset, cases[i].out[k].offset);
        }
    }
}

TEST(test_errors)
{
    static const struct {
        const char *in;
        size_t out_offset;
    } cases[] = {
        {"", 0},          {",", 0},    {"a,", 2},  {"a=", 2},
        {"=1", 0},        {"a=1/", 3}, {"a b", 2}, {"a=0x10000000000000000", 2},
        {"a=1\n\xff", 4},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct event_terms untouched = {.n = 77};
        struct error error = {0};
        int r = event_terms_parse_text(cases[i].in, &untouched, &error);
        assert_int_equal(r, -EINVAL);
        assert_int_equal(error.offset, cases[i].out_offset);
        assert_int_equal(untouched.n, 77);
    }
}

TEST_MAIN(NULL, NULL)
