/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences for clients that may not start work: see refusal.h. */
#include "http/refusal.h"

static const char forbidden_to_pages[] =
    "this may come from a page in a browser that somebody else has made, and such a page may read documents but start "
    "nothing. A page of this server sends \"" STANDING_PROOF ": " STANDING_PROOF_VALUE "\" and uses an IP address, "
    "\"localhost\", this machine's name or one of web.hosts; a program that is no browser sends no "
    "\"User-Agent: Mozilla/...\", \"Accept-Language\" or \"Origin\"";

static const char operators_only[] =
    "only operators may do this: clients with a password or certificate (web.config_file), and clients of a unix "
    "socket that are root, the user of perfcountd or in the socket's group (curl --unix-socket); web.local_operators "
    "also makes operators of all clients of this machine that do not come through a proxy";

const char *refusal_sentence(struct request *request, bool restricted)
{
    request->standing = request_standing(request);
    if (request->standing == STANDING_PAGE)
        return forbidden_to_pages;
    return restricted && request->standing < request->site->standing_rules.operates ? operators_only : NULL;
}
