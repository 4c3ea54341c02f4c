/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token bucket, as the rate limit of the exporters' web configuration has it (golang.org/x/time/rate): it begins with
 * `burst` tokens, gains one each interval up to that, and what is limited takes one. Pure: the time is given to it.
 */
#ifndef BASE_TOKEN_BUCKET_H
#define BASE_TOKEN_BUCKET_H

#include "base/util.h"

struct token_bucket {
    uint64_t interval_ns, burst;
    uint64_t credit_ns; /* a token is an interval's worth */
    uint64_t last_ns;
};

/* Fills it anew where the limits are others than before; an interval of 0 is no limit. */
void token_bucket_configure(struct token_bucket *bucket, uint64_t interval_ns, uint64_t burst, uint64_t now_ns);
/* Takes a token; where there is none, how long it takes until there is (UINT64_MAX: never). */
bool token_bucket_take(struct token_bucket *bucket, uint64_t now_ns, uint64_t *ret_wait_ns);

#endif
