/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers Accept and Accept-Encoding with their q-values (RFC 9110, sections 12.4 and 12.5). Pure.
 *
 * A header may come on several lines; each is considered in turn.
 */
#ifndef HTTP_ACCEPT_H
#define HTTP_ACCEPT_H

#include "base/util.h"

#define QUALITY_MAX 1000 /* q=1, in thousandths */

/* One media type that we could send, and how welcome it is. */
struct offer {
    const char *type, *subtype;
    const char *version;  /* the parameter "version", or NULL. Other parameters do not matter. */
    unsigned quality;     /* 0 to QUALITY_MAX */
    unsigned specificity; /* of the media range that matched; 0: no range did */
};

/* Weighs one line of Accept; the most specific media range of all lines counts. */
void offer_consider(struct offer *offer, const char *accept);

/* Whether to compress. */
struct codings {
    int gzip, identity, any; /* 0 to QUALITY_MAX; -1 where not named */
};
#define CODINGS_NONE ((struct codings){-1, -1, -1})

void codings_consider(struct codings *codings, const char *accept_encoding);
bool codings_want_gzip(const struct codings *codings);

#endif
