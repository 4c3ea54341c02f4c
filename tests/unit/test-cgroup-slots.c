/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of a tally: who has them, and when they are free again. */
#include "collectors/cgroup/counts.h"
#include "collectors/cgroup/tally/slots.h"
#include "tests/unit/test.h"

static void test_number(void **state)
{
    static const struct {
        uint64_t in_n, in_max;
        uint32_t out;
    } cases[] = {
        {0, 4096, 256},     {128, 4096, 256},     {129, 4096, 512}, {1000, 4096, 2048}, {2049, 4096, 4098},
        {4096, 4096, 4098}, {4096, 100000, 8192}, {10, 5, 256},     {300, 300, 302},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(slots_for(cases[i].in_n, cases[i].in_max), cases[i].out);
}

static bool runs_nowhere(const void *userdata, uint32_t slot)
{
    return slot != *(const uint32_t *)userdata;
}

static void test_reuse(void **state)
{
    struct cgroup_counts counts[4] = {0};
    struct slots slots = {0};
    uint32_t running = 2;

    (void)state;
    assert_int_equal(slots_reserve(&slots, 4), 0);
    assert_int_equal(slots_take(&slots, &counts[0]), TALLY_SLOT_NONE);
    slots_use(&slots, 4);
    assert_int_equal(slots_take(&slots, &counts[0]), 2);
    assert_int_equal(slots_take(&slots, &counts[1]), 3);
    assert_int_equal(slots_take(&slots, &counts[2]), TALLY_SLOT_NONE);
    slots_end(&slots, 2, NULL);
    slots_sweep(&slots, runs_nowhere, &running); /* no CPU has looked since */
    assert_int_equal(slots_take(&slots, &counts[2]), TALLY_SLOT_NONE);
    slots_settle(&slots);
    slots_sweep(&slots, runs_nowhere, &running);
    assert_int_equal(slots_take(&slots, &counts[2]), TALLY_SLOT_NONE);
    running = TALLY_SLOT_NONE;
    slots_sweep(&slots, runs_nowhere, &running);
    assert_int_equal(slots.n_given_up, 0);
    assert_int_equal(slots_take(&slots, &counts[2]), 2);
    assert_int_equal(slots_reserve(&slots, 8), 0);
    slots_use(&slots, 8);
    assert_int_equal(slots_take(&slots, &counts[3]), 4);
    assert_ptr_equal(slots.items[2].counts, &counts[2]);
    assert_int_equal(slots.n_used, 3);
    slots_done(&slots);
}

/* The heir gets what is still to come, and then his own heir. */
static void test_heirs(void **state)
{
    struct cgroup_counts top = {0}, middle = {0}, leaf = {0};
    struct slots slots = {0};

    (void)state;
    assert_int_equal(slots_reserve(&slots, 8), 0);
    slots_use(&slots, 8);
    assert_int_equal(slots_take(&slots, &top), 2);
    assert_int_equal(slots_take(&slots, &middle), 3);
    assert_int_equal(slots_take(&slots, &leaf), 4);
    slots_end(&slots, 4, &middle);
    assert_ptr_equal(slots.items[4].counts, &middle);
    slots_end(&slots, 3, &top);
    assert_ptr_equal(slots.items[4].counts, &top);
    assert_ptr_equal(slots.items[3].counts, &top);
    slots_forget(&slots, &top);
    assert_null(slots.items[4].counts);
    assert_ptr_equal(slots.items[2].counts, &top);
    slots.items[4].run = 2;
    slots_free_others(&slots, 2);
    assert_int_equal(slots.items[3].state, SLOT_FREE);
    assert_int_equal(slots.items[4].state, SLOT_GIVEN_UP);
    assert_int_equal(slots.items[2].state, SLOT_USED);
    slots_done(&slots);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_heirs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
