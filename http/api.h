/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/rates: a reading, a time in which the connection is suspended and nobody is held up, and a second reading.
 */
#ifndef HTTP_API_H
#define HTTP_API_H

#include "http/request.h"

/* Has all second readings made now; the answers say what the seconds were. */
void rates_waits_hurry(struct site *site);

#endif
