/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of cgroups: that each is UTF-8, and that no two paths need have the same. */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "collectors/cgroup/label.h"
#include "tests/unit/test.h"

#define FFFD "\xef\xbf\xbd"

static const struct {
    const char *in, *out_plain, *out_distinct;
    bool out_ambiguous;
} cases[] = {
    {"/", "/", "/", false},
    {"/system.slice/a b\"\\\n.service", "/system.slice/a b\"\\\n.service", "/system.slice/a b\"\\\n.service", false},
    {"/caf\xc3\xa9#e9", "/caf\xc3\xa9#e9", "/caf\xc3\xa9#e9", false},
    {"/caf\xe9", "/caf" FFFD, "/caf" FFFD "#e9", true},
    {"/\xff/\xfe", "/" FFFD "/" FFFD, "/" FFFD "/" FFFD "#fffe", true},
    {"/\xc3(", "/" FFFD "(", "/" FFFD "(#c3", true},
    {"/" FFFD, "/" FFFD, "/" FFFD "#--", true},
    {"/" FFFD "#ff", "/" FFFD "#ff", "/" FFFD "#ff#--", true},
    /* The bytes of U+FFFD, apart: as many marks, in another order. */
    {FFFD "a\xef"
          "a\xbf"
          "a\xbd",
     FFFD "a" FFFD "a" FFFD "a" FFFD, FFFD "a" FFFD "a" FFFD "a" FFFD "#--efbfbd", true},
    {"\xef"
     "a\xbf"
     "a\xbd"
     "a" FFFD,
     FFFD "a" FFFD "a" FFFD "a" FFFD, FFFD "a" FFFD "a" FFFD "a" FFFD "#efbfbd--", true},
};

static void test_labels(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *plain = NULL, *distinct = NULL;
        assert_int_equal(cgroup_label(cases[i].in, CGROUP_LABEL_PLAIN, &plain), 0);
        assert_int_equal(cgroup_label(cases[i].in, CGROUP_LABEL_DISTINCT, &distinct), 0);
        assert_string_equal(plain, cases[i].out_plain);
        assert_string_equal(distinct, cases[i].out_distinct);
        assert_int_equal(cgroup_label_is_ambiguous(plain), cases[i].out_ambiguous);
    }
}

/* All paths of up to four of these pieces: what the tail is made of, what it replaces, and bytes that are no UTF-8. */
static const char *const pieces[] = {"", "\xff", "\xef", "\xbf", "\xbd", FFFD, "#", "-", "f"};

#define N_PATHS (9 * 9 * 9 * 9)

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t unique(char **texts, size_t n)
{
    size_t distinct = 0;

    qsort(texts, n, sizeof(*texts), compare);
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || !str_equal(texts[i - 1], texts[i]);
    return distinct;
}

static void test_no_two_paths_are_one(void **state)
{
    char **paths = calloc(N_PATHS, sizeof(*paths)), **labels = calloc(N_PATHS, sizeof(*labels));

    (void)state;
    for (size_t i = 0; i < N_PATHS; i++) {
        char path[16] = "";
        for (size_t k = 0, rest = i; k < 4; k++, rest /= ARRAY_SIZE(pieces))
            strcat(path, pieces[rest % ARRAY_SIZE(pieces)]);
        paths[i] = strdup(path);
        assert_int_equal(cgroup_label(path, CGROUP_LABEL_DISTINCT, &labels[i]), 0);
        assert_int_equal(utf8_valid_prefix(labels[i], strlen(labels[i])), strlen(labels[i]));
    }
    assert_int_equal(unique(labels, N_PATHS), unique(paths, N_PATHS));
    for (size_t i = 0; i < N_PATHS; i++) {
        free(paths[i]);
        free(labels[i]);
    }
    free(paths);
    free(labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_no_two_paths_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
