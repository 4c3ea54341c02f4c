/* SPDX-License-Identifier: Apache-2.0 */
/* a * b / divisor by 64-bit integers alone: see muldiv.h. */
#include "base/muldiv.h"

#include <stdbool.h>

struct wide {
    uint64_t high, low;
};

static struct wide multiply(uint64_t a, uint64_t b)
{
    uint64_t a_high = a >> 32, a_low = (uint32_t)a, b_high = b >> 32, b_low = (uint32_t)b;
    uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32), middle2 = a_low * b_high + (uint32_t)middle;

    return (struct wide){
        .high = a_high * b_high + (middle >> 32) + (middle2 >> 32),
        .low = (middle2 << 32) | (uint32_t)low,
    };
}

/* 128 by 64 bits, a bit at a time; dividend.high is below the divisor, so that the quotient fits. */
static uint64_t divide(struct wide dividend, uint64_t divisor, uint64_t *ret_remainder)
{
    uint64_t quotient = 0, remainder = dividend.high;

    for (int bit = 63; bit >= 0; bit--) {
        bool carry = remainder >> 63;
        remainder = (remainder << 1) | ((dividend.low >> bit) & 1);
        quotient <<= 1;
        if (carry || remainder >= divisor) {
            remainder -= divisor;
            quotient |= 1;
        }
    }
    *ret_remainder = remainder;
    return quotient;
}

struct fixed muldiv_portable(uint64_t a, uint64_t b, uint64_t divisor)
{
    struct wide product = multiply(a, b);
    struct fixed result;
    uint64_t remainder;

    if (product.high >= divisor)
        return (struct fixed){.whole = UINT64_MAX};
    result.whole = divide(product, divisor, &remainder);
    result.fraction = divide((struct wide){.high = remainder}, divisor, &remainder);
    return result;
}
