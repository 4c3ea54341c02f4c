/* SPDX-License-Identifier: Apache-2.0 */
/* Every unit test includes this header for cmocka(3), after the headers that cmocka's own header needs. */
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

/* cmocka passes a state to every test, and most tests do not use it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/*
 * Reports what this machine lacks for the test, in at most ten words given as printf(3) arguments; tests/run.py lists
 * them. skip_because() also ends the test, and may be called from a function of the test.
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
#undef skip /* cmocka's own skip() gives no reason */

/*
 * Waits up to a minute until `condition` is true. The other arguments are a printf(3) format that describes what is
 * awaited.
 */
#define eventually(condition, ...)                                                                                     \
    do {                                                                                                               \
        for (int milliseconds = 0; !(condition); milliseconds++) {                                                     \
            if (milliseconds == 60000)                                                                                 \
                fail_msg("waited in vain for " __VA_ARGS__);                                                           \
            usleep(1000);                                                                                              \
        }                                                                                                              \
    } while (0)

/*
 * TEST(test_name) { ... } defines a test of this program. TEST_WITH() adds a function that sets up `*state` and one
 * that tears it down; TEST_FROM() also takes the value of `*state` before the setup. TEST_MAIN() defines main(), which
 * runs the tests in the order of the file; its arguments set up and tear down all of them together, and may be NULL.
 */
#if __has_attribute(no_reorder) /* clang keeps the order without an attribute */
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
 * Returns whether this program runs under qemu-user, on a kernel of another architecture. qemu passes most files of
 * /proc through unchanged (exceptions are open_self_maps() and others in linux-user/syscall.c, 7.2), so /proc/self/comm
 * has the name of qemu. Tests call this function only if no system call reveals the property that they need.
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
