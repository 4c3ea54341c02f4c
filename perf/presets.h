/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: named groups of events for a purpose, as `preset: NAME` of the configuration has them. A preset has variants
 * for the kinds of PMU: the first whose condition holds is taken. Each fits the counters of the PMUs that it is for.
 */
#ifndef PERF_PRESETS_H
#define PERF_PRESETS_H

#include "perf/event.h"
#include "perf/pmu.h"

#define PRESET_VARIANTS_MAX 5

struct preset_variant {
    const char *listed; /* an event that the core PMU's sysfs has; NULL: this variant is for all other PMUs */
    const char *terms;  /* and what its file says; NULL: anything */
    bool alone;         /* and the NMI watchdog is off */
    const char *events; /* in perf's syntax, the leader first; NULL: the preset has no events there */
};

struct preset {
    const char *name;
    const char *help; /* a sentence without its full stop */
    bool of_system;   /* for collectors.pmu; else for collectors.cpu and collectors.cgroup */
    bool strict;      /* the events mean nothing apart: they are counted in one group or not at all */
    size_t n_variants;
    struct preset_variant variants[PRESET_VARIANTS_MAX]; /* the last has no condition */
};

extern const struct preset presets[];
extern const size_t n_presets;

/* NULL for an unknown name, with the nearest names in the error. */
const struct preset *preset_find(const char *name, struct error *error);
/* The index of the variant for a core PMU. A PMU that is absent has the last one. */
size_t preset_choose(const struct preset *preset, const struct pmu *pmu);
/*
 * Whether the PMU has the event of a preset, as far as sysfs says that: an event named there is listed. On arm64 the
 * code of an event that the CPU does not have opens, and counts 0 for ever.
 */
bool preset_event_is_listed(const struct event *event, const struct pmu *pmu);

#endif
