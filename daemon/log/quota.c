/* SPDX-License-Identifier: Apache-2.0 */
/* How often something of a kind is logged: see quota.h. */
#include "daemon/log/quota.h"

bool log_quota_take(struct log_quota *quota, uint64_t now_ns, unsigned *ret_left_out)
{
    uint64_t wait_ns;

    token_bucket_configure(&quota->bucket, LOG_QUOTA_INTERVAL_NS, LOG_QUOTA_BURST, now_ns);
    if (!token_bucket_take(&quota->bucket, now_ns, &wait_ns)) {
        quota->left_out++;
        return false;
    }
    *ret_left_out = quota->left_out;
    quota->left_out = 0;
    return true;
}
