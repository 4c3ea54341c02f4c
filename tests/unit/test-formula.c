/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "metrics/formula.h"
#include "tests/unit/test.h"

/* The operands are 1, 2, 3, ... in the order of their names. */
static const struct {
    const char *in;
    size_t out_names;
    double out;
} good[] = {
    {"1", 0, 1},
    {" 1000 * a / b ", 2, 500},
    {"a/b/c", 3, 1.0 / 2 / 3},
    {"a + b * c", 3, 7},
    {"(a + b) * c", 3, 9},
    {"(1 - a / b) * (1 - b / (2.5 * c_1))", 3, 0.5 * (1 - 2 / 7.5)},
    {"a / (b - b)", 2, NAN},
};

TEST(test_good)
{
    const double operands[] = {1, 2, 3};
    struct formula formula;
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        print_message("%s\n", good[i].in);
        assert_int_equal(formula_parse(good[i].in, &formula, &error), 0);
        assert_int_equal(formula.n_names, good[i].out_names);
        double value = formula_value(formula.steps, formula.n_steps, operands);
        assert_int_equal(isnan(value), isnan(good[i].out));
        assert_true(isnan(value) || fabs(value - good[i].out) < 1e-12);
    }
}

static const struct {
    const char *in;
    size_t out_offset;
    const char *out;
} bad[] = {
    {"", 0, "expected a number, a name or \"(\""},
    {"a /", 3, "expected a number, a name or \"(\""},
    {"a b", 2, "expected an operator"},
    {"(a", 2, "expected \")\""},
    {"1.2.3 * a", 0, "this is not a number"},
    {"11111111111111111111111111111111", 0, "the number is too long"},
    {"a * B", 4, "expected a number, a name or \"(\""},
    {"(((((((((a)))))))))", 8, "the parentheses are nested too deeply"},
    {"a234567890123456789012345678901234567890123456789", 0, "the name is too long"},
    {"a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q", 32, "the formula has too many names"},
    {"1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1", 65, "the formula is too long"},
};

TEST(test_bad)
{
    struct formula formula = {.n_steps = 7};
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        print_message("%s\n", bad[i].in);
        assert_int_equal(formula_parse(bad[i].in, &formula, &error), -EINVAL);
        assert_string_equal(error.message, bad[i].out);
        assert_int_equal(error.offset, bad[i].out_offset);
        assert_int_equal(formula.n_steps, 7);
    }
}

TEST(test_first_name)
{
    static const char *const texts[][2] = {
        {"1000 * a_1 / b", "a_1"},
        {"1 + 2", ""},
        {"a234567890123456789012345678901234567890123456789", "a2345678901234567890123456789012345678901234567"},
    };
    char name[FORMULA_NAME_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        formula_first_name(texts[i][0], name);
        assert_string_equal(name, texts[i][1]);
    }
}

TEST(test_unknown_operand)
{
    const double operands[] = {NAN, 2};
    struct formula formula;

    assert_int_equal(formula_parse("a * 0 + b", &formula, NULL), 0);
    assert_true(isnan(formula_value(formula.steps, formula.n_steps, operands)));
}

TEST_MAIN(NULL, NULL)
