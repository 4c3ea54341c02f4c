/* SPDX-License-Identifier: Apache-2.0 */
/* Parses events that are written in a test. */
#ifndef TESTS_UNIT_PARSE_EVENT_H
#define TESTS_UNIT_PARSE_EVENT_H

#include "perf/event-parse.h"
#include "tests/unit/test.h"

/* Calls event_parse(), which must succeed: `_cleanup_(event_done) struct event event = parsed_event("cycles:u");` */
static inline struct event parsed_event(const char *text)
{
    struct event event = {0};
    struct error error;

    if (event_parse(text, &event, &error) < 0)
        fail_msg("%s: %s", text, error.message);
    return event;
}

#endif
