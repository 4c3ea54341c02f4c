/* SPDX-License-Identifier: Apache-2.0 */
/* Every unit test includes this: cmocka(3), behind the headers that its own header needs. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/*
 * A test says by this, with the arguments of printf(3), which part of it cannot run here and why: tests/run-all.sh
 * counts it with that reason. skip_because() also ends the test, from itself or from a function that it calls.
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

#endif
