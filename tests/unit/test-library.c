/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libraries with dlopen(): one that exists, one that is missing, and one that lacks a function. libm is the
 * example.
 */
#include "base/library.h"
#include "tests/unit/test.h"

struct math {
    double (*floor)(double x);
    double (*ceil)(double x);
};

static const struct library_function functions[] = {
    {"floor", offsetof(struct math, floor)},
    {"ceil", offsetof(struct math, ceil)},
};

static const struct library_function renamed[] = {
    {"floor", offsetof(struct math, floor)},
    {"floor_of_another_version", offsetof(struct math, ceil)},
};

static const struct {
    struct library in;
    int out;
    const char *out_message, *out_end;
} cases[] = {
    {{"libm", "libc6", {"libm.so.6"}, functions, 2}, 0, "", ""},
    {{"libm", "libc6", {"libm-that-is-not-there.so", "libm.so.6"}, functions, 2}, 0, "", ""},
    {{"libm, which rounds,", "libc6", {"libm-that-is-not-there.so"}, functions, 2},
     -ENOSYS,
     "libm, which rounds, cannot be loaded (libm-that-is-not-there.so: ",
     "); install the package libc6"},
    {{"libm", "libc6", {"libm.so.6"}, renamed, 2},
     -ENOSYS,
     "libm has an unsupported version",
     ": it has no function floor_of_another_version()"},
};

TEST(test_load)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct math math = {0};
        struct error error = {0};
        int r = library_load(&cases[i].in, &math, &error);
        size_t end = strlen(cases[i].out_end), size = strlen(error.message);
        if (r != cases[i].out || !str_starts(error.message, cases[i].out_message) || size < end ||
            !str_equal(error.message + size - end, cases[i].out_end))
            fail_msg("case %zu: %d: %s", i, r, error.message);
        assert_int_equal(library_load(&cases[i].in, &math, NULL), r);
        assert_int_equal(!math.floor, r < 0);
        assert_int_equal(!math.ceil, r < 0);
        if (r == 0)
            assert_true(math.floor(1.5) == 1 && math.ceil(1.5) == 2);
    }
}

TEST_MAIN(NULL, NULL)
