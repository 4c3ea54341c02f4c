/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of requests that come through a proxy. Pure. */
#ifndef HTTP_FORWARDING_H
#define HTTP_FORWARDING_H

#include "base/util.h"

/* Whether proxies, load balancers and content networks add a header of this name to the requests that they pass on. */
bool forwarding_is(const char *name);

/* The table, for tests: names as they are usually written; "*" at the end stands for any rest. */
extern const char *const forwarding_names[];
extern const size_t n_forwarding_names;

#endif
