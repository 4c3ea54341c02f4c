/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator of the whole process: every library of it finds these functions first, so that each allocation asks
 * faults_fail_allocation(). Under the address sanitizer they go on to its allocator, else to glibc's.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faults/brittle.h"
#include "tests/faults/faults.h"

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

/* They are called before the sanitizers are ready, by their own start. */
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

/* `caller` is the code that asks. */
UNSANITIZED static bool fails(const void *caller)
{
    return !brittle_has(caller) && faults_fail_allocation();
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

/* The sanitizer has its own of these, which would not ask. */
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
