/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of names, and patterns of names. */
#include "config/name-kind.h"
#include "tests/unit/test.h"

static void test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_NAME_KEYS; i++) {
        enum name_kind kind = N_NAME_KINDS;
        char pattern[64];
        const char *glob = NULL;
        snprintf(pattern, sizeof(pattern), "%s=x", name_kind_text((enum name_kind)i));
        assert_int_equal(name_kind_parse(pattern, &kind, &glob), 0);
        assert_int_equal(kind, i);
        assert_string_equal(glob, "x");
    }
}

static const struct {
    const char *in;
    enum name_kind out;
    const char *out_glob; /* NULL: it is none */
} patterns[] = {
    {"container=grafana-*", NAME_CONTAINER, "grafana-*"},
    {"container_id=0*", NAME_CONTAINER_ID, "0*"},
    {"unit=a=b.service", NAME_UNIT, "a=b.service"},
    {"image=docker.io/**", NAME_IMAGE, "docker.io/**"},
    {"pod=", NAME_POD, ""},
    {"description=x", 0, NULL},
    {"container", 0, NULL},
    {"Container=x", 0, NULL},
    {" container=x", 0, NULL},
    {"/container=x", 0, NULL},
    {"=x", 0, NULL},
    {"", 0, NULL},
};

static void test_patterns(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        enum name_kind kind = N_NAME_KINDS;
        const char *glob = NULL;
        int r = name_kind_parse(patterns[i].in, &kind, &glob);
        print_message("%s\n", patterns[i].in);
        assert_int_equal(r, patterns[i].out_glob ? 0 : -ENOENT);
        if (r == 0) {
            assert_int_equal(kind, patterns[i].out);
            assert_string_equal(glob, patterns[i].out_glob);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_patterns)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
