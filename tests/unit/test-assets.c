/* SPDX-License-Identifier: Apache-2.0 */
/* The files that web/compile.sh has put into the table. */
#include "web/assets.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "http/api/page.h"
#include "tests/unit/test.h"

static void test_table(void **state)
{
    uint32_t begin = 0;

    (void)state;
    assert_true(n_assets > 5);
    for (size_t i = 0; i < n_assets; i++) {
        const struct asset *asset = &assets[i];
        print_message("%s\n", asset->path);
        assert_int_equal(strlen(asset->tag), 16);
        assert_int_equal(strspn(asset->tag, "0123456789abcdef"), 16);
        assert_int_equal(asset->begin, begin);
        assert_ptr_equal(asset_find(asset->path), asset);
        begin += asset->size;
    }
}

/* Without a time and a name (RFC 1952, section 2.3), the same file gives the same bytes. */
static void test_reproducible(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_assets; i++) {
        const unsigned char *head = asset_bytes + assets[i].begin;
        assert_memory_equal(head, "\x1f\x8b\x08\x00\x00\x00\x00\x00", 8);
    }
}

static void test_decode(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_assets; i++) {
        _cleanup_(buffer_done) struct buffer decoded = {0};
        assert_int_equal(page_decode(&decoded, &assets[i]), 0);
        assert_int_equal(decoded.size, assets[i].full_size);
    }
}

static void test_unknown(void **state)
{
    static const char *const paths[] = {"", "app.j", "app.jss", "/app.js", "./app.js", "web/app.js", "App.js", "now"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_null(asset_find(paths[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_reproducible),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
