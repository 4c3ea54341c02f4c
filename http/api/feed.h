/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A response that goes on: a stream of the sampler, sent as it comes.
 *
 * While there is nothing to send the connection is suspended, and its socket is watched for the client's end.
 */
#ifndef HTTP_API_FEED_H
#define HTTP_API_FEED_H

#include "http/request.h"

/* Ends the stream, at any time; does not resume the connection. */
struct feed *feed_free(struct feed *feed);
bool feed_is_suspended(const struct feed *feed);

#endif
