/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of log entry has a name and an id of its own, and the manual and the journal's catalog have both. */
#include <stdio.h>

#include "base/cleanup.h"
#include "daemon/log/kind.h"
#include "tests/unit/fixture.h"
#include "tests/unit/test.h"

static void test_unique(void **state)
{
    (void)state;
    for (int i = 0; i < N_LOG_KINDS; i++) {
        const struct log_kind_facts *facts = log_kind_facts((enum log_kind)i);
        assert_non_null(facts->name);
        assert_int_equal(strlen(facts->message_id), 32);
        assert_int_equal(strspn(facts->message_id, "0123456789abcdef"), 32);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(facts->name, log_kind_facts((enum log_kind)k)->name);
            assert_string_not_equal(facts->message_id, log_kind_facts((enum log_kind)k)->message_id);
        }
    }
}

static size_t occurrences(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

static void test_documented(void **state)
{
    (void)state;
    _cleanup_(freep) char *manual = fixture_read("doc/perfcountd.8"),
                          *catalog = fixture_read("systemd/perfcountd.catalog");

    for (int i = 0; i < N_LOG_KINDS; i++) {
        const struct log_kind_facts *facts = log_kind_facts((enum log_kind)i);
        char entry[128], heading[64];
        snprintf(entry, sizeof(entry), "\n.It Ql %s\n.Ql %s ,\n", facts->name, facts->message_id);
        snprintf(heading, sizeof(heading), "\n-- %s\nSubject: ", facts->message_id);
        if (!strstr(manual, entry))
            fail_msg("doc/perfcountd.8 has no \"%s\"", entry + 1);
        if (!strstr(catalog, heading))
            fail_msg("systemd/perfcountd.catalog has no \"%s\" (%s)", heading + 1, facts->name);
    }
    assert_int_equal(occurrences(catalog, "\n-- "), N_LOG_KINDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unique),
        cmocka_unit_test(test_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
