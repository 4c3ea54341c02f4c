/* SPDX-License-Identifier: Apache-2.0 */
/* Used instead of muldiv.c where the compiler has no 128-bit integers: see muldiv.h. */
#include "base/muldiv.h"

struct fixed muldiv(uint64_t a, uint64_t b, uint64_t divisor)
{
    return muldiv_portable(a, b, divisor);
}
