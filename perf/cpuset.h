/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of CPUs, and their text as sysfs writes it: "0-3,6".
 *
 * A number or a range of numbers in a list as the kernel writes it: "6" or "0-3" in "0-3,6".
 *
 * A set of the kernel's CPU numbers. Embedded; a zeroed one is the empty set.
 */
#ifndef PERF_CPUSET_H
#define PERF_CPUSET_H

#include "base/error.h"

struct range {
    unsigned first, last; /* first <= last */
};

/*
 * Parses the range at *at and moves *at behind it. `noun` names a number in sentences: "a CPU number". With an error at
 * the offending character: -EINVAL where none stands there or the range runs backwards; -ERANGE for one above `max`.
 */
int range_parse(const char *text, size_t *at, unsigned max, const char *noun, struct range *ret, struct error *error);

/* More than any kernel can have (CONFIG_NR_CPUS is at most 8192). */
#define CPUSET_MAX 16384

struct cpuset {
    uint64_t *words;
    size_t n_words;
};

void cpuset_done(struct cpuset *set);
/*
 * Parses the kernel's list format, "0-3,6" (Documentation/admin-guide/cputopology.rst); "" is the empty set.
 * -EINVAL with an error at the offending character; -ERANGE for a number of CPUSET_MAX or more; -ENOMEM.
 */
int cpuset_parse(const char *text, struct cpuset *ret, struct error *error);
/* -ERANGE for a number of CPUSET_MAX or more; -ENOMEM. */
int cpuset_add(struct cpuset *set, unsigned cpu);
void cpuset_remove(struct cpuset *set, unsigned cpu);
/* -ENOMEM. */
int cpuset_copy(const struct cpuset *from, struct cpuset *ret);
/* Keeps in `set` only the CPUs that `other` has as well. */
void cpuset_intersect(struct cpuset *set, const struct cpuset *other);
/* Removes from `set` the CPUs of `other`. */
void cpuset_subtract(struct cpuset *set, const struct cpuset *other);
bool cpuset_has(const struct cpuset *set, unsigned cpu);
bool cpuset_equal(const struct cpuset *a, const struct cpuset *b);
size_t cpuset_count(const struct cpuset *set);
/* The highest member and 1; 0 where there is none. */
unsigned cpuset_end(const struct cpuset *set);
/* The lowest member above `cpu` (start with -1), or -1. */
int cpuset_next(const struct cpuset *set, int cpu);
/* "0-3,6", which the caller frees; NULL when out of memory. */
char *cpuset_format(const struct cpuset *set);

#define CPUSET_FOREACH(cpu, set) for (int cpu = cpuset_next(set, -1); cpu >= 0; cpu = cpuset_next(set, cpu))

#endif
