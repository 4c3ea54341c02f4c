/* SPDX-License-Identifier: Apache-2.0 */
/* From versions, suites and curves by Go's names to those that GnuTLS enables. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "http/tls/priority.h"
#include "tests/unit/test.h"

#define NAMES_MAX 8

static size_t count(const char *const *names)
{
    size_t n = 0;

    while (n < NAMES_MAX && names[n])
        n++;
    return n;
}

/* "0xc02f 0xc030", sorted as GnuTLS has them. */
static char *ids(gnutls_priority_t priority)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    unsigned char id[2];
    unsigned suite;
    int r = 0;

    for (unsigned i = 0; priority && r != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE; i++) {
        r = gnutls_priority_get_cipher_suite_index(priority, i, &suite);
        if (r == 0 && gnutls_cipher_suite_info(suite, id, NULL, NULL, NULL, NULL))
            buffer_appendf(&text, "%s%02x%02x", text.size ? " " : "", id[0], id[1]);
    }
    return buffer_string(&text);
}

static char *groups(gnutls_priority_t priority)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    const unsigned *list;
    int n = gnutls_priority_group_list(priority, &list);

    for (int i = 0; i < n; i++)
        buffer_appendf(&text, "%s%s", i ? " " : "", gnutls_group_get_name(list[i]));
    return buffer_string(&text);
}

static char *versions(gnutls_priority_t priority)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    const unsigned *list;
    int n = gnutls_priority_protocol_list(priority, &list);

    for (int i = 0; i < n; i++)
        buffer_appendf(&text, "%s%s", i ? " " : "", gnutls_protocol_get_name(list[i]));
    return buffer_string(&text);
}

#define USUAL_GROUPS "X25519 SECP256R1 SECP384R1 SECP521R1"
#define SUITES_1_3 "1301 1302 1303"

static const struct {
    const char *name;
    enum tls_version min, max;
    const char *suites[NAMES_MAX], *curves[NAMES_MAX];
    const char *versions, *older, *groups; /* `older` of the priority that serves up to 1.2 */
} good[] = {
    {"the usual",
     TLS_VERSION_1_2,
     TLS_VERSION_1_3,
     {0},
     {0},
     "TLS1.3 TLS1.2",
     "c02b c02c cca9 c009 c00a c02f c030 cca8 c013 c014",
     USUAL_GROUPS},
    {"one",
     TLS_VERSION_1_2,
     TLS_VERSION_1_3,
     {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
     {0},
     "TLS1.3 TLS1.2",
     "c02f",
     USUAL_GROUPS},
    {"the same one by both of its names",
     TLS_VERSION_1_2,
     TLS_VERSION_1_2,
     {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"},
     {0},
     "TLS1.2",
     "cca8",
     USUAL_GROUPS},
    {"in its order",
     TLS_VERSION_1_2,
     TLS_VERSION_1_3,
     {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
     {0},
     "TLS1.3 TLS1.2",
     "c030 c02f",
     USUAL_GROUPS},
    {"a whole product",
     TLS_VERSION_1_0,
     TLS_VERSION_1_2,
     {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
      "TLS_RSA_WITH_AES_256_CBC_SHA"},
     {0},
     "TLS1.2 TLS1.1 TLS1.0",
     "c013 c014 002f 0035",
     USUAL_GROUPS},
    {"1.3 alone", TLS_VERSION_1_3, TLS_VERSION_1_3, {0}, {"CurveP384"}, "TLS1.3", SUITES_1_3, "SECP384R1"},
    {"1.3 alone does not mind suites",
     TLS_VERSION_1_3,
     TLS_VERSION_1_3,
     {"TLS_AES_128_GCM_SHA256"},
     {"CurveP521", "X25519"},
     "TLS1.3",
     SUITES_1_3,
     "SECP521R1 X25519"},
};

static const struct {
    const char *name;
    enum tls_version min, max;
    const char *suites[NAMES_MAX], *curves[NAMES_MAX];
    const char *error;
} bad[] = {
    {"a product that has more",
     TLS_VERSION_1_2,
     TLS_VERSION_1_3,
     {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
     {0},
     "it would add TLS_ECDHE_"},
    {"one more by the MAC",
     TLS_VERSION_1_2,
     TLS_VERSION_1_2,
     {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"},
     {0},
     "it would add TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA;"},
    {"unknown", TLS_VERSION_1_2, TLS_VERSION_1_3, {"TLS_RSA_WITH_RC4_128_SHA"}, {0}, "does not have TLS_RSA_WITH_RC4"},
    {"only 1.3's", TLS_VERSION_1_2, TLS_VERSION_1_3, {"TLS_AES_128_GCM_SHA256"}, {0}, "only suites of TLS 1.3"},
    {"a curve", TLS_VERSION_1_2, TLS_VERSION_1_3, {0}, {"X25519MLKEM768"}, "does not have X25519MLKEM768"},
    {"backwards", TLS_VERSION_1_3, TLS_VERSION_1_2, {0}, {0}, "above max_version"},
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct web_tls config = {
            .min_version = good[i].min,
            .max_version = good[i].max,
            .cipher_suites = {(char **)good[i].suites, count(good[i].suites)},
            .curve_preferences = {(char **)good[i].curves, count(good[i].curves)},
        };
        _cleanup_(tls_priorities_done) struct tls_priorities priorities = {0};
        struct error error = {0};

        print_message("%s\n", good[i].name);
        int r = tls_priorities_init(&priorities, &config, &error);
        assert_string_equal(error.message, "");
        assert_int_equal(r, 0);
        gnutls_priority_t older = priorities.older ? priorities.older : priorities.first;
        _cleanup_(freep) char *in_all = versions(priorities.first), *of_older = ids(older), *in_groups = groups(older),
                              *first_groups = groups(priorities.first);
        assert_string_equal(in_all, good[i].versions);
        assert_string_equal(of_older, good[i].older);
        assert_string_equal(in_groups, good[i].groups);
        assert_string_equal(first_groups, good[i].groups);
    }
}

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct web_tls config = {
            .min_version = bad[i].min,
            .max_version = bad[i].max,
            .cipher_suites = {(char **)bad[i].suites, count(bad[i].suites)},
            .curve_preferences = {(char **)bad[i].curves, count(bad[i].curves)},
        };
        struct tls_priorities priorities = {0};
        struct error error = {0};

        print_message("%s\n", bad[i].name);
        assert_int_equal(tls_priorities_init(&priorities, &config, &error), -EINVAL);
        assert_null(priorities.first);
        assert_non_null(strstr(error.message, bad[i].error));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
