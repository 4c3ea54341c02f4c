/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of descriptor has a row for each operation, with the reason why the operation is harmless. */
#include <string.h>

#include "tests/impostor/descriptor-powers.h"
#include "tests/unit/test.h"

static void check_row(const struct descriptor_power *power)
{
    assert_non_null(power);
    assert_in_range(power->n_errors, 1, DESCRIPTOR_ERRORS_MAX);
    assert_in_range(strlen(power->harmless), 10, 400);
    assert_non_null(strstr(power->source, ".c"));
}

TEST(test_complete)
{
    for (enum descriptor_kind kind = 0; kind < N_DESCRIPTOR_KINDS; kind++)
        for (enum descriptor_operation operation = 0; operation < N_DESCRIPTOR_OPERATIONS; operation++) {
            check_row(descriptor_power_find(kind, operation));
            assert_non_null(descriptor_kind_name(kind));
            assert_non_null(descriptor_operation_name(operation));
        }
    assert_null(descriptor_power_find(DESCRIPTOR_COUNTER, N_DESCRIPTOR_OPERATIONS));
}

TEST_MAIN(NULL, NULL)
