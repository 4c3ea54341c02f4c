/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/history: the parameters of a request, and the document. /api/v1/findings: the document.
 *
 * A time is the seconds since the epoch, with a fraction or without, RFC 3339, or "-10m", a duration before now.
 */
#ifndef FORMATS_HISTORY_JSON_H
#define FORMATS_HISTORY_JSON_H

#include <jansson.h>

#include "base/buffer.h"
#include "collectors/findings.h"
#include "formats/counters.h"
#include "formats/query.h"

/* Zeroed, a question asks for everything. The strings are borrowed. */
struct history_question {
    struct filter filter;
    struct order order;
    const char *since, *until, *step, *derived; /* as in the request; NULL: not given */
    const struct totals_kind *totals;           /* NULL: no sums */
};

void history_question_done(struct history_question *question);

/* Adds a parameter of the request. The arguments and errors are those of filter_add(). */
int history_question_add(struct history_question *question, const char *const *collector_names, const char *name,
                         const char *value, struct error *error);

/*
 * Appends the document. `snapshot` has the names of what is counted now, and its time is "now". Returns -EINVAL with a
 * sentence that names the parameter, or -ENOMEM.
 */
int history_json_write(struct buffer *out, const struct histories *histories, const struct history_question *question,
                       const struct snapshot *snapshot, struct error *error);

/* {"timestamp", "findings": [{"rule", "title", "text", ...}]}; NULL when out of memory. The caller owns it. */
json_t *findings_json(const struct findings *findings, uint64_t now_ns);

/* Parses a time; `now_ns` is CLOCK_REALTIME. Returns -EINVAL. */
int history_parse_time(const char *text, uint64_t now_ns, uint64_t *ret_ns);

#endif
