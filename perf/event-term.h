/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of a PMU's event, "event=0x3c,umask=0x1,edge", as a person or sysfs writes them. */
#ifndef PERF_EVENT_TERM_H
#define PERF_EVENT_TERM_H

#include "perf/cursor.h"
#include "perf/event.h"

struct event_terms {
    struct event_term *terms;
    size_t n;
};

void event_terms_done(struct event_terms *terms);
/*
 * Parses up to the slash or the end, whichever comes first. A value that is not a number is taken as text. -EINVAL at
 * the offending character; offsets count from the beginning of the cursor's text. -ENOMEM.
 */
int event_terms_parse(struct event_cursor *cursor, struct event_terms *ret, struct error *error);
/* The same for a whole text, like that of a file in sysfs. */
int event_terms_parse_text(const char *text, struct event_terms *ret, struct error *error);

/*
 * Whether the event, whose kind and PMU are set, can have the term. `samples`: the event samples, and is not only
 * counted. -EINVAL at the offending character.
 */
int event_term_check(const struct event *event, const struct event_term *term, bool samples, struct error *error);

#endif
