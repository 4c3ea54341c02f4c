/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's addresses as they may be shown: see kernel-view.h. */
#include "symbols/kernel-view.h"

#include "base/cleanup.h"

#define KERNEL_HALF (UINT64_C(1) << 63)
#define VSYSCALL UINT64_C(0xffffffffff600000)
#define PAGE UINT64_C(4096)

/* The address that kernels are linked to: of 32 bits, of x86-64 (and riscv64), of arm64. */
static uint64_t link_address_of_kernel(uint64_t start)
{
    if (start <= UINT32_MAX)
        return UINT64_C(0xc0008000);
    return start >> 32 == UINT32_MAX ? UINT64_C(0xffffffff81000000) : UINT64_C(0xffff800080000000);
}

void kernel_view_init(struct kernel_view *view, struct sys *sys)
{
    *view = (struct kernel_view){.sys = sys, .open = kernel_map_is_shown(sys)};
}

void kernel_view_done(struct kernel_view *view)
{
    for (size_t i = 0; i < view->n; i++)
        free(view->parts[i].name);
    free(view->parts);
    *view = (struct kernel_view){0};
}

bool kernel_view_hides(const struct kernel_view *view, bool kernel, uint64_t address)
{
    if ((view && view->open) || address - VSYSCALL < PAGE)
        return false;
    return kernel || address >= KERNEL_HALF;
}

/* Without memory, its addresses are shown as unknown. */
static void view_add_part(void *userdata, const struct kernel_map *map)
{
    struct kernel_view *view = userdata;
    struct kernel_view_part part = {.start = map->start, .end = map->end, .name = strdup(map->name)};
    const struct kernel_view_part *last = view->n ? &view->parts[view->n - 1] : NULL;

    if (!last)
        part.nominal = link_address_of_kernel(map->start);
    else if (view->n == 1) /* the distance of the first module from the kernel is hidden, too */
        part.nominal = last->nominal + KERNEL_MAP_SIZE;
    else
        part.nominal = last->nominal + (last->end - last->start + PAGE - 1) / PAGE * PAGE + PAGE;
    if (!part.name || array_grow(&view->parts, view->n) < 0) {
        free(part.name);
        return;
    }
    view->parts[view->n++] = part;
}

static void load_parts(struct kernel_view *view)
{
    if (view->loaded || !view->sys)
        return;
    view->loaded = true;
    kernel_map_each(view->sys, view_add_part, view);
}

/* Ranges may overlap, since the parts of newer modules can be apart: the last that begins before the address. */
static const struct kernel_view_part *part_of(const struct kernel_view *view, uint64_t address)
{
    const struct kernel_view_part *found = NULL;

    for (size_t i = 0; i < view->n; i++) {
        const struct kernel_view_part *part = &view->parts[i];
        if (address >= part->start && address < part->end && (!found || part->start > found->start))
            found = part;
    }
    return found;
}

uint64_t kernel_view_address(struct kernel_view *view, bool kernel, uint64_t address)
{
    if (!kernel_view_hides(view, kernel, address))
        return address;
    if (view && kernel)
        load_parts(view);
    const struct kernel_view_part *part = view && kernel ? part_of(view, address) : NULL;
    if (part)
        return address - part->start + part->nominal;
    return address > UINT32_MAX ? KERNEL_VIEW_UNKNOWN : KERNEL_VIEW_UNKNOWN_32;
}

void kernel_view_each(struct kernel_view *view, void (*visit)(void *userdata, const struct kernel_map *map),
                      void *userdata)
{
    if (view->open) {
        kernel_map_each(view->sys, visit, userdata);
        return;
    }
    load_parts(view);
    for (size_t i = 0; i < view->n; i++) {
        const struct kernel_view_part *part = &view->parts[i];
        uint64_t size = i == 0 ? KERNEL_MAP_SIZE : part->end - part->start;
        const struct kernel_map map = {.start = part->nominal, .end = part->nominal + size, .name = part->name};
        visit(userdata, &map);
    }
}
