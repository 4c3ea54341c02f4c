/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries whose own allocations may not fail: see brittle.h. */
#include "tests/faults/brittle.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"
#include "tests/faults/faults.h"

static const char *const names[] = {"/libgmp.so", "/libtasn1.so"};

static struct range {
    uintptr_t start, end;
} ranges[ARRAY_SIZE(names)];

/* The segment that has the code. */
static int find_library(struct dl_phdr_info *info, size_t size, void *userdata)
{
    (void)size;
    (void)userdata;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        for (size_t k = 0; k < info->dlpi_phnum && strstr(info->dlpi_name, names[i]); k++) {
            const ElfW(Phdr) *segment = &info->dlpi_phdr[k];
            if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
                ranges[i] = (struct range){info->dlpi_addr + segment->p_vaddr,
                                           info->dlpi_addr + segment->p_vaddr + segment->p_memsz};
        }
    return 0;
}

void brittle_find(void)
{
    dl_iterate_phdr(find_library, NULL);
}

UNSANITIZED bool brittle_has(const void *address)
{
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
        if ((uintptr_t)address - ranges[i].start < ranges[i].end - ranges[i].start)
            return true;
    return false;
}
