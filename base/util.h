/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers: array lengths, string comparison, growing arrays and binary search. */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_USEC UINT64_C(1000)
#define USEC_PER_SEC UINT64_C(1000000)

static inline bool str_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static inline bool str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static inline bool str_ends(const char *text, const char *suffix)
{
    size_t size = strlen(text), length = strlen(suffix);
    return size >= length && str_equal(text + size - length, suffix);
}

static inline bool str_is_one_of(const char *text, const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++)
        if (str_equal(text, words[i]))
            return true;
    return false;
}

/*
 * array_grow(&array, n) makes room for one more element in an array of `n` elements. The capacity is not stored: it is
 * `n` rounded up to a power of two. Returns -ENOMEM on failure; the array is then unchanged.
 */
static inline int array_grow_(void **array, size_t n, size_t element_size)
{
    if (n != 0 && (n & (n - 1)) != 0)
        return 0;
    void *larger = reallocarray(*array, n ? 2 * n : 1, element_size);
    if (!larger)
        return -ENOMEM;
    *array = larger;
    return 0;
}
#define array_grow(array, n) array_grow_((void **)(array), (n), sizeof(**(array)))

/* The allocated size in bytes of an array that array_grow() has grown to at most `n` elements. */
static inline size_t array_bytes(size_t n, size_t element_size)
{
    size_t capacity = n ? 1 : 0;

    while (capacity < n)
        capacity *= 2;
    return capacity * element_size;
}

/*
 * Binary search: the first index below `n` for which `before`, an expression in `i`, is false, or `n` if it is true for
 * every index. Once `before` is false for an index, it must be false for all later ones.
 */
#define array_search(n, i, before)                                                                                     \
    ({                                                                                                                 \
        size_t low_ = 0, high_ = (n);                                                                                  \
        while (low_ < high_) {                                                                                         \
            size_t i = low_ + (high_ - low_) / 2;                                                                      \
            if (before)                                                                                                \
                low_ = i + 1;                                                                                          \
            else                                                                                                       \
                high_ = i;                                                                                             \
        }                                                                                                              \
        low_;                                                                                                          \
    })

#endif
