/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts allocations in a test that is linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc. Exactly one source
 * file of a test may include this header.
 */
#ifndef TESTS_UNIT_COUNT_ALLOCATIONS_H
#define TESTS_UNIT_COUNT_ALLOCATIONS_H

#include <stddef.h>

static size_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    allocations++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

#endif
