/* SPDX-License-Identifier: Apache-2.0 */
/* Elements are found by their hashes, also where many have the same. */
#include "base/hash-index.h"
#include "tests/unit/test.h"

static bool has(const struct hash_index *slots, uint32_t hash, uint32_t index)
{
    uint32_t found;

    for (size_t at = 0; (found = hash_index_next(slots, hash, &at)) != HASH_INDEX_NONE;)
        if (found == index)
            return true;
    return false;
}

/* Hashes that all differ, that collide in their low bits, that are a few, that are one. */
static uint32_t hash_of(unsigned kind, uint32_t i)
{
    switch (kind) {
    case 0:
        return i * 2654435761;
    case 1:
        return i << 20;
    case 2:
        return UINT32_MAX - i % 7;
    default:
        return 0;
    }
}

static void test_find(void **state)
{
    enum { N = 1500 };

    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct hash_index slots = {0};
        assert_false(has(&slots, hash_of(kind, 0), 0));
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(hash_index_add(&slots, hash_of(kind, i), i), 0);
        assert_int_equal(slots.n, N);
        for (uint32_t i = 0; i < N; i++)
            assert_true(has(&slots, hash_of(kind, i), i));
        assert_false(has(&slots, hash_of(kind, 0), N));
        assert_false(has(&slots, 12345, 0));
        hash_index_done(&slots);
        assert_int_equal(slots.size, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_find)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
