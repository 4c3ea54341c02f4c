/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols for writers' tests, instead of symbols/symbols.c: one program, one kernel, and names that are hard to write.
 */
#ifndef TESTS_UNIT_FAKE_PROGRAM_H
#define TESTS_UNIT_FAKE_PROGRAM_H

#include "symbols/symbols.h"

#define FAKE_PID 1000
#define FAKE_IP UINT64_C(0x401010)      /* hot of /usr/bin/hot */
#define FAKE_ODD_IP UINT64_C(0x402000)  /* a symbol of /usr/bin/hot that must be escaped */
#define FAKE_BARE_IP UINT64_C(0x403000) /* of /usr/bin/hot, without a symbol */
#define FAKE_KERNEL_IP UINT64_C(0xffffffff81000010)
#define FAKE_LOST_IP UINT64_C(0x7f0000000000) /* of nothing */

extern const struct mapping fake_mapping;

#endif
