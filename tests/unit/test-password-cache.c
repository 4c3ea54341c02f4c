/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of passwords, and how much. */
#include <stdio.h>

#include "http/auth/password-cache.h"
#include "tests/unit/test.h"

static struct fingerprint print(const struct password_cache *verdicts, const char *user, const char *hash,
                                const char *password)
{
    struct fingerprint fingerprint;

    assert_int_equal(password_cache_fingerprint(verdicts, user, hash, password, &fingerprint), 0);
    return fingerprint;
}

static struct fingerprint numbered(const struct password_cache *verdicts, unsigned i)
{
    char password[16];

    snprintf(password, sizeof(password), "%u", i);
    return print(verdicts, "alice", "$2y$", password);
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
    struct password_cache verdicts, other;

    (void)state;
    assert_int_equal(password_cache_init(&verdicts), 0);
    assert_int_equal(password_cache_init(&other), 0);
    for (size_t i = 0; i < ARRAY_SIZE(triples); i++)
        for (size_t k = 0; k < ARRAY_SIZE(triples); k++) {
            struct fingerprint a = print(&verdicts, triples[i][0], triples[i][1], triples[i][2]);
            struct fingerprint b = print(&verdicts, triples[k][0], triples[k][1], triples[k][2]);
            struct fingerprint c = print(&other, triples[k][0], triples[k][1], triples[k][2]);
            assert_int_equal(fingerprint_equal(&a, &b), i == k);
            assert_false(fingerprint_equal(&a, &c));
        }
    password_cache_done(&verdicts);
    password_cache_done(&other);
}

static void test_remembers(void **state)
{
    struct password_cache verdicts;

    (void)state;
    assert_int_equal(password_cache_init(&verdicts), 0);
    struct fingerprint right = numbered(&verdicts, 1), wrong = numbered(&verdicts, 2);
    assert_int_equal(password_cache_find(&verdicts, &right), VERDICT_UNKNOWN);
    password_cache_remember(&verdicts, &right, true);
    password_cache_remember(&verdicts, &wrong, false);
    assert_int_equal(password_cache_find(&verdicts, &right), VERDICT_RIGHT);
    assert_int_equal(password_cache_find(&verdicts, &wrong), VERDICT_WRONG);
    struct fingerprint other_hash = print(&verdicts, "alice", "$2b$", "1");
    assert_int_equal(password_cache_find(&verdicts, &other_hash), VERDICT_UNKNOWN);
    password_cache_done(&verdicts);
}

static void test_bounds(void **state)
{
    struct password_cache verdicts;

    (void)state;
    assert_int_equal(password_cache_init(&verdicts), 0);
    struct fingerprint right = numbered(&verdicts, 0);
    password_cache_remember(&verdicts, &right, true);
    for (unsigned i = 1; i <= 10 * PASSWORD_CACHE_MAX; i++) {
        struct fingerprint wrong = numbered(&verdicts, i);
        password_cache_remember(&verdicts, &wrong, false);
    }
    assert_int_equal(password_cache_find(&verdicts, &right), VERDICT_RIGHT);
    struct fingerprint forgotten = numbered(&verdicts, 9 * PASSWORD_CACHE_MAX);
    struct fingerprint oldest = numbered(&verdicts, 9 * PASSWORD_CACHE_MAX + 1);
    assert_int_equal(password_cache_find(&verdicts, &forgotten), VERDICT_UNKNOWN);
    assert_int_equal(password_cache_find(&verdicts, &oldest), VERDICT_WRONG);
    /* One that is used stays. */
    for (unsigned i = 1; i <= 2 * PASSWORD_CACHE_MAX; i++) {
        struct fingerprint another = numbered(&verdicts, 100000 + i);
        password_cache_remember(&verdicts, &another, true);
        assert_int_equal(password_cache_find(&verdicts, &right), VERDICT_RIGHT);
    }
    password_cache_done(&verdicts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fingerprints), cmocka_unit_test(test_remembers),
                                       cmocka_unit_test(test_bounds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
