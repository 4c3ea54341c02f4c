/* SPDX-License-Identifier: Apache-2.0 */
/* The header If-None-Match (RFC 9110, section 13.1.2). Pure. */
#ifndef HTTP_ETAG_H
#define HTTP_ETAG_H

#include "base/util.h"

/* Whether a line of If-None-Match has this ETag, which is strong, with its quotes; W/ makes no difference. */
bool etag_is_in(const char *etag, const char *if_none_match);

#endif
