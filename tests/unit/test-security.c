/* SPDX-License-Identifier: Apache-2.0 */
/* A web configuration is loaded with the files that it names, or the error names the file and the place. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/auth/security.h"
#include "tests/unit/test.h"

#define NAME "web.yml" /* in a directory of its own */

static const struct {
    const char *text; /* NULL: no file */
    int code;
    size_t n_stamps;
    const char *sentence; /* or "" */
} cases[] = {
    {"", 0, 1, ""},
    {"rate_limit: {}\n", 0, 1, ""},
    {NULL, -ENOENT, 1, NAME ": "},
    {"basic_auth: 1\n", -EINVAL, 1, NAME ":1:1: "},
    {"tls_server_config:\n  cert_file: /none.pem\n  key_file: /none.key\n", -ENOENT, 3,
     NAME ": cert_file \"/none.pem\" cannot be read: No such file or directory (ENOENT)"},
};

static void test_load(void **state)
{
    char directory[] = "/tmp/test-security-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(security_unrefp) struct security *security = NULL;
        _cleanup_(file_versions_done) struct file_versions versions = {0};
        struct error error = {0};

        remove(NAME);
        if (cases[i].text) {
            _cleanup_(fclosep) FILE *file = fopen(NAME, "we");
            fputs(cases[i].text, file);
        }
        int r = security_load(NULL, NAME, &security, &versions, &error);
        print_message("%zu: %s\n", i, error.message);
        assert_int_equal(r, cases[i].code);
        assert_int_equal(versions.n, cases[i].n_stamps);
        assert_true(str_starts(error.message, cases[i].sentence));
        assert_int_equal(error.line, 0);
        assert_true((security != NULL) == (r == 0));
    }
    remove(NAME);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(directory), 0);
}

/* Open to all, and nothing to look at. */
static void test_no_file(void **state)
{
    const char *const none[] = {NULL, ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        _cleanup_(security_unrefp) struct security *security = NULL, *again = NULL;
        struct file_versions versions;
        struct error error;

        assert_int_equal(security_load(NULL, none[i], &security, &versions, &error), 0);
        assert_int_equal(versions.n, 0);
        assert_null(security->config);
        assert_null(security->tls);
        again = security_ref(security);
        assert_ptr_equal(again, security);
    }
}

#define HASH(cost) "$2y$" cost "$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234"

#define USERS "basic_auth_users:\n"

/* The one warning, if any, and how its sentence begins. */
static const struct {
    const char *in;
    enum security_warning which;
    const char *sentence; /* NULL: none */
} warnings[] = {
    {USERS "  a: " HASH("10") "\n", SECURITY_PASSWORD_SLOW, NULL},
    {USERS "  a: " HASH("14") "\n", SECURITY_PASSWORD_SLOW, NULL},
    {USERS "  a: " HASH("15") "\n", SECURITY_PASSWORD_SLOW, "basic_auth_users: the bcrypt cost of \"a\" is 15: "},
    {USERS "  a: " HASH("04") "\n  b: " HASH("31") "\n  c: " HASH("18") "\n", SECURITY_PASSWORD_SLOW,
     "basic_auth_users: the bcrypt cost of \"b\" is 31: to check one new password, right or wrong, takes 2097152 "
     "times "},
    {"{}", SECURITY_HTTP2_UNUSED, NULL},
    {"http_server_config: {http2: false}", SECURITY_HTTP2_UNUSED, NULL},
    {"http_server_config: {http2: true}", SECURITY_HTTP2_UNUSED,
     "http_server_config.http2: HTTP/2 is allowed, but perfcountd serves HTTP/1.1 only, "},
};

static void test_warnings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(warnings); i++) {
        _cleanup_(security_unrefp) struct security *security = NULL;
        _cleanup_(file_versions_done) struct file_versions versions = {0};
        _cleanup_(fclosep) FILE *file = fopen(NAME, "we");
        struct error error = {0};

        fputs(warnings[i].in, file);
        fflush(file);
        assert_int_equal(security_load(NULL, NAME, &security, &versions, &error), 0);
        for (int k = 0; k < N_SECURITY_WARNINGS; k++) {
            const char *warning = security_warning(security, (enum security_warning)k);
            const char *expected = k == (int)warnings[i].which ? warnings[i].sentence : NULL;
            assert_true(!warning == !expected);
            assert_true(!warning || str_starts(warning, expected));
        }
    }
    remove(NAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
