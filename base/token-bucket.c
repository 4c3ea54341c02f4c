/* SPDX-License-Identifier: Apache-2.0 */
/* A token bucket: see token-bucket.h. */
#include "base/token-bucket.h"

static uint64_t token_bucket_capacity(const struct token_bucket *bucket)
{
    uint64_t product;

    return __builtin_mul_overflow(bucket->interval_ns, bucket->burst, &product) ? UINT64_MAX : product;
}

void token_bucket_configure(struct token_bucket *bucket, uint64_t interval_ns, uint64_t burst, uint64_t now_ns)
{
    if (bucket->interval_ns == interval_ns && bucket->burst == burst)
        return;
    *bucket = (struct token_bucket){.interval_ns = interval_ns, .burst = burst, .last_ns = now_ns};
    bucket->credit_ns = token_bucket_capacity(bucket);
}

static void token_bucket_gain(struct token_bucket *bucket, uint64_t now_ns)
{
    uint64_t full = token_bucket_capacity(bucket), passed = now_ns > bucket->last_ns ? now_ns - bucket->last_ns : 0;

    bucket->credit_ns = passed >= full - bucket->credit_ns ? full : bucket->credit_ns + passed;
    bucket->last_ns = MAX(bucket->last_ns, now_ns);
}

bool token_bucket_take(struct token_bucket *bucket, uint64_t now_ns, uint64_t *ret_wait_ns)
{
    if (bucket->interval_ns == 0)
        return true;
    token_bucket_gain(bucket, now_ns);
    if (bucket->burst == 0) {
        *ret_wait_ns = UINT64_MAX;
        return false;
    }
    if (bucket->credit_ns < bucket->interval_ns) {
        *ret_wait_ns = bucket->interval_ns - bucket->credit_ns;
        return false;
    }
    bucket->credit_ns -= bucket->interval_ns;
    return true;
}
