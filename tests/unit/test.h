/* SPDX-License-Identifier: Apache-2.0 */
/* Every unit test includes this: cmocka(3), behind the headers that its own header needs. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
