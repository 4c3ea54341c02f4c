/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries whose own allocations may not fail: see brittle.h. */
#include "tests/faults/brittle.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>

#include "base/util.h"
#include "tests/faults/faults.h"

#define FRAMES_MAX 8

enum { GMP, TASN1, GNUTLS };

static const char *const names[] = {[GMP] = "/libgmp.so", [TASN1] = "/libtasn1.so", [GNUTLS] = "/libgnutls.so"};

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

UNSANITIZED static bool is_in(const struct range *range, const void *address)
{
    return (uintptr_t)address - range->start < range->end - range->start;
}

struct walk {
    unsigned frames;
    bool found;
};

UNSANITIZED static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *userdata)
{
    struct walk *walk = userdata;

    walk->found = is_in(&ranges[GMP], (const void *)_Unwind_GetIP(context));
    return walk->found || ++walk->frames == FRAMES_MAX ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* GnuTLS has given GMP functions of its own that allocate, and end the process as GMP's do. */
UNSANITIZED static bool is_for_gmp(void)
{
    struct walk walk = {0};

    _Unwind_Backtrace(look_at_frame, &walk);
    return walk.found;
}

UNSANITIZED bool brittle_has(const void *address)
{
    return is_in(&ranges[GMP], address) || is_in(&ranges[TASN1], address) ||
           (is_in(&ranges[GNUTLS], address) && is_for_gmp());
}
