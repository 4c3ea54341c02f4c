/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding (RFC 3986, section 2.1), held to the letter, since libmicrohttpd lets everything pass. Pure. */
#ifndef HTTP_PERCENT_H
#define HTTP_PERCENT_H

#include "base/util.h"

/* Whether each % is followed by two hexadecimal digits, and none of them makes a NUL. */
bool percent_valid(const char *uri);

#endif
