/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups that a tally counts, on a machine that a test plays: the test says what each slot had. */
#ifndef TESTS_UNIT_TALLIED_RIG_H
#define TESTS_UNIT_TALLIED_RIG_H

#include "collectors/cgroup/tally/tallied.h"
#include "tests/unit/find-series.h"
#include "tests/unit/lending-rig.h"

struct tallied_rig {
    struct lending_rig tally;
    struct tally_rows *rows;
};

#define TALLIED(groups) "collectors: {cpu: {enabled: false}, cgroup: {groups: " groups "}}"
#define TALLIED_PER_CPU(groups) "collectors: {cpu: {enabled: false}, cgroup: {per_cpu: true, groups: " groups "}}"

void tallied_rig_init(struct tallied_rig *rig, struct fake_sys *fake, const char *config);
void tallied_rig_done(struct tallied_rig *rig);
/* After a reload, and when CPUs came or went; the caller resumes its counts. */
void tallied_rig_configure(struct tallied_rig *rig, const char *config);
void tallied_rig_rescan(struct tallied_rig *rig, const char *left);

struct tallied_counts *tallied_rig_open(struct tallied_rig *rig, const char *label);
void tallied_rig_resume(struct tallied_rig *rig, struct tallied_counts *counts, const char *label);
void tallied_rig_close(struct tallied_rig *rig, struct tallied_counts *counts);

/* The perf group on a CPU that fills the row of this name ("core", "cache-2"). */
const struct tally_part *tallied_rig_part(const struct tallied_rig *rig, unsigned cpu, const char *row);
/* The word of an event of the part's configured group. */
unsigned tallied_rig_word(const struct tallied_rig *rig, const struct tally_part *part, size_t event);
/* The slot of chain[0] had this; each event of the group counted `value`. */
void tallied_rig_credit(const struct tallied_rig *rig, struct tallied_counts *const *chain, size_t n, unsigned cpu,
                        const char *row, struct scale_times times, uint64_t value);
/* Reads the groups of all CPUs, as for what cannot be read. */
void tallied_rig_read(struct tallied_rig *rig);

/* As cgroup_value(), of a cgroup. */
uint64_t tallied_value(const struct tallied_rig *rig, const char *cgroup, const char *metric, const char *pmu,
                       const char *group);
/* The row of a cgroup; NULL where there is none. */
const struct row *tallied_row(const struct tallied_rig *rig, const char *cgroup, const char *pmu, const char *group);

#endif
