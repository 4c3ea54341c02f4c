/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization headers, good and bad. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "http/auth/credential.h"
#include "tests/unit/test.h"

static const struct {
    const char *in, *out_user, *out_password; /* NULL: refused */
} cases[] = {
    {"Basic YWxpY2U6c2VjcmV0", "alice", "secret"},
    {"basic YWxpY2U6c2VjcmV0", "alice", "secret"},
    {"BASIC   YWxpY2U6c2VjcmV0", "alice", "secret"},
    {"Basic YWxpY2U6c2U6Y3I6ZXQ=", "alice", "se:cr:et"},
    {"Basic Og==", "", ""},
    {"Basic YWxpY2U6", "alice", ""},
    {"Basic OnNlY3JldA==", "", "secret"},
    {"Basic w6RsaWNlOnDDpHNz", "\303\244lice", "p\303\244ss"},
    {"Basic /zr/", "\377", "\377"},
    {"", NULL, NULL},
    {"Basic", NULL, NULL},
    {"Basic ", NULL, NULL},
    {"BasicYWxpY2U6c2VjcmV0", NULL, NULL},
    {"Basic\tYWxpY2U6c2VjcmV0", NULL, NULL},
    {"Bearer YWxpY2U6c2VjcmV0", NULL, NULL},
    {"Basic alice:secret", NULL, NULL},
    {"Basic YWxpY2U=", NULL, NULL},                 /* no colon */
    {"Basic YWxpY2U6c2VjcmV0 ", NULL, NULL},        /* a blank behind */
    {"Basic YWxpY2U6 c2VjcmV0", NULL, NULL},        /* and within */
    {"Basic YWxpY2U6c2VjcmV", NULL, NULL},          /* a digit is missing */
    {"Basic YWxpY2U6c2U6Y3I6ZXQ", NULL, NULL},      /* the padding is missing */
    {"Basic YWxpY2U6c2U6Y3I6ZXQ=====", NULL, NULL}, /* too much of it */
    {"Basic YWxpY2U6====", NULL, NULL},
    {"Basic YWxp=2U6c2VjcmV0", NULL, NULL},
    {"Basic YWxpY2U6c2Vj-mV_", NULL, NULL},     /* base64url */
    {"Basic YWxpY2U6c2VjcmV0AA==", NULL, NULL}, /* a NUL behind the password */
    {"Basic YQBsaWNlOnNlY3JldA==", NULL, NULL}, /* and in the name */
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct credential credential, copy;
        int r = credential_parse(cases[i].in, &credential);
        print_message("\"%s\"\n", cases[i].in);
        assert_int_equal(r, cases[i].out_user ? 0 : -EINVAL);
        if (r < 0)
            continue;
        assert_string_equal(credential.user, cases[i].out_user);
        assert_string_equal(credential.password, cases[i].out_password);
        credential_copy(&credential, &copy);
        credential_done(&credential);
        assert_string_equal(copy.user, cases[i].out_user);
        assert_string_equal(copy.password, cases[i].out_password);
        credential_done(&copy);
        for (size_t k = 0; k < sizeof(copy.text); k++)
            assert_int_equal(copy.text[k], 0);
    }
}

/* "u:" and zeroes of base64, which decode to NULs, would be refused for that: 'AAAA' is not used. */
static int parse_long(size_t user, size_t password)
{
    _cleanup_(buffer_done) struct buffer value = {0};
    struct credential credential;

    buffer_append_text(&value, "Basic ");
    for (size_t i = 0; i < user / 3; i++)
        buffer_append_text(&value, "YWFh");
    buffer_append_text(&value, "YWE6");
    for (size_t i = 0; i < password / 3; i++)
        buffer_append_text(&value, "YWFh");
    buffer_append_char(&value, '\0');
    int r = credential_parse(value.data, &credential);
    if (r == 0)
        credential_done(&credential);
    return r;
}

static void test_length(void **state)
{
    (void)state;
    assert_int_equal(parse_long(0, CREDENTIAL_MAX - 3), 0);
    assert_int_equal(parse_long(0, CREDENTIAL_MAX + 3), -EINVAL);
    assert_int_equal(parse_long(CREDENTIAL_MAX - 6, 3), 0);
    assert_int_equal(parse_long(CREDENTIAL_MAX + 3, 3), -EINVAL);
    assert_int_equal(parse_long(9000, 9000), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse), cmocka_unit_test(test_length)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
