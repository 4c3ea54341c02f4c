/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of passwords and its limits. */
#include <stdio.h>

#include "http/auth/password-cache.h"
#include "tests/unit/test.h"

static struct fingerprint print(const struct password_cache *cache, const char *user, const char *hash,
                                const char *password)
{
    struct fingerprint fingerprint;

    assert_int_equal(password_cache_fingerprint(cache, user, hash, password, &fingerprint), 0);
    return fingerprint;
}

static struct fingerprint numbered(const struct password_cache *cache, unsigned i)
{
    char password[16];

    snprintf(password, sizeof(password), "%u", i);
    return print(cache, "alice", "$2y$", password);
}

static void test_fingerprints(void **state)
{
    static const char *const triples[][3] = {
        {"alice", "h", "secret"},
        {"alice", "h", "secre"},
        {"alice", "h2", "secret"},
        {"alic", "eh", "secret"},
        {"aliceh", "", "secret"},
        {"alice", "hs", "ecret"},
        {"", "", ""},
    };
    struct password_cache cache, other;

    (void)state;
    assert_int_equal(password_cache_init(&cache), 0);
    assert_int_equal(password_cache_init(&other), 0);
    for (size_t i = 0; i < ARRAY_SIZE(triples); i++)
        for (size_t k = 0; k < ARRAY_SIZE(triples); k++) {
            struct fingerprint a = print(&cache, triples[i][0], triples[i][1], triples[i][2]);
            struct fingerprint b = print(&cache, triples[k][0], triples[k][1], triples[k][2]);
            struct fingerprint c = print(&other, triples[k][0], triples[k][1], triples[k][2]);
            assert_int_equal(fingerprint_equal(&a, &b), i == k);
            assert_false(fingerprint_equal(&a, &c));
        }
    password_cache_done(&cache);
    password_cache_done(&other);
}

static void test_remembers(void **state)
{
    struct password_cache cache;

    (void)state;
    assert_int_equal(password_cache_init(&cache), 0);
    struct fingerprint right = numbered(&cache, 1), wrong = numbered(&cache, 2);
    assert_int_equal(password_cache_find(&cache, &right), VERDICT_UNKNOWN);
    password_cache_remember(&cache, &right, true);
    password_cache_remember(&cache, &wrong, false);
    assert_int_equal(password_cache_find(&cache, &right), VERDICT_RIGHT);
    assert_int_equal(password_cache_find(&cache, &wrong), VERDICT_WRONG);
    struct fingerprint other_hash = print(&cache, "alice", "$2b$", "1");
    assert_int_equal(password_cache_find(&cache, &other_hash), VERDICT_UNKNOWN);
    password_cache_done(&cache);
}

static void test_bounds(void **state)
{
    struct password_cache cache;

    (void)state;
    assert_int_equal(password_cache_init(&cache), 0);
    struct fingerprint right = numbered(&cache, 0);
    password_cache_remember(&cache, &right, true);
    for (unsigned i = 1; i <= 10 * PASSWORD_CACHE_MAX; i++) {
        struct fingerprint wrong = numbered(&cache, i);
        password_cache_remember(&cache, &wrong, false);
    }
    assert_int_equal(password_cache_find(&cache, &right), VERDICT_RIGHT);
    struct fingerprint forgotten = numbered(&cache, 9 * PASSWORD_CACHE_MAX);
    struct fingerprint oldest = numbered(&cache, 9 * PASSWORD_CACHE_MAX + 1);
    assert_int_equal(password_cache_find(&cache, &forgotten), VERDICT_UNKNOWN);
    assert_int_equal(password_cache_find(&cache, &oldest), VERDICT_WRONG);
    /* One that is used stays. */
    for (unsigned i = 1; i <= 2 * PASSWORD_CACHE_MAX; i++) {
        struct fingerprint another = numbered(&cache, 100000 + i);
        password_cache_remember(&cache, &another, true);
        assert_int_equal(password_cache_find(&cache, &right), VERDICT_RIGHT);
    }
    password_cache_done(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fingerprints), cmocka_unit_test(test_remembers),
                                       cmocka_unit_test(test_bounds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
