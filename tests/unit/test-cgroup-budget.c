/* SPDX-License-Identifier: Apache-2.0 */
/* How many cgroups there is room for, by descriptors, memory and the configured maximum. */
#include "collectors/cgroup/budget.h"
#include "tests/unit/test.h"

/* The limit that leaves room for the fewest. */
static void test_room(void **state)
{
    static const struct {
        struct cgroup_rules in;
        uint64_t out;
        bool out_wants_memory;
    } rooms[] = {
        {{.max_cgroups = 9}, 9, false},
        {{.max_cgroups = 9, .memory_budget = UINT64_MAX, .memory_per_cgroup = 2000}, 9, false},
        {{.max_cgroups = 9, .memory_budget = 5999, .memory_per_cgroup = 2000}, 2, true},
        {{.max_cgroups = 3, .memory_budget = 6000, .memory_per_cgroup = 2000}, 3, false},
        {{.max_cgroups = 9, .memory_budget = 0, .memory_per_cgroup = 2000}, 0, true},
        {{.max_cgroups = 9,
          .descriptor_budget = 8,
          .descriptors_per_cgroup = 4,
          .memory_budget = 6000,
          .memory_per_cgroup = 2000},
         2,
         false},
        {{.max_cgroups = 9,
          .descriptor_budget = 16,
          .descriptors_per_cgroup = 4,
          .memory_budget = 6000,
          .memory_per_cgroup = 2000},
         3,
         true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
        assert_int_equal(cgroup_rules_room(&rooms[i].in), rooms[i].out);
        assert_int_equal(cgroup_rules_want_memory(&rooms[i].in), rooms[i].out_wants_memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_room)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
