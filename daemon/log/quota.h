/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often something of a kind is logged, whoever causes it (a client that reloads in a loop, cgroups that come and
 * go): a hundred lines at once, and one a minute in the long run. Pure: the time is given to it.
 */
#ifndef DAEMON_LOG_QUOTA_H
#define DAEMON_LOG_QUOTA_H

#include "base/token-bucket.h"

#define LOG_QUOTA_BURST 100
#define LOG_QUOTA_INTERVAL_NS (60 * NSEC_PER_SEC)

/* All zero at first. */
struct log_quota {
    struct token_bucket bucket;
    unsigned left_out;
};

/* Whether it is to be logged now, and then how much was left out before. */
bool log_quota_take(struct log_quota *quota, uint64_t now_ns, unsigned *ret_left_out);

#endif
