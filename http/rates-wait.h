/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/rates: a reading, a time in which the connection is suspended and nobody is held up, and a second reading.
 */
#ifndef HTTP_RATES_WAIT_H
#define HTTP_RATES_WAIT_H

#include "formats/order.h"
#include "formats/query.h"
#include "http/request.h"

#define RATES_SECONDS_MIN 0.05
#define RATES_SECONDS_MAX 60.0

/* The query of a request. The texts are borrowed from the request. */
struct rates_question {
    struct filter filter;
    struct order order;
    double seconds;
    bool totals; /* the rows of each PMU, added up */
};

/* Takes the filter. The request waits afterwards, or has an error as its reply. */
void rates_wait_start(struct request *request, struct rates_question *question, bool gzip);
/* Has all second readings made now; the answers say what the seconds were. */
void rates_waits_hurry(struct site *site);

#endif
