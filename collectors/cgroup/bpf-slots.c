/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/cgroup/bpf-slots.h"

#include <stdlib.h>
#include <string.h>

void slots_done(struct slots *slots)
{
    free(slots->items);
    *slots = (struct slots){0};
}

int slots_reserve(struct slots *slots, uint32_t n)
{
    struct slot *items = n <= slots->room ? slots->items : realloc(slots->items, n * sizeof(items[0]));

    if (!items)
        return -ENOMEM;
    if (n > slots->room)
        memset(items + slots->room, 0, (n - slots->room) * sizeof(items[0]));
    slots->items = items;
    slots->room = MAX(slots->room, n);
    return 0;
}

void slots_use(struct slots *slots, uint32_t n)
{
    slots->n = MAX(slots->n, n);
}

uint32_t slots_for(uint64_t n, uint64_t max)
{
    uint64_t slots = SLOTS_MIN;

    while (slots < 2 * n)
        slots *= 2;
    return (uint32_t)MIN(slots, MAX(max + BPF_SLOT_FIRST, SLOTS_MIN));
}

uint32_t slots_take(struct slots *slots, struct cgroup_counts *counts)
{
    for (uint32_t i = 0; i < slots->n; i++) {
        uint32_t slot = (slots->next + i) % slots->n;
        if (slot < BPF_SLOT_FIRST || slots->items[slot].state != SLOT_FREE)
            continue;
        slots->items[slot] = (struct slot){.state = SLOT_USED, .counts = counts};
        slots->next = slot + 1;
        slots->n_used++;
        return slot;
    }
    return BPF_SLOT_NONE;
}

/* Reattributes the given-up slots of `counts` to `parent`. */
static void slots_pass_on(struct slots *slots, const struct cgroup_counts *counts, struct cgroup_counts *parent)
{
    for (uint32_t i = BPF_SLOT_FIRST; i < slots->n && slots->n_given_up; i++)
        if (slots->items[i].state > SLOT_USED && slots->items[i].counts == counts)
            slots->items[i].counts = parent;
}

void slots_end(struct slots *slots, uint32_t slot, struct cgroup_counts *parent)
{
    struct slot *item = &slots->items[slot];

    slots_pass_on(slots, item->counts, parent);
    item->state = SLOT_GIVEN_UP;
    item->counts = parent;
    slots->n_used--;
    slots->n_given_up++;
}

void slots_free(struct slots *slots, uint32_t slot)
{
    slots->n_used -= slots->items[slot].state == SLOT_USED;
    slots->n_given_up -= slots->items[slot].state > SLOT_USED;
    slots->items[slot] = (struct slot){0};
}

void slots_forget(struct slots *slots, const struct cgroup_counts *counts)
{
    slots_pass_on(slots, counts, NULL);
}

void slots_settle(struct slots *slots)
{
    for (uint32_t i = BPF_SLOT_FIRST; i < slots->n && slots->n_given_up; i++)
        if (slots->items[i].state == SLOT_GIVEN_UP)
            slots->items[i].state = SLOT_DRAINING;
}

void slots_sweep(struct slots *slots, bool (*is_idle)(const void *userdata, uint32_t slot), const void *userdata)
{
    for (uint32_t i = BPF_SLOT_FIRST; i < slots->n && slots->n_given_up; i++)
        if (slots->items[i].state == SLOT_DRAINING && is_idle(userdata, i))
            slots_free(slots, i);
}
