/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: named groups of events for a purpose, chosen by `preset: NAME` in the configuration.
 *
 * A preset has variants for the kinds of PMU; the first whose condition holds is used. Each variant needs no more
 * counters than its PMUs have.
 */
#ifndef PERF_PRESETS_H
#define PERF_PRESETS_H

#include "perf/event.h"
#include "perf/pmu.h"

#define PRESET_VARIANTS_MAX 5

struct preset_variant {
    const char *listed; /* condition: the core PMU lists this event in sysfs; NULL: no condition */
    const char *terms;  /* condition: the file of `listed` has this content; NULL: any content */
    bool alone;         /* condition: the NMI watchdog is off */
    const char *events; /* in perf's syntax, leader first; NULL: the preset has no events on this PMU */
};

struct preset {
    const char *name;
    const char *help; /* a sentence without its full stop */
    bool of_system;   /* the preset is for collectors.pmu; otherwise for collectors.cpu and collectors.cgroup */
    bool strict;      /* the events are only meaningful together: all are counted in one group, or none */
    size_t n_variants;
    struct preset_variant variants[PRESET_VARIANTS_MAX]; /* the last variant has no condition */
};

extern const struct preset presets[];
extern const size_t n_presets;

/* Returns NULL for an unknown name, with the nearest names in the error. */
const struct preset *preset_find(const char *name, struct error *error);
/* Returns the index of the variant for a core PMU. An absent PMU gets the last variant. */
size_t preset_choose(const struct preset *preset, const struct pmu *pmu);
/*
 * Whether the PMU has the event of a preset, as far as sysfs shows: an event that is given by name must be listed
 * there. On arm64 an event that the CPU does not implement can be opened, but its count stays 0.
 */
bool preset_event_is_listed(const struct event *event, const struct pmu *pmu);

#endif
