/* SPDX-License-Identifier: Apache-2.0 */
/* What the header Host tells (RFC 9110, section 7.2). Pure. */
#ifndef HTTP_HOST_H
#define HTTP_HOST_H

#include "base/util.h"

/*
 * Whether nobody out there can have a page of this name: an IP address, "localhost" or another name without a dot, and
 * what is below "localhost". Any other name may lead a browser here by DNS, whoever owns it.
 */
bool host_is_private(const char *host);

#endif
