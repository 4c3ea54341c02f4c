/* SPDX-License-Identifier: Apache-2.0 */
/* Every counter as JSON, exact to the last digit: the body of /api/v1/counters. */
#ifndef FORMATS_COUNTERS_H
#define FORMATS_COUNTERS_H

#include "base/buffer.h"
#include "formats/query.h"

/* Appends the document of the counters that pass `filter` (NULL: all). -ENOMEM. */
int counters_write(struct buffer *buffer, const struct snapshot *snapshot, const struct filter *filter,
                   const char *hostname);

#endif
