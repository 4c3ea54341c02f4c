/* SPDX-License-Identifier: Apache-2.0 */
/* The rows and counts of cgroups that a tally counts, where memory is short. */
#include "tests/unit/tallied-rig.h"
#include "tests/unit/test.h"

#define ONE(counts) (&(counts)), 1

static size_t fail_in; /* 0: never; 1: the next allocation fails */

static bool fails(void)
{
    return fail_in > 0 && --fail_in == 0;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return fails() ? NULL : __real_reallocarray(old, n, size);
}

enum step { PLAN, OPEN, RESUME };

/* Does it until no allocation fails any more. */
static void do_without_memory(struct tallied_rig *rig, enum step step, struct tallied_counts **counts)
{
    const struct collector_context *context = &rig->tally.rig.context;
    int r = -ENOMEM;

    for (size_t i = 1; r < 0; i++) {
        fail_in = i;
        switch (step) {
        case PLAN:
            r = tally_rows_resume(&rig->rows, context, &rig->tally.groups);
            break;
        case OPEN:
            r = tallied_counts_new(rig->rows, context, "/b", NULL, counts);
            break;
        case RESUME:
            r = tallied_counts_resume(*counts, rig->rows, context, "/a", NULL);
            break;
        }
        fail_in = 0;
        assert_true(r == 0 || (r == -ENOMEM && i < 100));
        assert_true(r < 0 || i > 3);
        if (r == 0 || step == OPEN)
            continue;
        tallied_counts_update(*counts);
        if (step == RESUME)
            tallied_rig_credit(rig, counts, 1, 0, "core", (struct scale_times){10, 10}, 2);
    }
}

/* Each allocation fails once: nothing is lost but what could not be made, and the next try goes on. */
static void test_without_memory(void **state)
{
    struct tallied_rig rig;

    (void)state;
    tallied_rig_init(&rig, fake_machine_one_pmu(), TALLIED("[{name: core, events: cycles}]"));
    struct tallied_counts *a = tallied_rig_open(&rig, "/a"), *b = NULL;
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){10, 10}, 2);
    lending_rig_configure(&rig.tally, TALLIED("[{name: s, events: '{cs,power/energy-pkg/}'}, {name: core, events: "
                                              "cycles}]"));
    do_without_memory(&rig, PLAN, &a);
    do_without_memory(&rig, OPEN, &b);
    do_without_memory(&rig, RESUME, &a);
    tallied_rig_credit(&rig, ONE(a), 0, "s", (struct scale_times){10, 10}, 2);
    fail_in = 1;
    tallied_rig_credit(&rig, ONE(a), 1, "core", (struct scale_times){10, 0}, 0);
    fail_in = 0;
    tallied_counts_update(a);
    assert_int_equal(tallied_value(&rig, "/a", "context_switches", "software", "s"), 2);
    assert_int_equal(rig.tally.rig.snapshot.n_rows, 2 * 3);
    tallied_rig_close(&rig, a);
    tallied_rig_close(&rig, b);
    tallied_rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
