/* SPDX-License-Identifier: Apache-2.0 */
/* The machine that the header Host names (RFC 9110, section 7.2). Pure. */
#ifndef HTTP_HOST_H
#define HTTP_HOST_H

#include "base/util.h"

/* The names of this machine, besides "localhost". Borrowed. */
struct host_names {
    const char *machine; /* as gethostname(2) has it, with its domain or without */
    char *const *others; /* as configured */
    size_t n_others;
};

/*
 * Whether a browser that was sent to this host was sent to this machine and no other: the host is an IP address,
 * "localhost" or below it, this machine's name with or without its domain, or one of the others. Any other name may be
 * an attacker's, made to lead here by DNS or, without a dot, by LLMNR or mDNS, and so may the pages under that name. A
 * port is ignored.
 */
bool host_is_own(const char *host, const struct host_names *names);

#endif
