/* SPDX-License-Identifier: Apache-2.0 */
/* Perf groups that did not run for a cgroup: see tally-waits.h. */
#include "collectors/cgroup/tally-waits.h"

void tally_waits_done(struct tally_waits *waits)
{
    free(waits->items);
    *waits = (struct tally_waits){0};
}

static bool is_before(const struct tally_wait *wait, unsigned cpu, uint32_t row)
{
    return wait->cpu != cpu ? wait->cpu < cpu : wait->row < row;
}

/* Where it is, or belongs. */
static size_t search_wait(const struct tally_waits *waits, unsigned cpu, uint32_t row)
{
    return array_search(waits->n, i, is_before(&waits->items[i], cpu, row));
}

struct tally_wait *tally_waits_find(const struct tally_waits *waits, unsigned cpu, uint32_t row)
{
    size_t at = search_wait(waits, cpu, row);

    if (at == waits->n || waits->items[at].cpu != cpu || waits->items[at].row != row)
        return NULL;
    return &waits->items[at];
}

void tally_waits_add(struct tally_waits *waits, unsigned cpu, uint32_t row, uint64_t pending_ns, bool starved)
{
    struct tally_wait *wait = tally_waits_find(waits, cpu, row);

    if (!wait) {
        if (array_grow(&waits->items, waits->n) < 0)
            return;
        size_t at = search_wait(waits, cpu, row);
        wait = &waits->items[at];
        memmove(wait + 1, wait, (waits->n++ - at) * sizeof(*wait));
        *wait = (struct tally_wait){.row = row, .cpu = (uint16_t)cpu};
    }
    wait->pending_ns += pending_ns;
    wait->starved |= starved;
}

void tally_waits_run(struct tally_waits *waits, unsigned cpu, uint32_t row, bool whole)
{
    struct tally_wait *wait = tally_waits_find(waits, cpu, row);

    if (!wait)
        return;
    wait->starved = false;
    if (!whole && wait->pending_ns > 0)
        return;
    memmove(wait, wait + 1, (size_t)(waits->items + --waits->n - wait) * sizeof(*wait));
}

static int compare_waits(const void *a, const void *b)
{
    const struct tally_wait *one = a, *other = b;

    return is_before(one, other->cpu, other->row) ? -1 : is_before(other, one->cpu, one->row);
}

void tally_waits_move(struct tally_waits *waits, const uint32_t *rows)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < waits->n; i++) {
        struct tally_wait wait = waits->items[i];
        wait.row = rows[wait.row];
        if (wait.row != TALLY_WAITS_GONE)
            waits->items[n++] = wait;
    }
    waits->n = n;
    if (n > 0)
        qsort(waits->items, n, sizeof(waits->items[0]), compare_waits);
}
