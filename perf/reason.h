/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why perf_event_open(2) refused an event, and what an operator can do about it: a table, the first matching row wins.
 */
#ifndef PERF_REASON_H
#define PERF_REASON_H

#include "perf/machine.h"

/* Of a PMU that the kernel would have if the hardware had one (pmu->absent). */
#define REASON_NO_PMU "this machine offers no hardware PMU"
#define REASON_NO_PMU_REMEDY "a virtual machine needs its host to pass one on, a board a pmu node in its device tree"

/*
 * Writes "permission denied (EACCES): kernel.perf_event_paranoid is 3, ...; grant ..." for `error` (-errno) of an
 * event on `pmu` (may be NULL). Always NUL-terminated.
 */
void reason_format(const struct machine *machine, const struct pmu *pmu, int error, char *text, size_t size);

/* How long an error lasts if nobody fixes its cause, and so how often it is worth another try: a later one more often.
 */
enum reason_span {
    REASON_LASTS,  /* for good */
    REASON_BRIEF,  /* a moment: a race, as with a CPU that is coming up */
    REASON_PASSES, /* until other users release their resources */
};

enum reason_span reason_span(int error);

/* "EACCES", the `reason` label; "EUNKNOWN" for a number that has no name. */
const char *reason_name(int error);

#endif
