/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of CPU numbers, and the kernel's text format for them: "0-3,6" (Documentation/admin-guide/cputopology.rst).
 *
 * A struct cpuset is embedded in its owner. A zeroed one is the empty set; cpuset_done() frees any other. The set is an
 * array of bits that grows with its highest member.
 */
#ifndef PERF_CPUSET_H
#define PERF_CPUSET_H

#include "base/error.h"

/*
 * A number or a range of numbers in the kernel's list format: "6" or "0-3". PMU formats use the same syntax for bit
 * numbers.
 */
struct range {
    unsigned first, last; /* first <= last */
};

/*
 * Parses the range at text[*at] and moves *at past it. `noun` names a number in error messages: "a CPU number". Returns
 * -EINVAL if there is no number or the range runs backwards, -ERANGE for a number above `max`; the error points at the
 * offending character.
 */
int range_parse(const char *text, size_t *at, unsigned max, const char *noun, struct range *ret, struct error *error);

/* CPU numbers must be below this limit, which no kernel reaches (CONFIG_NR_CPUS is at most 8192). */
#define CPUSET_MAX 16384

struct cpuset {
    uint64_t *words;
    size_t n_words;
};

void cpuset_done(struct cpuset *set);
/*
 * Parses the list format; "" is the empty set. Returns -EINVAL, or -ERANGE for a number of CPUSET_MAX or more, with the
 * error at the offending character; -ENOMEM when out of memory.
 */
int cpuset_parse(const char *text, struct cpuset *ret, struct error *error);
/* Sets "this machine has no CPU 4, only 0-3". Returns -EINVAL. */
int cpuset_refuse(const struct cpuset *possible, const char *cpus, struct error *error);
/* Returns -ERANGE if `cpu` is CPUSET_MAX or more, or -ENOMEM. */
int cpuset_add(struct cpuset *set, unsigned cpu);
void cpuset_remove(struct cpuset *set, unsigned cpu);
/* Copies `from` to *ret, which the caller frees with cpuset_done(). Returns -ENOMEM on failure. */
int cpuset_copy(const struct cpuset *from, struct cpuset *ret);
/* Keeps in `set` only the CPUs that are also in `other`. */
void cpuset_intersect(struct cpuset *set, const struct cpuset *other);
/* Removes the CPUs of `other` from `set`. */
void cpuset_subtract(struct cpuset *set, const struct cpuset *other);
bool cpuset_has(const struct cpuset *set, unsigned cpu);
bool cpuset_equal(const struct cpuset *a, const struct cpuset *b);
size_t cpuset_count(const struct cpuset *set);
/* The highest member plus one, or 0 for the empty set. */
unsigned cpuset_end(const struct cpuset *set);
/* Returns the lowest member above `cpu`, or -1 if there is none; start with -1. */
int cpuset_next(const struct cpuset *set, int cpu);
/* Writes the list format, "0-3,6". The caller frees it. Returns NULL when out of memory. */
char *cpuset_format(const struct cpuset *set);

#define CPUSET_FOREACH(cpu, set) for (int cpu = cpuset_next(set, -1); cpu >= 0; cpu = cpuset_next(set, cpu))

#endif
