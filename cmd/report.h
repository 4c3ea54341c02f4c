/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `perfcountd report`: one text for an issue, about a machine that the maintainers do not have. It describes the
 * kernel, the CPUs and the PMUs, contains the output of `plan`, and tests each formula of the derived metrics on the
 * counters.
 *
 * Each section is written by a child process, so that a section that hangs or crashes does not end the report. Lines
 * that start with "## " are headings; their texts and order are part of the interface.
 */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "daemon/options.h"
#include "perf/machine.h"

struct report {
    struct sys *sys;
    const struct machine *machine;
    const struct options *options; /* options of the section `plan`; NULL: the section is left out */
    /* Does a fixed amount of work on a CPU while a group counts. Returns -errno if it cannot be done on this CPU. */
    int (*work)(struct sys *sys, unsigned cpu);
    unsigned patience_s; /* a section that writes nothing for this long is ended */
};

/*
 * Counts the events of each formula for `pmu` as one group, on the PMU's first CPU, while work is done there. Writes
 * the counts, the value, and whether the value is possible.
 */
void report_test_formulas(const struct report *report, const struct pmu *pmu, FILE *file);

/*
 * Makes the whole report. Paths are replaced with "/...", except those of the kernel's own files. The caller frees
 * *ret. Returns -errno.
 */
int report_make(const struct report *report, char **ret);

#endif
