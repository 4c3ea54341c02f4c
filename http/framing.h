/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the head of a request can be read in one way only (RFC 9112, sections 2.2, 3.2, 5.1, 5.2 and 6.3), so that a
 * proxy in front sees no other request in it than is seen here. Pure but for framing_is_followed().
 *
 * libmicrohttpd 0.9.77 and later refuse a folded line by themselves when an option makes them strict. Earlier versions
 * glue it to the *name* of the header above. There the head is followed through the buffer that it was read into: it
 * must consist of the headers that libmicrohttpd has found, and of nothing else.
 */
#ifndef HTTP_FRAMING_H
#define HTTP_FRAMING_H

#include "base/util.h"

struct framing {
    const char *at;   /* the end of the line that was followed last; NULL: the head is not followed */
    const char *what; /* part of a sentence: what is ambiguous; NULL: nothing so far */
    const char *length;
    unsigned n_hosts, n_headers;
};

/* Whether this version of libmicrohttpd ("0.9.75", as MHD_get_version() has it) is one whose heads are followed. */
bool framing_is_followed(const char *version);

/* `version` is the last word of the request line, where libmicrohttpd has it; NULL where the head is not followed. */
void framing_begin(struct framing *framing, const char *version);
/* The next header, in the order of the head. */
void framing_header(struct framing *framing, const char *name, const char *value);
/*
 * `method` is where the head begins, and `size` its size with the empty line, as libmicrohttpd has it; not looked at
 * where the head is not followed.
 */
void framing_end(struct framing *framing, const char *method, size_t size);

#endif
