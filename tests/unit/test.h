/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test includes: cmocka(3) and the headers that it expects before its own. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

/* clang-format off: the order matters */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
