/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "http/page.h"
#include "tests/unit/test.h"

static struct MHD_Response *make(void)
{
    static char text[] = "x";

    return MHD_create_response_from_buffer(1, text, MHD_RESPMEM_PERSISTENT);
}

static void test_keys(void **state)
{
    const struct page_key keys[] = {
        {PAGE_TEXT, false, 1}, {PAGE_TEXT, true, 1}, {PAGE_OPENMETRICS, false, 1}, {PAGE_TEXT, false, 2}};
    struct snapshot snapshot = {.generation = 1};
    struct pages pages = {0};
    struct MHD_Response *responses[ARRAY_SIZE(keys)];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        assert_null(pages_find(&pages, &snapshot, &keys[i]));
        pages_store(&pages, &keys[i], responses[i] = make());
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        assert_ptr_equal(pages_find(&pages, &snapshot, &keys[i]), responses[i]);
    pages_done(&pages);
}

static void test_a_new_reading_forgets_all(void **state)
{
    const struct page_key key = {PAGE_TEXT, false, 1}, other = {PAGE_TEXT, true, 1};
    struct snapshot snapshot = {.generation = 1}, another = {.generation = 2};
    struct pages pages = {0};

    (void)state;
    assert_null(pages_find(&pages, &snapshot, &key));
    pages_store(&pages, &key, make());
    snapshot.generation++;
    assert_null(pages_find(&pages, &snapshot, &other));
    snapshot.generation--;
    assert_null(pages_find(&pages, &snapshot, &key));
    snapshot.generation++;
    pages_find(&pages, &snapshot, &key);
    pages_store(&pages, &key, make());
    assert_null(pages_find(&pages, &another, &key));
    pages_done(&pages);
}

static void test_the_least_used_goes(void **state)
{
    struct snapshot snapshot = {.generation = 1};
    struct page_key key = {PAGE_TEXT, false, 0}, first = key;
    struct pages pages = {0};

    (void)state;
    for (uint32_t i = 0; i < PAGES_MAX + 1; i++) {
        key.mask = i;
        assert_null(pages_find(&pages, &snapshot, &key));
        pages_store(&pages, &key, make());
        assert_non_null(pages_find(&pages, &snapshot, &first));
    }
    for (uint32_t i = 0; i < PAGES_MAX + 1; i++) {
        key.mask = i;
        assert_int_equal(pages_find(&pages, &snapshot, &key) == NULL, i == 1);
    }
    pages_done(&pages);
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
