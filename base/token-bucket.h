/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token bucket, as the rate limit of the exporters' web configuration defines it (golang.org/x/time/rate): it begins
 * with `burst` tokens, gains one in each interval up to that number, and each limited action takes one. Pure: the
 * caller gives the time.
 */
#ifndef BASE_TOKEN_BUCKET_H
#define BASE_TOKEN_BUCKET_H

#include "base/util.h"

struct token_bucket {
    uint64_t interval_ns, burst;
    uint64_t credit_ns; /* a token is an interval's worth */
    uint64_t last_ns;
};

/* Fills the bucket again if the limits have changed; an interval of 0 is no limit. */
void token_bucket_configure(struct token_bucket *bucket, uint64_t interval_ns, uint64_t burst, uint64_t now_ns);
/* Takes a token; false where there is none, with the time until the next token (UINT64_MAX: never). */
bool token_bucket_take(struct token_bucket *bucket, uint64_t now_ns, uint64_t *ret_wait_ns);

#endif
