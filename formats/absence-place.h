/* SPDX-License-Identifier: Apache-2.0 */
/* A counting place, a collector and a PMU that it counts with: the events that it counts, or could count. */
#ifndef FORMATS_ABSENCE_PLACE_H
#define FORMATS_ABSENCE_PLACE_H

#include "collectors/failures.h"
#include "collectors/snapshot.h"
#include "metrics/formula.h"
#include "perf/machine.h"

/* All borrowed. */
struct absence_place {
    const char *collector;
    const char *pmu_name;
    const struct pmu *pmu;         /* of that name; NULL where the machine no longer has it */
    const struct row *const *rows; /* of this place, one for all that count the same */
    size_t n_rows;
    const struct failures *failures;
    const char *const *collector_names; /* by bit number */
};

/* The row that counts an event of a formula; NULL where none does. */
const struct row *absence_place_find_row(const struct absence_place *place, const char *name);
/* Why an event that is configured is not counted; NULL where there is no such failure. */
const struct failure *absence_place_find_failure(const struct absence_place *place, const char *name);
/* The event of a formula as a user writes it, the way the kernel or sysfs spells it; false where neither has it. */
bool absence_place_spell(const struct absence_place *place, const char *name, char *text, size_t size);
bool absence_event_is_software(const char *name);

#endif
