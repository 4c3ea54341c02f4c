/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces symbols/symbols.c in tests of writers: one program, one kernel, and names that need escaping. */
#ifndef TESTS_UNIT_FAKE_PROGRAM_H
#define TESTS_UNIT_FAKE_PROGRAM_H

#include "symbols/symbols.h"

#define FAKE_PID 1000
#define FAKE_IP UINT64_C(0x401010)      /* an address in the function "hot" of /usr/bin/hot */
#define FAKE_ODD_IP UINT64_C(0x402000)  /* an address in a function of /usr/bin/hot whose name needs escaping */
#define FAKE_BARE_IP UINT64_C(0x403000) /* an address in /usr/bin/hot that no symbol covers */
#define FAKE_KERNEL_IP UINT64_C(0xffffffff81000010)
#define FAKE_LOST_IP UINT64_C(0x7f0000000000) /* an address outside all mappings */

extern const struct mapping fake_mapping;

#endif
