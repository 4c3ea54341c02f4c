/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/rates: a reading, a time in which the connection is suspended and nobody is held up, and a second reading.
 */
#ifndef HTTP_API_WAIT_H
#define HTTP_API_WAIT_H

#include "formats/filter.h"
#include "formats/order.h"
#include "http/request.h"

#define WAIT_SECONDS_MIN 0.05
#define WAIT_SECONDS_MAX 60.0

/* Takes the filter. There is a wait in the request afterwards, or an error as its reply. */
void wait_start(struct request *request, struct filter *filter, const struct order *order, double seconds, bool gzip);
/* Ends the wait without a reply; does not resume the connection. */
struct wait *wait_free(struct wait *wait);

#endif
