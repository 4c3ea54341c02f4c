/* SPDX-License-Identifier: Apache-2.0 */
/* Every counter as JSON, exact to the last digit: the body of /api/v1/counters. */
#ifndef HTTP_COUNTERS_H
#define HTTP_COUNTERS_H

#include "base/buffer.h"
#include "http/filter.h"

/* Appends the document with the counters that pass `filter` (NULL: all). -ENOMEM. */
int counters_write(struct buffer *buffer, const struct snapshot *snapshot, const struct filter *filter,
                   const char *hostname);

#endif
