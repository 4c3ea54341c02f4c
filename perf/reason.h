/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains why perf_event_open(2) refused an event, and what an operator can do about it. The causes are rows of a
 * table; the first row that matches wins.
 */
#ifndef PERF_REASON_H
#define PERF_REASON_H

#include "perf/machine.h"

/* Cause and remedy for a CPU without a hardware PMU (pmu->absent). */
#define REASON_NO_PMU "this machine offers no hardware PMU"
#define REASON_NO_PMU_REMEDY                                                                                           \
    "a virtual machine needs its host to pass one through, a board needs a pmu node in its device tree"

/* Cause and remedy after the opener has exited. */
#define REASON_OPENER_GONE "the opener is gone"
#define REASON_OPENER_GONE_REMEDY "restart perfcountd"

/* Cause and remedy if the opener was started without the sampler. */
#define REASON_SAMPLER_LATE "the configuration allowed no such samples when perfcountd started; restart perfcountd"

/*
 * Writes "permission denied (EACCES): kernel.perf_event_paranoid is 3, ...; grant ..." for `error` (-errno) of an event
 * on `pmu`, which may be NULL. The text always ends with a NUL.
 */
void reason_format(const struct machine *machine, const struct pmu *pmu, int error, char *text, size_t size);

/*
 * How long an error lasts if nobody fixes its cause, and so whether another try is worthwhile. The values are ordered
 * by how often to try again; if there are several errors, the highest value applies.
 */
enum reason_span {
    REASON_LASTS,  /* permanent: no retry helps */
    REASON_BRIEF,  /* lasts a moment, as in a race with a CPU that is coming up */
    REASON_PASSES, /* lasts until other users release their resources */
};

enum reason_span reason_span(int error);

/* "EACCES"; "EUNKNOWN" for a number without a name. */
const char *reason_name(int error);

/*
 * The value of the label `reason` for an event on `pmu`, which may be NULL: REASON_LABEL_NO_PMU if the error is due to
 * a missing PMU, otherwise the name of the error.
 */
#define REASON_LABEL_NO_PMU "no_pmu"
const char *reason_label(const struct pmu *pmu, int error);

#endif
