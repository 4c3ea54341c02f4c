/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `perfcountd report` writes a report about this machine, for a user to attach to an issue about a kind of machine that
 * the maintainers do not have. The report describes the kernel, the CPUs and the PMUs, contains the output of `plan`,
 * and tests the formula of each derived metric with the machine's counters.
 *
 * Each section is written by a child process, so that a section that hangs or crashes does not end the report. Lines
 * that start with "## " are headings; the text and order of headings are part of the interface.
 */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "daemon/options.h"
#include "perf/machine.h"

struct report {
    struct sys *sys;
    const struct machine *machine;
    const struct options *options; /* options of the section `plan`, or NULL to leave the section out */
    /*
     * Does a fixed amount of work on a CPU while a group counts. Returns -errno if the work cannot be done on this CPU.
     */
    int (*work)(struct sys *sys, unsigned cpu);
    unsigned patience_s; /* a section is killed if it writes nothing for this long */
};

/*
 * Counts the events of each formula for `pmu` as one group, on the PMU's first CPU, while that CPU works. Writes the
 * counts, the value of the metric, and whether the value is plausible.
 */
void report_test_formulas(const struct report *report, const struct pmu *pmu, FILE *file);

/*
 * Generates the whole report. Paths other than those of the kernel's own files are replaced with "/...". The caller
 * frees *ret. Returns -errno.
 */
int report_make(const struct report *report, char **ret);

#endif
