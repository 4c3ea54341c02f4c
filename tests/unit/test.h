/* SPDX-License-Identifier: Apache-2.0 */
/* Every unit test includes this: cmocka(3), behind the headers that its own header needs. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Most tests have no use for the state that cmocka passes to all of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/*
 * A test says by this, with the arguments of printf(3), what it would need that is not here, in at most
 * ten words: tests/run.py lists them. skip_because() also ends the test, from itself or from a function that it calls.
 */
#define leave_out(...)                                                                                                 \
    do {                                                                                                               \
        print_message("SKIP: %s: ", __func__);                                                                         \
        print_message(__VA_ARGS__);                                                                                    \
        print_message("\n");                                                                                           \
    } while (0)
#define skip_because(...)                                                                                              \
    do {                                                                                                               \
        leave_out(__VA_ARGS__);                                                                                        \
        _skip(__FILE__, __LINE__);                                                                                     \
    } while (0)
#undef skip /* gives no reason */

/* Waits up to a minute until `condition` is true; the other arguments say what is waited for, as those of printf(3). */
#define eventually(condition, ...)                                                                                     \
    do {                                                                                                               \
        for (int milliseconds = 0; !(condition); milliseconds++) {                                                     \
            if (milliseconds == 60000)                                                                                 \
                fail_msg("waited in vain for " __VA_ARGS__);                                                           \
            usleep(1000);                                                                                              \
        }                                                                                                              \
    } while (0)

/*
 * TEST(test_name) { ... } is a test of this program, and TEST_WITH() one with a function that sets `*state` up and one
 * that tears it down; TEST_FROM() also has what `*state` is before the setup. They run in the order of the file, by the
 * main() that TEST_MAIN() is; its functions, which may be NULL, are for all of them together.
 */
#if __has_attribute(no_reorder) /* clang needs none */
#define IN_ORDER __attribute__((no_reorder))
#else
#define IN_ORDER
#endif
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, setup, teardown) TEST_FROM(name, setup, teardown, NULL)
#define TEST_FROM(name, setup, teardown, initial)                                                                      \
    static void name(void **state);                                                                                    \
    static const struct CMUnitTest name##_test =                                                                       \
        cmocka_unit_test_prestate_setup_teardown(name, setup, teardown, initial);                                      \
    IN_ORDER __attribute__((used, section("unit_tests"))) static const struct CMUnitTest *const name##_entry =         \
        &name##_test;                                                                                                  \
    static void name(__attribute__((unused)) void **state)
#define TEST_MAIN(setup, teardown)                                                                                     \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        return run_all_tests("tests", setup, teardown);                                                                \
    }

/* Returns how many of this program's tests failed. */
static inline int run_all_tests(const char *name, CMFixtureFunction setup, CMFixtureFunction teardown)
{
    extern const struct CMUnitTest *const __start_unit_tests[], *const __stop_unit_tests[];
    struct CMUnitTest tests[64] = {0};
    size_t n = (size_t)(__stop_unit_tests - __start_unit_tests);

    assert_in_range(n, 1, 64);
    for (size_t i = 0; i < n; i++)
        tests[i] = *__start_unit_tests[i];
    return _cmocka_run_group_tests(name, tests, n, setup, teardown);
}

/*
 * Whether qemu-user runs this program on another architecture's kernel: it passes files of /proc to the program as the
 * kernel has them, but for a few (open_self_maps() and others in linux-user/syscall.c, 7.2), and comm is none of those.
 * Only for what cannot be asked of the system.
 */
static inline bool runs_emulated(void)
{
    FILE *file = fopen("/proc/self/comm", "re");
    char comm[16] = "";
    bool emulated = file && fgets(comm, sizeof(comm), file) && strncmp(comm, "qemu-", 5) == 0;

    if (file)
        fclose(file);
    return emulated;
}

#endif
