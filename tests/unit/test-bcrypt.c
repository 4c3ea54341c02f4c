/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a bcrypt hash: hashes of libcrypt are accepted, other texts are refused, and no message quotes them. */
#include <crypt.h>
#include <stdio.h>

#include "config/bcrypt.h"
#include "tests/unit/test.h"

#define DIGEST "abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ./01234"
#define DIGEST_53 "bcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ./0123"

static void test_hashes_of_libcrypt(void **state)
{
    (void)state;
    static const char *const kinds[] = {"$2a$", "$2b$", "$2x$", "$2y$"};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        char setting[64];
        struct crypt_data data = {0};
        struct error error = {0};
        snprintf(setting, sizeof(setting), "%s04$abcdefghijklmnopqrstuu", kinds[i]);
        const char *hash = crypt_r("hunter2", setting, &data);
        assert_non_null(hash);
        assert_true(str_starts(hash, setting));
        if (bcrypt_check(hash, &error) < 0)
            fail_msg("%s: %s", hash, error.message);
    }
}

static void test_what_is_taken_is_a_setting(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "$2a$04$" DIGEST_53,
        "$2b$10$" DIGEST_53,
        "$2x$19$" DIGEST_53,
        "$2y$31$" DIGEST_53,
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(bcrypt_check(cases[i], NULL), 0);
        assert_int_not_equal(crypt_checksalt(cases[i]), CRYPT_SALT_INVALID);
    }
}

static void test_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", "there is no hash; "},
        {"hunter2", "this is not a bcrypt hash, but looks like the password itself; "},
        {"$hunter2", "this is not a bcrypt hash, but looks like the password itself; "},
        {"$1$hunter2$x", "this is a hash, but not a bcrypt hash; "},
        {"$y$hunter2$x", "this is a hash, but not a bcrypt hash; "},
        {"{SSHA}hunter2", "this is a hash, but not a bcrypt hash; "},
        {"$2", "the bcrypt hash does not start with "},
        {"$2a", "the bcrypt hash does not start with "},
        {"$2$10$" DIGEST_53, "the bcrypt hash does not start with "},
        {"$2z$10$" DIGEST_53, "the bcrypt hash does not start with "},
        {"$2y$", "the bcrypt hash is damaged: its cost "},
        {"$2y$1", "the bcrypt hash is damaged: its cost "},
        {"$2y$10", "the bcrypt hash is damaged: its cost "},
        {"$2y$03$" DIGEST_53, "the bcrypt hash is damaged: its cost "},
        {"$2y$32$" DIGEST_53, "the bcrypt hash is damaged: its cost "},
        {"$2y$-1$" DIGEST_53, "the bcrypt hash is damaged: its cost "},
        {"$2y$100" DIGEST_53, "the bcrypt hash is damaged: its cost "},
        {"$2y$10$", "the bcrypt hash is damaged: it has 0 characters "},
        {"$2y$10$" DIGEST, "the bcrypt hash is damaged: it has 55 characters "},
        {"$2y$10$ " DIGEST_53, "the bcrypt hash is damaged: it has a character that bcrypt never"},
        {"$2y$10$\xc3\xa4" DIGEST_53, "the bcrypt hash is damaged: it has a character that bcrypt never"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        assert_int_equal(bcrypt_check(cases[i].in, &error), -EINVAL);
        if (!str_starts(error.message, cases[i].out))
            fail_msg("%s: %s", cases[i].in, error.message);
        assert_null(strstr(error.message, "hunter2"));
        assert_null(strstr(error.message, "bcdef"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashes_of_libcrypt),
        cmocka_unit_test(test_what_is_taken_is_a_setting),
        cmocka_unit_test(test_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
