/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces malloc(3) and others for all libraries of the process: each allocation first calls faults_fail_allocation().
 * The memory itself comes from the address sanitizer if the build has it, otherwise from glibc.
 */
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "base/util.h"
#include "tests/faults/faults.h"

/*
 * Libraries whose allocations must not fail, because a failure ends the process, whatever the caller does: GMP calls
 * abort() (its manual, "Custom Allocation"), and libtasn1 4.19 dereferences NULL. GnuTLS uses both.
 */

#define FRAMES_MAX 8

enum { GMP, TASN1, GNUTLS };

static const char *const names[] = {[GMP] = "/libgmp.so", [TASN1] = "/libtasn1.so", [GNUTLS] = "/libgnutls.so"};

static struct range {
    uintptr_t start, end;
} ranges[ARRAY_SIZE(names)];

/* Records the address range of the library's code. */
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

void faults_find_libraries(void)
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

/* GnuTLS gives GMP its own allocation functions, which also end the process on failure. */
UNSANITIZED static bool is_for_gmp(void)
{
    struct walk walk = {0};

    _Unwind_Backtrace(look_at_frame, &walk);
    return walk.found;
}

UNSANITIZED static bool is_brittle(const void *address)
{
    return is_in(&ranges[GMP], address) || is_in(&ranges[TASN1], address) ||
           (is_in(&ranges[GNUTLS], address) && is_for_gmp());
}

#ifdef __SANITIZE_ADDRESS__
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *old, size_t size);
void *REAL(memalign)(size_t alignment, size_t size);
void REAL(free)(void *old);
char *__strdup(const char *text);

/* The sanitizers call the allocation functions before they have initialised themselves. */
UNSANITIZED static void *kept(void *memory)
{
    if (memory)
        faults_count_allocation(1);
    return memory;
}

UNSANITIZED static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

/* `caller` is an address in the calling code. */
UNSANITIZED static bool fails(const void *caller)
{
    return !is_brittle(caller) && faults_fail_allocation();
}

UNSANITIZED void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? no_memory() : kept(REAL(malloc)(size));
}

UNSANITIZED void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? no_memory() : kept(REAL(calloc)(n, size));
}

UNSANITIZED void *realloc(void *old, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return no_memory();
    void *memory = REAL(realloc)(old, size);
    if (!old)
        return kept(memory);
    if (!memory && size == 0)
        faults_count_allocation(-1);
    return memory;
}

UNSANITIZED void *reallocarray(void *old, size_t n, size_t size)
{
    size_t total;

    return __builtin_mul_overflow(n, size, &total) ? no_memory() : realloc(old, total);
}

UNSANITIZED void *memalign(size_t alignment, size_t size)
{
    return faults_fail_allocation() ? no_memory() : kept(REAL(memalign)(alignment, size));
}

UNSANITIZED void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

UNSANITIZED int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *memory = memalign(alignment, size);

    if (!memory)
        return ENOMEM;
    *ret = memory;
    return 0;
}

UNSANITIZED void free(void *old)
{
    if (old)
        faults_count_allocation(-1);
    REAL(free)(old);
}

/* The sanitizer has its own strndup() and others, which do not call faults_fail_allocation(). */
UNSANITIZED char *strndup(const char *text, size_t max)
{
    size_t size = strnlen(text, max);
    char *copy = malloc(size + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

UNSANITIZED char *strdup(const char *text)
{
    return strndup(text, SIZE_MAX);
}

UNSANITIZED char *__strdup(const char *text)
{
    return strdup(text);
}
