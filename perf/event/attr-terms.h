/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of an event laid into the words of perf_event_attr by a PMU's formats: the inner part of attr.h. */
#ifndef PERF_EVENT_ATTR_TERMS_H
#define PERF_EVENT_ATTR_TERMS_H

#include "perf/event/event.h"
#include "perf/pmu.h"

#define ATTR_WORDS 4

/*
 * config, config1, config2, config3; the function or file that a probe is set on, which belongs to the event; and of
 * what sysfs names the scale and unit, which belongs to the PMU.
 */
struct attr_words {
    uint64_t words[ATTR_WORDS];
    const char *text; /* NULL: none */
    double scale;
    const char *unit;
};

/*
 * For an EVENT_PMU or an EVENT_NAME. What is written in `event` wins over what sysfs says about an event it names.
 * -ENOENT for a term or event that the PMU has not, with the nearest names; -EINVAL for a value that does not fit.
 */
int attr_words_build(const struct event *event, const struct pmu *pmu, struct attr_words *ret, struct error *error);

#endif
