/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the document of /api/v1/history, a daemon's record of a past interval, to rows with rates. The numbers of
 * all steps in the document are added up. The document is not trusted: invalid parts are left out, and unknown numbers
 * are NAN.
 */
#ifndef CMD_PAST_H
#define CMD_PAST_H

#include <jansson.h>

#include "collectors/rates.h"

struct past_row;

struct past {
    struct snapshot snapshot; /* the rows of the document; only their labels are used, not their values */
    struct past_row *rows;    /* rates, one element for each row of the snapshot */
    struct names **names;     /* names of the cgroups in the document */
    size_t n_names;
    double seconds;    /* length of the part of the interval that is covered by readings */
    uint64_t left_out; /* maximum over all steps of the number of rows left out of a reading */
};

/*
 * Reads the document `history`. `cgroups` is the document of /api/v1/cgroups, which contains the names of cgroups, or
 * NULL if unknown. Returns -EBADMSG with a message if `history` is some other document, or -ENOMEM.
 */
int past_parse(const json_t *history, const json_t *cgroups, struct past *ret, struct error *error);
void past_done(struct past *past);

/* Like totals_make(), but for the rows of the document. */
int past_totals(const struct past *past, enum totals_order order,
                bool (*passes)(const void *userdata, const struct row *row), const void *userdata, struct totals *ret);

#endif
