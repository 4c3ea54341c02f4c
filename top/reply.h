/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to a request of HTTP/1.0 (RFC 1945), whose body ends where the connection does or as Content-Length says.
 * Pure: bytes that another process sent become a status and a body.
 */
#ifndef TOP_REPLY_H
#define TOP_REPLY_H

#include "base/error.h"

#define TOP_REPLY_HEAD_MAX (16 * 1024)
#define TOP_REPLY_MAX (32 * 1024 * 1024)

struct top_reply {
    unsigned status;
    const char *body; /* in the bytes that were parsed */
    size_t size;
};

/*
 * `ended`: the connection has ended, so that nothing follows. 0 and the reply when it is whole; -EAGAIN where more must
 * be read; -EBADMSG or -EMSGSIZE with a sentence.
 */
int top_reply_parse(const char *data, size_t size, bool ended, struct top_reply *ret, struct error *error);

#endif
