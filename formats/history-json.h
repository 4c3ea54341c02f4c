/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters and the document of /api/v1/history, and the document of /api/v1/findings.
 *
 * A time is given as (fractional) seconds since the epoch, in RFC 3339 format, or as a duration before now, such as
 * "-10m".
 */
#ifndef FORMATS_HISTORY_JSON_H
#define FORMATS_HISTORY_JSON_H

#include <jansson.h>

#include "base/buffer.h"
#include "collectors/findings.h"
#include "formats/counters.h"
#include "formats/query.h"

/*
 * The parameters of a request for the history. A zeroed struct asks for everything. The parameters' strings are
 * borrowed.
 */
struct history_question {
    struct filter filter;
    struct order order;
    const char *since, *until, *step, *derived; /* parameters of the request, or NULL if not given */
    const struct totals_kind *totals;           /* NULL: no sums */
};

void history_question_done(struct history_question *question);

/* Adds a parameter of the request. Takes the same arguments and returns the same errors as filter_add(). */
int history_question_add(struct history_question *question, const char *const *collector_names, const char *name,
                         const char *value, struct error *error);

/*
 * Appends the history as a JSON document. `snapshot` provides the names that are counted now, and its time is taken as
 * the current time. Returns -EINVAL with a message that names the parameter, or -ENOMEM.
 */
int history_json_write(struct buffer *out, const struct histories *histories, const struct history_question *question,
                       const struct snapshot *snapshot, struct error *error);

/*
 * Returns {"timestamp", "findings": [{"rule", "title", "text", ...}]}, which the caller owns, or NULL if memory runs
 * out.
 */
json_t *findings_json(const struct findings *findings, uint64_t now_ns);

/* Parses a time; `now_ns` is CLOCK_REALTIME. Returns -EINVAL. */
int history_parse_time(const char *text, uint64_t now_ns, uint64_t *ret_ns);

#endif
