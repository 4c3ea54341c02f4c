/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "http/response-cache.h"
#include "tests/unit/test.h"

static struct MHD_Response *make(void)
{
    static char text[] = "x";

    return MHD_create_response_from_buffer(1, text, MHD_RESPMEM_PERSISTENT);
}

static void test_keys(void **state)
{
    const struct response_key keys[] = {{COUNTERS_TEXT, false, 1},
                                        {COUNTERS_TEXT, true, 1},
                                        {COUNTERS_OPENMETRICS, false, 1},
                                        {COUNTERS_TEXT, false, 2}};
    struct snapshot snapshot = {.generation = 1};
    struct response_cache cache = {0};
    struct MHD_Response *responses[ARRAY_SIZE(keys)];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        assert_null(response_cache_find(&cache, &snapshot, &keys[i]));
        response_cache_store(&cache, &keys[i], responses[i] = make());
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        assert_ptr_equal(response_cache_find(&cache, &snapshot, &keys[i]), responses[i]);
    response_cache_done(&cache);
}

static void test_a_new_reading_forgets_all(void **state)
{
    const struct response_key key = {COUNTERS_TEXT, false, 1}, other = {COUNTERS_TEXT, true, 1};
    struct snapshot snapshot = {.generation = 1}, another = {.generation = 2};
    struct response_cache cache = {0};

    (void)state;
    assert_null(response_cache_find(&cache, &snapshot, &key));
    response_cache_store(&cache, &key, make());
    snapshot.generation++;
    assert_null(response_cache_find(&cache, &snapshot, &other));
    snapshot.generation--;
    assert_null(response_cache_find(&cache, &snapshot, &key));
    snapshot.generation++;
    response_cache_find(&cache, &snapshot, &key);
    response_cache_store(&cache, &key, make());
    assert_null(response_cache_find(&cache, &another, &key));
    response_cache_done(&cache);
}

static void test_the_least_used_goes(void **state)
{
    struct snapshot snapshot = {.generation = 1};
    struct response_key key = {COUNTERS_TEXT, false, 0}, first = key;
    struct response_cache cache = {0};

    (void)state;
    for (uint32_t i = 0; i < RESPONSE_CACHE_MAX + 1; i++) {
        key.mask = i;
        assert_null(response_cache_find(&cache, &snapshot, &key));
        response_cache_store(&cache, &key, make());
        assert_non_null(response_cache_find(&cache, &snapshot, &first));
    }
    for (uint32_t i = 0; i < RESPONSE_CACHE_MAX + 1; i++) {
        key.mask = i;
        assert_int_equal(response_cache_find(&cache, &snapshot, &key) == NULL, i == 1);
    }
    response_cache_done(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_a_new_reading_forgets_all),
        cmocka_unit_test(test_the_least_used_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
