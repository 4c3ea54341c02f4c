/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of the API. /api/v1/rates takes one reading, suspends the connection for the requested time without
 * blocking others, and takes a second reading.
 */
#ifndef HTTP_API_H
#define HTTP_API_H

#include "http/request.h"

/*
 * Takes the second reading of all waiting requests now, before shutdown. The replies state the time that was actually
 * measured.
 */
void rates_waits_hurry(struct site *site);

#endif
