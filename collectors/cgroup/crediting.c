/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that have the counts of a slot: see crediting.h. */
#include "collectors/cgroup/crediting.h"

#include "base/cleanup.h"
#include "collectors/cgroup/bpf-counts.h"

void crediting_done(struct crediting *crediting)
{
    slots_done(&crediting->slots);
    free(crediting->chain);
    *crediting = (struct crediting){0};
}

/* A chain is never longer than a path is deep, and the cgroup itself. */
int crediting_make_room(struct crediting *crediting, const char *path)
{
    size_t n = 2;

    for (const char *p = path; *p; p++)
        n += *p == '/';
    if (n <= crediting->chain_room)
        return 0;
    struct tallied_counts **chain = realloc(crediting->chain, n * sizeof(chain[0]));
    if (!chain)
        return -ENOMEM;
    crediting->chain = chain;
    crediting->chain_room = n;
    return 0;
}

struct cgroup_counts *crediting_find_above(const struct cgroup_counts *counts)
{
    struct cgroup_counts *above = cgroup_counts_above(counts);

    while (above && !above->slot)
        above = cgroup_counts_above(above);
    return above;
}

/* Time of the CPU: that of a group which is always there. */
static uint64_t time_of(const struct crediting *crediting, const uint64_t *delta)
{
    uint64_t time = 0;

    for (uint32_t i = 0; i < crediting->groups; i++)
        time = MAX(time, delta[crediting->events + 2 * i]);
    return time;
}

void crediting_add(void *userdata, uint32_t slot, unsigned cpu, const uint64_t *delta)
{
    struct crediting *crediting = userdata;
    const struct cgroup_counts *counts = crediting->slots.items[slot].counts;
    size_t n = 0;

    if (slot == TALLY_SLOT_UNKNOWN)
        crediting->unknown.ns += time_of(crediting, delta);
    for (; counts && n < crediting->chain_room; counts = crediting_find_above(counts))
        crediting->chain[n++] = counts->tallied;
    if (n > 0)
        tallied_counts_credit(crediting->chain, n, cpu, delta);
}
