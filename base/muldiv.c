/* SPDX-License-Identifier: Apache-2.0 */
/* a * b / divisor by the compiler's 128-bit integers: see muldiv.h. */
#include "base/muldiv.h"

typedef unsigned __int128 u128;

struct fixed muldiv(uint64_t a, uint64_t b, uint64_t divisor)
{
    u128 product = (u128)a * b, quotient = product / divisor;

    if (quotient > UINT64_MAX)
        return (struct fixed){.whole = UINT64_MAX};
    uint64_t remainder = (uint64_t)(product % divisor);
    return (struct fixed){
        .whole = (uint64_t)quotient,
        .fraction = (uint64_t)(((u128)remainder << 64) / divisor),
    };
}
