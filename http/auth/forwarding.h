/* SPDX-License-Identifier: Apache-2.0 */
/* The headers by which a proxy says that it speaks for another client. Pure. */
#ifndef HTTP_AUTH_FORWARDING_H
#define HTTP_AUTH_FORWARDING_H

#include "base/util.h"

/* Whether proxies, load balancers and content networks add a header of this name to what they pass on. */
bool forwarding_is(const char *name);

/* The table, for tests: names as they are usually written; one that ends in "*" stands for all that begin so. */
extern const char *const forwarding_names[];
extern const size_t n_forwarding_names;

#endif
