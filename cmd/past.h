/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record that a daemon has of an interval, as rows with their rates: the document of /api/v1/history, with its
 * steps added up. The document is not trusted: invalid parts are left out, and unknown numbers are NAN.
 */
#ifndef CMD_PAST_H
#define CMD_PAST_H

#include <jansson.h>

#include "collectors/rates.h"

struct past_row;

struct past {
    struct snapshot snapshot; /* has the rows of the document; their values are meaningless */
    struct past_row *rows;    /* the rates of each row of the snapshot */
    struct names **names;     /* names of the cgroups */
    size_t n_names;
    double seconds;    /* the part of the interval that is known, in whole readings */
    uint64_t left_out; /* the maximum number of rows that were left out of one reading */
};

/*
 * `cgroups` is the document of /api/v1/cgroups, which has the names; NULL: unknown. Returns -EBADMSG with a sentence if
 * it is a different document, or -ENOMEM.
 */
int past_parse(const json_t *history, const json_t *cgroups, struct past *ret, struct error *error);
void past_done(struct past *past);

/* Works as totals_make(). */
int past_totals(const struct past *past, enum totals_order order,
                bool (*passes)(const void *userdata, const struct row *row), const void *userdata, struct totals *ret);

#endif
