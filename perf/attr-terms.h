/* SPDX-License-Identifier: Apache-2.0 */
/* From the terms of an event to the words of perf_event_attr, by a PMU's formats. Serves attr.h. */
#ifndef PERF_ATTR_TERMS_H
#define PERF_ATTR_TERMS_H

#include "perf/event.h"
#include "perf/pmu.h"

#define ATTR_WORDS 4

struct attr_words {
    uint64_t words[ATTR_WORDS]; /* config, config1, config2, config3 */
    const char *text;           /* the function or file that a probe is set on, borrowed from the event; NULL: none */
    double scale;               /* sysfs's for an event that it names, else 1 */
    const char *unit;           /* the same, borrowed from the PMU; else "" */
};

/*
 * For an EVENT_PMU or an EVENT_NAME. The terms of `event` win over those of an event of sysfs that it names.
 * -ENOENT for a term or event that the PMU does not have, with the nearest names; -EINVAL for a value that does not
 * fit.
 */
int attr_words_build(const struct event *event, const struct pmu *pmu, struct attr_words *ret, struct error *error);

#endif
