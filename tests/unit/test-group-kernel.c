/* SPDX-License-Identifier: Apache-2.0 */
/* A group of events of two PMUs, on the running kernel. */
#include <sys/mman.h>

#include "perf/group.h"
#include "tests/unit/test.h"

#define PAGES 64
#define PAGE_SIZE 4096

static const struct attr attrs[] = {
    {.kernel = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1}, .scale = 1.0},
    {.kernel = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1}, .scale = 1.0},
};

/* PAGES faults. */
static void touch_pages(void)
{
    char *pages = mmap(NULL, PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(pages != MAP_FAILED);
    madvise(pages, PAGES * PAGE_SIZE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)pages)[i * PAGE_SIZE] = 1;
    munmap(pages, PAGES * PAGE_SIZE);
}

static struct group_reading read_after_faults(const struct group *group)
{
    struct group_reading reading;

    touch_pages();
    assert_int_equal(group_read(group, &reading), 0);
    return reading;
}

/* After a pause, members count that belong to another PMU than their leader. */
static void test_pause(void **state)
{
    struct group_target self = {.pid = 0, .cpu = -1};
    struct group *group = NULL;
    struct sys sys;
    int errors[2];

    (void)state;
    sys_init(&sys);
    assert_int_equal(group_open_many(&sys, attrs, 2, true, &self, errors, &group), 0);
    if (!group)
        skip_because("perf_event_open: %s", strerror(-errors[0]));
    assert_int_equal(group_enable(group), 0);
    struct group_reading first = read_after_faults(group);
    assert_true(first.values[1] >= PAGES);
    assert_int_equal(group_disable(group), 0);
    struct group_reading paused = read_after_faults(group), still = read_after_faults(group);
    assert_int_equal(still.enabled, paused.enabled);
    assert_int_equal(still.values[0], paused.values[0]);
    assert_int_equal(still.values[1], paused.values[1]);
    assert_int_equal(group_enable(group), 0);
    struct group_reading resumed = read_after_faults(group);
    assert_true(resumed.values[0] > still.values[0]);
    assert_true(resumed.values[1] >= still.values[1] + PAGES);
    assert_true(resumed.enabled > still.enabled);
    group_free(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pause)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
