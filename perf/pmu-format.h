/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A term of a PMU's `format/` in sysfs: where its value goes in perf_event_attr
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-format). Pure.
 */
#ifndef PERF_PMU_FORMAT_H
#define PERF_PMU_FORMAT_H

#include "base/error.h"

/* The bits of a word that take the value; the value's lowest bit goes into the lowest of them. */
struct pmu_format {
    char *name;
    unsigned word; /* 0 to 3: config, config1, config2, config3 */
    uint64_t bits;
};

/* Parses "config1:0-7,32-35"; `ret` gets no name. -EINVAL, with the error at the offending character. */
int pmu_format_parse(const char *text, struct pmu_format *ret, struct error *error);
/* Puts `value` into the bits of `format` in `word`. -ERANGE where the value has more bits than the format. */
int pmu_format_deposit(const struct pmu_format *format, uint64_t value, uint64_t *word);

#endif
