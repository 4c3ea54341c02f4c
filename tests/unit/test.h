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
