/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of descriptor has a row for each operation, which says why it is harmless. */
#include <errno.h>
#include <string.h>

#include "opener/descriptor-powers.h"
#include "tests/unit/test.h"

static void check_row(const struct descriptor_power *power)
{
    assert_non_null(power);
    assert_in_range(power->n_errors, 1, DESCRIPTOR_ERRORS_MAX);
    assert_in_range(strlen(power->harmless), 10, 400);
    assert_non_null(strstr(power->source, ".c"));
}

static void test_complete(void **state)
{
    (void)state;
    for (int kind = 0; kind < N_DESCRIPTOR_KINDS; kind++)
        for (int operation = 0; operation < N_DESCRIPTOR_OPERATIONS; operation++) {
            check_row(descriptor_power_find((enum descriptor_kind)kind, (enum descriptor_operation)operation));
            assert_non_null(descriptor_kind_name((enum descriptor_kind)kind));
            assert_non_null(descriptor_operation_name((enum descriptor_operation)operation));
        }
    assert_null(descriptor_power_find(DESCRIPTOR_COUNTER, N_DESCRIPTOR_OPERATIONS));
}

/* Nobody else can set a filter of a descriptor that the opener hands out. */
static void test_filters(void **state)
{
    (void)state;
    for (int kind = 0; kind < N_DESCRIPTOR_KINDS; kind++)
        for (int operation = OPERATION_SET_FILTER; operation <= OPERATION_SET_ADDRESS_FILTER; operation++) {
            const struct descriptor_power *power =
                descriptor_power_find((enum descriptor_kind)kind, (enum descriptor_operation)operation);
            assert_int_equal(power->n_errors, 1);
            assert_int_equal(power->errors[0] == ENOTTY, kind == DESCRIPTOR_TALLY);
            assert_true(power->errors[0] == EEXIST || power->errors[0] == EINVAL || power->errors[0] == ENOTTY);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_filters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
