/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication: credentials, password hashes, the password cache, the trust of clients, web configuration files,
 * and all of it over real sockets.
 */
#include <crypt.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gnutls/gnutls.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "config/web-keys.h"
#include "http/auth.h"
#include "http/password.h"
#include "http/security.h"
#include "http/trust.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

#define SALT "abcdefghijklmnopqrstuu"
#define SECRET "2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define OTHER "6FttqYLNXdPO90XO7YlC0uHRd1WxOhm"
#define CHEAP "$2y$04$" SALT SECRET /* "secret" */

/*
 * Replaces libcrypt's crypt_rn(), which checks every password. The replacement counts the calls and their work, 2^cost
 * each, and blocks the calling thread while `held` is set.
 */
static atomic_uint work, n_checks;
static atomic_bool held;
static sem_t go;

char *__real_crypt_rn(const char *phrase, const char *setting, void *data, int size);
char *__wrap_crypt_rn(const char *phrase, const char *setting, void *data, int size);

char *__wrap_crypt_rn(const char *phrase, const char *setting, void *data, int size)
{
    n_checks++;
    work += 1U << strtoul(setting + strlen("$2y$"), NULL, 10);
    if (held)
        sem_wait(&go);
    return __real_crypt_rn(phrase, setting, data, size);
}

static void hold(void)
{
    sem_init(&go, 0, 0);
    n_checks = 0;
    held = true;
}

static void let_go(void)
{
    held = false;
    sem_post(&go);
}

/* --- credentials */

static const struct {
    const char *in, *out_user, *out_password; /* NULL: refused */
} credentials[] = {
    {"Basic YWxpY2U6c2VjcmV0", "alice", "secret"},
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
    {"Basic YWxpY2U6c2VjcmV0 ", NULL, NULL},        /* a trailing space */
    {"Basic YWxpY2U6 c2VjcmV0", NULL, NULL},        /* a space in the middle */
    {"Basic YWxpY2U6c2VjcmV", NULL, NULL},          /* a digit is missing */
    {"Basic YWxpY2U6c2U6Y3I6ZXQ", NULL, NULL},      /* the padding is missing */
    {"Basic YWxpY2U6c2U6Y3I6ZXQ=====", NULL, NULL}, /* too much padding */
    {"Basic YWxp=2U6c2VjcmV0", NULL, NULL},
    {"Basic YWxpY2U6c2Vj-mV_", NULL, NULL},     /* base64url */
    {"Basic YWxpY2U6c2VjcmV0AA==", NULL, NULL}, /* a NUL after the password */
    {"Basic YQBsaWNlOnNlY3JldA==", NULL, NULL}, /* a NUL in the name */
};

TEST(test_credentials)
{
    for (size_t i = 0; i < ARRAY_SIZE(credentials); i++) {
        struct credential credential, copy;
        int r = credential_parse(credentials[i].in, &credential);
        print_message("\"%s\"\n", credentials[i].in);
        assert_int_equal(r, credentials[i].out_user ? 0 : -EINVAL);
        if (r < 0)
            continue;
        assert_string_equal(credential.user, credentials[i].out_user);
        assert_string_equal(credential.password, credentials[i].out_password);
        credential_copy(&credential, &copy);
        credential_done(&credential);
        assert_string_equal(copy.user, credentials[i].out_user);
        assert_string_equal(copy.password, credentials[i].out_password);
        credential_done(&copy);
        for (size_t k = 0; k < sizeof(copy.text); k++)
            assert_int_equal(copy.text[k], 0);
    }
}

/*
 * Parses a credential with a name of `user` + 2 bytes and a password of `password` bytes. `user` and `password` are
 * multiples of 3.
 */
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

TEST(test_credential_length)
{
    assert_int_equal(parse_long(0, CREDENTIAL_MAX - 3), 0);
    assert_int_equal(parse_long(0, CREDENTIAL_MAX + 3), -EINVAL);
    assert_int_equal(parse_long(CREDENTIAL_MAX - 6, 3), 0);
    assert_int_equal(parse_long(CREDENTIAL_MAX + 3, 3), -EINVAL);
    assert_int_equal(parse_long(9000, 9000), -EINVAL);
}

/* --- hashes */

#define DIGEST "abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ./01234"
#define DIGEST_53 "bcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ./0123"
#define LOOKS_PLAIN "this is not a bcrypt hash, but looks like the password itself; "
#define OTHER_HASH "this is a hash, but not a bcrypt hash; "
#define NO_KIND "the bcrypt hash does not start with "
#define BAD_COST "the bcrypt hash is damaged: the cost must "
#define BAD_CHARACTER "the bcrypt hash is damaged: it contains a character that bcrypt never"

/*
 * `out` is the beginning of the error message, which must not quote the hash. With NULL, perfcountd and libcrypt accept
 * the hash.
 */
static const struct {
    const char *in, *out;
} hashes[] = {
    {"$2a$04$" DIGEST_53, NULL},
    {"$2b$10$" DIGEST_53, NULL},
    {"$2x$19$" DIGEST_53, NULL},
    {"$2y$31$" DIGEST_53, NULL},
    {"", "there is no hash; "},
    {"hunter2", LOOKS_PLAIN},
    {"$hunter2", LOOKS_PLAIN},
    {"{hunter2", LOOKS_PLAIN},
    {"$1$hunter2$x", OTHER_HASH},
    {"$y$hunter2$x", OTHER_HASH},
    {"{SSHA}hunter2", OTHER_HASH},
    {"$2", NO_KIND},
    {"$2$10$" DIGEST_53, NO_KIND},
    {"$2z$10$" DIGEST_53, NO_KIND},
    {"$2y$", BAD_COST},
    {"$2y$10", BAD_COST},
    {"$2y$03$" DIGEST_53, BAD_COST},
    {"$2y$32$" DIGEST_53, BAD_COST},
    {"$2y$-1$" DIGEST_53, BAD_COST},
    {"$2y$1x$" DIGEST_53, BAD_COST},
    {"$2y$1-$" DIGEST_53, BAD_COST},
    {"$2b_10$" DIGEST_53, NO_KIND},
    {"$2y$100" DIGEST_53, BAD_COST},
    {"$2y$10$", "the bcrypt hash is damaged: it has 0 characters "},
    {"$2y$10$" DIGEST, "the bcrypt hash is damaged: it has 55 characters "},
    {"$2y$10$ " DIGEST_53, BAD_CHARACTER},
    {"$2y$10$\xc3\xa4" DIGEST_53, BAD_CHARACTER},
};

TEST(test_hashes)
{
    for (size_t i = 0; i < ARRAY_SIZE(hashes); i++) {
        struct error error = {0};
        print_message("%s\n", hashes[i].in);
        assert_int_equal(bcrypt_check(hashes[i].in, &error), hashes[i].out ? -EINVAL : 0);
        assert_true(str_starts(error.message, hashes[i].out ? hashes[i].out : ""));
        assert_null(strstr(error.message, "hunter2"));
        assert_null(strstr(error.message, "bcdef"));
        if (!hashes[i].out)
            assert_int_not_equal(crypt_checksalt(hashes[i].in), CRYPT_SALT_INVALID);
    }
}

#define NINE_A "aaaaaaaaa"
#define A72 NINE_A NINE_A NINE_A NINE_A NINE_A NINE_A NINE_A NINE_A

static const struct {
    const char *in_hash, *in_password;
    unsigned out_cost;
    bool out;
} passwords[] = {
    {"$2y$04$" SALT SECRET, "secret", 4, true},
    {"$2b$04$" SALT SECRET, "secret", 4, true},
    {"$2a$04$" SALT SECRET, "secret", 4, true},
    {"$2y$06$" SALT OTHER, "other", 6, true},
    {"$2y$10$" SALT "qflPDzB6gcMhKa1rZqKiun2YGL5sa2u", "secret", 10, true},
    {"$2y$04$" SALT "yx2n0Zzopyr9QuYTMCfOJJOj526QVoC", "p\303\244ssw\303\266rd", 4, true},
    {"$2y$04$" SALT "byCG3zY1GIXMyxfivm.ClDiInHzxjiq", "", 4, true},
    /* bcrypt ignores all bytes of a password after the 72nd. */
    {"$2y$04$" SALT "BzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe", A72, 4, true},
    {"$2y$04$" SALT "BzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe", A72 "b", 4, true},
    {"$2y$04$" SALT SECRET, "Secret", 4, false},
    {"$2y$04$" SALT SECRET, "", 4, false},
    {"$2y$04$" SALT "2r9OfJnfCsdneAXAGHnS4UpFFP8WIrX", "secret", 4, false},
    {"secret", "secret", 0, false},
    {"*0", "secret", 0, false},
    {"$2y$03$" SALT SECRET, "secret", 0, false},
    {"$2y$32$" SALT SECRET, "secret", 0, false},
    {"$1$abcdefgh$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "secret", 0, false},
};

TEST(test_passwords)
{
    _cleanup_(freep) struct crypt_data *data = calloc(1, sizeof(*data));

    for (size_t i = 0; i < ARRAY_SIZE(passwords); i++) {
        print_message("%s\n", passwords[i].in_hash);
        assert_int_equal(password_cost(passwords[i].in_hash), passwords[i].out_cost);
        assert_int_equal(password_matches(passwords[i].in_password, passwords[i].in_hash, 4, data), passwords[i].out);
        for (size_t k = 0; k < sizeof(*data); k++)
            assert_int_equal(((char *)data)[k], 0);
    }
    assert_false(password_matches("secret", NULL, 4, data));
}

/*
 * Checking a wrong password takes the same work for the cheapest hash, the most expensive hash and an unknown user, so
 * that the response time does not tell them apart.
 */
TEST(test_wrong_takes_its_work)
{
    static const char *const of[] = {NULL, "$2y$08$" SALT SECRET, "$2y$05$" SALT SECRET, CHEAP};
    _cleanup_(freep) struct crypt_data *data = calloc(1, sizeof(*data));

    for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
        work = 0;
        assert_false(password_matches("wrong", of[i], 8, data));
        assert_int_equal(work, 1 << 8);
    }
}

/* --- the password cache */

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

/*
 * Fingerprints differ if a name, a hash or a password differs, even if the three strings joined together are the same.
 */
TEST(test_fingerprints)
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
    struct password_cache cache;

    assert_int_equal(password_cache_init(&cache), 0);
    for (size_t i = 0; i < ARRAY_SIZE(triples); i++)
        for (size_t k = 0; k < ARRAY_SIZE(triples); k++) {
            struct fingerprint a = print(&cache, triples[i][0], triples[i][1], triples[i][2]);
            struct fingerprint b = print(&cache, triples[k][0], triples[k][1], triples[k][2]);
            assert_int_equal(fingerprint_equal(&a, &b), i == k);
        }
    password_cache_done(&cache);
}

static void remember(struct password_cache *cache, unsigned i, bool right)
{
    struct fingerprint fingerprint = numbered(cache, i);

    password_cache_remember(cache, &fingerprint, right);
}

static enum password_result find(struct password_cache *cache, unsigned i)
{
    struct fingerprint fingerprint = numbered(cache, i);

    return password_cache_find(cache, &fingerprint);
}

/* Wrong passwords do not evict right ones from the cache, and an entry in use is not evicted. */
TEST(test_remembers)
{
    struct password_cache cache;

    assert_int_equal(password_cache_init(&cache), 0);
    assert_int_equal(find(&cache, 0), PASSWORD_UNKNOWN);
    remember(&cache, 0, true);
    for (unsigned i = 1; i <= 10 * PASSWORD_CACHE_MAX; i++)
        remember(&cache, i, false);
    assert_int_equal(find(&cache, 0), PASSWORD_RIGHT);
    assert_int_equal(find(&cache, 9 * PASSWORD_CACHE_MAX), PASSWORD_UNKNOWN);
    assert_int_equal(find(&cache, 9 * PASSWORD_CACHE_MAX + 1), PASSWORD_WRONG);
    for (unsigned i = 1; i <= 2 * PASSWORD_CACHE_MAX; i++) {
        remember(&cache, 100000 + i, true);
        assert_int_equal(find(&cache, 0), PASSWORD_RIGHT);
    }
    password_cache_done(&cache);
}

/* --- trust */

static const struct peer elsewhere = {.local = false}, loopback = {.local = true},
                         stranger = {.local = true, .unix_socket = true},
                         member = {.local = true, .unix_socket = true, .role = PEER_MEMBER},
                         owner = {.local = true, .unix_socket = true, .role = PEER_OWNER};

#define AGENT "User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"
#define PROOF "X-Requested-With", "perfcountd"

static const struct {
    const struct peer *in_peer;
    bool in_authenticated;
    const char *in_headers[4][2];
    enum trust out;
} trusts[] = {
    /* Requests from clients that are not browsers. */
    {&elsewhere, false, {{"Host", "board"}}, TRUST_EVERYBODY},
    {&elsewhere, true, {{"Host", "anything.example"}}, TRUST_OPERATOR},
    {&loopback, false, {{"Host", "127.0.0.1:10298"}}, TRUST_LOCAL},
    {&loopback, false, {{"Host", "board"}, {"User-Agent", "curl/8.0"}}, TRUST_LOCAL},
    {&loopback, false, {{"User-Agent", "curl/8.0"}}, TRUST_LOCAL},
    {&loopback, false, {{"Host", "evil.example"}}, TRUST_EVERYBODY},
    {&loopback, false, {{"Host", ""}}, TRUST_EVERYBODY},
    {&loopback, true, {{"Host", "evil.example"}}, TRUST_OPERATOR},
    {&stranger, false, {{"Host", "localhost"}}, TRUST_LOCAL},
    {&stranger, false, {{"Host", "x"}}, TRUST_EVERYBODY},
    {&member, false, {{"Host", "localhost"}}, TRUST_OPERATOR},
    /* Requests forwarded by a proxy. */
    {&loopback, false, {{"Host", "localhost"}, {"X-Forwarded-For", "192.0.2.1"}}, TRUST_EVERYBODY},
    {&stranger, false, {{"Host", "localhost"}, {"Via", "1.1 proxy"}}, TRUST_EVERYBODY},
    {&member, false, {{"Host", "localhost"}, {"Via", "1.1 proxy"}}, TRUST_EVERYBODY},
    {&loopback, true, {{"Host", "localhost"}, {"Via", "1.1 proxy"}}, TRUST_OPERATOR},
    /* Requests from browsers, without proof that one of this daemon's pages caused them. */
    {&elsewhere, false, {{"Host", "board"}, {AGENT}}, TRUST_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {AGENT}}, TRUST_PAGE},
    {&member, false, {{"Host", "localhost"}, {AGENT}}, TRUST_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Origin", "http://evil.example"}}, TRUST_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}}, TRUST_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Sec-Fetch-Site", ""}}, TRUST_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Sec-Fetch-Mode", "no-cors"}}, TRUST_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Accept-Language", "en"}, {"User-Agent", "curl/8"}}, TRUST_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}, {PROOF}}, TRUST_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {AGENT}, {"X-Requested-With", "XMLHttpRequest"}}, TRUST_PAGE},
    {&loopback,
     false,
     {{"Host", "localhost"}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "cross-site"}},
     TRUST_PAGE},
    {&loopback, true, {{"Host", "localhost"}, {AGENT}, {"Sec-Fetch-Site", "cross-site"}}, TRUST_PAGE},
    /*
     * DNS rebinding: a foreign name resolves to this machine, so the browser takes the page for one of this daemon's.
     */
    {&loopback, false, {{"Host", "evil.example"}, {AGENT}, {"Sec-Fetch-Site", "same-origin"}}, TRUST_PAGE},
    {&loopback, false, {{"Host", "printer:10298"}, {AGENT}, {PROOF}}, TRUST_PAGE},
    /*
     * A client with a correct password may use any host name, since an attacker who rebinds a name does not know the
     * password.
     */
    {&elsewhere, true, {{"Host", "board.lan"}, {AGENT}, {"Sec-Fetch-Site", "same-origin"}}, TRUST_OPERATOR},
    /* Requests from pages of this daemon, and for URLs that the user typed. */
    {&loopback, false, {{"Host", "localhost"}, {AGENT}, {"Sec-Fetch-Site", "none"}}, TRUST_LOCAL},
    {&loopback, false, {{"Host", "localhost"}, {AGENT}, {"Sec-Fetch-Site", "same-origin"}}, TRUST_LOCAL},
    {&loopback, false, {{"Host", "127.0.0.1"}, {AGENT}, {"Origin", "http://127.0.0.1"}, {PROOF}}, TRUST_LOCAL},
    {&elsewhere, false, {{"Host", "192.0.2.1:10298"}, {AGENT}, {PROOF}}, TRUST_EVERYBODY},
    {&elsewhere, false, {{"Host", "alias.example"}, {AGENT}, {PROOF}}, TRUST_EVERYBODY},
};

TEST(test_trust)
{
    char *others[] = {(char *)"alias.example"};
    const struct host_names names = {.machine = "board", .others = others, .n_others = 1};

    for (size_t i = 0; i < ARRAY_SIZE(trusts); i++) {
        struct origin_headers claims = {0};
        for (size_t k = 0; k < ARRAY_SIZE(trusts[i].in_headers) && trusts[i].in_headers[k][0]; k++)
            origin_header_add(&claims, trusts[i].in_headers[k][0], trusts[i].in_headers[k][1]);
        enum trust trust = trust_of(trusts[i].in_authenticated, trusts[i].in_peer, &claims, &names);
        if (trust != trusts[i].out)
            fail_msg("case %zu: %d instead of %d", i, trust, trusts[i].out);
    }
}

static const struct {
    const struct peer *in_peer;
    const char *in_headers[3][2];
    bool out;
} admitted[] = {
    {&owner, {{"Host", "localhost"}}, true},
    {&owner, {{"Host", "board"}, {"User-Agent", "curl/8.0"}}, true},
    {&owner, {{"Host", "alias.example:80"}}, true},
    {&owner, {{NULL}}, true},
    {&owner, {{"Host", "localhost"}, {"X-Forwarded-For", "192.0.2.1"}}, false},
    {&owner, {{"Host", "localhost"}, {"Via", "1.1 proxy"}}, false},
    {&owner, {{"Host", "evil.example"}}, false},
    {&owner, {{"Host", ""}}, false},
    {&owner, {{"Host", "localhost"}, {AGENT}}, false},
    {&owner, {{"Host", "localhost"}, {"Origin", "http://evil.example"}}, false},
    {&member, {{"Host", "localhost"}}, false},
    {&stranger, {{"Host", "localhost"}}, false},
    {&loopback, {{"Host", "localhost"}}, false},
    {&elsewhere, {{"Host", "board"}}, false},
};

TEST(test_needs_no_password)
{
    char *others[] = {(char *)"alias.example"};
    const struct host_names names = {.machine = "board", .others = others, .n_others = 1};

    for (size_t i = 0; i < ARRAY_SIZE(admitted); i++) {
        struct origin_headers claims = {0};
        for (size_t k = 0; k < ARRAY_SIZE(admitted[i].in_headers) && admitted[i].in_headers[k][0]; k++)
            origin_header_add(&claims, admitted[i].in_headers[k][0], admitted[i].in_headers[k][1]);
        if (trust_needs_no_credential(admitted[i].in_peer, &claims, &names) != admitted[i].out)
            fail_msg("case %zu", i);
    }
}

/* --- files */

static void put(const char *path, const char *text)
{
    _cleanup_(fclosep) FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
}

#define OF_USERS "basic_auth_users:\n"
#define HASH(cost) "$2y$" cost "$" SALT "ABCDEFGHIJKLMNOPQRSTUVWXYZ01234"

/* The web configuration `in` causes the warning `which`, whose message begins with `sentence`, and no other warning. */
static const struct {
    const char *in;
    enum security_warning which;
    const char *sentence; /* NULL: no warning */
} warnings[] = {
    {OF_USERS "  a: " HASH("10") "\n", SECURITY_PASSWORD_SLOW, NULL},
    {OF_USERS "  a: " HASH("14") "\n", SECURITY_PASSWORD_SLOW, NULL},
    {OF_USERS "  a: " HASH("15") "\n", SECURITY_PASSWORD_SLOW, "basic_auth_users: the bcrypt cost of \"a\" is 15: "},
    {OF_USERS "  a: " HASH("04") "\n  b: " HASH("31") "\n  c: " HASH("18") "\n", SECURITY_PASSWORD_SLOW,
     "basic_auth_users: the bcrypt cost of \"b\" is 31: checking one new password, right or wrong, takes 2097152 "
     "times "},
    {"{}", SECURITY_HTTP2_UNUSED, NULL},
    {"http_server_config: {http2: false}", SECURITY_HTTP2_UNUSED, NULL},
    {"http_server_config: {http2: true}", SECURITY_HTTP2_UNUSED,
     "http_server_config.http2: HTTP/2 is allowed, but perfcountd serves HTTP/1.1 only, "},
};

TEST(test_warnings)
{
    char path[] = "/tmp/test-auth.XXXXXX";

    close(mkstemp(path));
    for (size_t i = 0; i < ARRAY_SIZE(warnings); i++) {
        _cleanup_(security_unrefp) struct security *security = NULL;
        _cleanup_(file_versions_done) struct file_versions versions = {0};
        struct error error = {0};

        put(path, warnings[i].in);
        assert_int_equal(security_load(NULL, path, &security, &versions, &error), 0);
        for (int k = 0; k < N_SECURITY_WARNINGS; k++) {
            const char *warning = security_warning(security, (enum security_warning)k);
            const char *expected = k == (int)warnings[i].which ? warnings[i].sentence : NULL;
            assert_true(!warning == !expected);
            assert_true(!warning || str_starts(warning, expected));
        }
    }
    unlink(path);
}

/* --- over sockets */

struct fixture {
    struct served served;
    char web_config[32]; /* the path of the web configuration file */
};

/* The users in most tests, both with the password "secret". */
#define USERS(hash) "basic_auth_users: {alice: \"" hash "\", bob: \"" CHEAP "\"}\n"

/* Writes the web configuration and has the server load it. */
static void apply(struct fixture *f, const char *text)
{
    struct error error = {0};

    put(f->web_config, text);
    if (server_secure(f->served.server, f->web_config, &error) < 0)
        fail_msg("%s", error.message);
}

/* Starts a server with USERS(CHEAP). */
static int setup(void **state)
{
    struct fixture *f = *state = malloc(sizeof(*f));

    *f = (struct fixture){.web_config = "/tmp/test-auth.XXXXXX"};
    close(mkstemp(f->web_config));
    served_start(&f->served, NULL, "127.0.0.1:0");
    apply(f, USERS(CHEAP));
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    served_done(&f->served);
    unlink(f->web_config);
    free(f);
    return 0;
}

/* Sends a request with `credential`, "NAME:PASSWORD", or without credentials if it is NULL. */
static void say(int fd, const char *request, const char *credential, const char *headers)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    gnutls_datum_t raw = {(unsigned char *)credential, credential ? (unsigned)strlen(credential) : 0}, encoded = {0};

    buffer_append_text(&text, headers);
    if (credential) {
        assert_int_equal(gnutls_base64_encode2(&raw, &encoded), 0);
        buffer_appendf(&text, "Authorization: Basic %s\r\n", (char *)encoded.data);
        gnutls_free(encoded.data);
    }
    buffer_append_char(&text, '\0');
    served_send(fd, request, text.data);
}

static char *ask(struct fixture *f, const char *request, const char *credential, const char *headers)
{
    _cleanup_(closep) int fd = served_connect(&f->served, 0, 1);

    say(fd, request, credential, headers);
    return served_receive_text(&f->served, fd, false);
}

static void expect(struct fixture *f, const char *request, const char *credential, unsigned status)
{
    _cleanup_(freep) char *response = ask(f, request, credential, "");

    print_message("%s %s\n", request, credential ? credential : "");
    assert_int_equal(served_status(response), status);
}

static const struct {
    const char *in_request, *in_credential, *in_headers;
    unsigned out_status;
    const char *out;
} answers[] = {
    {"GET /metrics", "alice:wrong", "", 401, "WWW-Authenticate: Basic realm=\"perfcountd\", charset=\"UTF-8\"\r\n"},
    /*
     * The daemon's page reports a wrong password itself, so it gets a challenge that browsers ignore. A request without
     * a password gets a real challenge, after which the browser sends the password that it has stored.
     */
    {"GET /metrics", "alice:wrong", "X-Requested-With: perfcountd\r\n", 401, "WWW-Authenticate: X-Basic realm="},
    {"GET /metrics", NULL, "X-Requested-With: perfcountd\r\n", 401, "WWW-Authenticate: Basic realm="},
    {"GET /metrics", "alice:wrong", "X-Requested-With: x\r\n", 401, "WWW-Authenticate: Basic realm="},
    {"GET /metrics", "alice:wrong", "", 401, "\r\n\r\nthe name or the password is wrong\n"},
    {"GET /metrics", "carol:secret", "", 401, "\r\n\r\nthe name or the password is wrong\n"},
    {"GET /metrics", NULL, "", 401, "\r\n\r\nthis needs a name and a password, as in curl -u NAME\n"},
    {"GET /metrics", "alice", "", 401, "the \"Authorization\" header contains no \"Basic\" name and password"},
    {"GET /metrics", ":", "", 401, ""},
    {"GET /metrics", NULL, "", 401, "Content-Type: text/plain"},
    {"GET /api/v1/counters", NULL, "", 401,
     "{\"error\": \"this needs a name and a password, as in curl -u NAME\", \"status\": 401}\n"},
    {"GET /%zz", "alice:secret", "", 400, ""},
    {"GET /metrics", NULL, "Authorization: Bearer abc\r\n", 401, "header contains no \"Basic\" name and password"},
    {"GET /metrics", NULL, "authorization: bASIC YWxpY2U6c2VjcmV0\r\n", 200, ""},
    {"GET /-/healthy", "alice:wrong", "", 200, "healthy"},
};

TEST_WITH(test_answers, setup, teardown)
{
    struct fixture *f = *state;

    apply(f, USERS(CHEAP) "auth_excluded_paths: [/-/healthy]\n");
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        print_message("%s %s\n", answers[i].in_request, answers[i].in_credential ? answers[i].in_credential : "");
        _cleanup_(freep) char *response =
            ask(f, answers[i].in_request, answers[i].in_credential, answers[i].in_headers);
        assert_int_equal(served_status(response), answers[i].out_status);
        assert_has(response, answers[i].out);
    }
}

/*
 * Right and wrong passwords on one persistent connection. Each password is checked the first time, and found in the
 * cache after that.
 */
TEST_WITH(test_keep_alive, setup, teardown)
{
    struct fixture *f = *state;
    _cleanup_(closep) int fd = served_connect(&f->served, 0, 1);

    for (unsigned i = 0; i < 6; i++) {
        say(fd, "GET /-/healthy", i % 3 ? "alice:secret" : "alice:wrong", "");
        served_expect(&f->served, fd, i % 3 ? OK : "HTTP/1.1 401 ");
    }
}

/*
 * Returns once the server has read all earlier requests. Bob's password is cached, so his request does not wait for a
 * check.
 */
static void settle(struct fixture *f)
{
    expect(f, "GET /metrics", "bob:secret", 200);
}

/* Sends the i-th wrong password from 127.0.0.`from`. Returns the descriptor of the connection. */
static int ask_wrongly(const struct fixture *f, unsigned from, unsigned i)
{
    char credential[32];
    int fd = served_connect(&f->served, 0, from);

    snprintf(credential, sizeof(credential), "alice:wrong%u", i);
    say(fd, "GET /metrics", credential, "");
    return fd;
}

/* Receives the responses, which must be 401 or 503, and closes the connections. Returns the number of 503 responses. */
static unsigned receive_busy(struct fixture *f, int *fds, unsigned n)
{
    unsigned busy = 0;

    for (unsigned i = 0; i < n; i++) {
        _cleanup_(freep) char *response = served_receive_text(&f->served, fds[i], false);
        if (served_status(response) == 503)
            assert_has(response, "Retry-After: 1\r\n");
        else
            assert_int_equal(served_status(response), 401);
        busy += served_status(response) == 503;
        close(fds[i]);
    }
    return busy;
}

/*
 * While one address has filled its share of the queue, cached passwords are accepted without a check, and other
 * addresses may still queue.
 */
TEST_WITH(test_queue, setup, teardown)
{
    enum { BUSY = 3 };
    struct fixture *f = *state;
    int fds[CHECKS_PER_ADDRESS_MAX + BUSY];

    expect(f, "GET /metrics", "alice:secret", 200);
    settle(f);
    hold();
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = ask_wrongly(f, 1, i);
        settle(f);
    }
    expect(f, "GET /metrics", "alice:secret", 200);
    _cleanup_(closep) int other = served_connect(&f->served, 0, 2);
    say(other, "GET /metrics", "bob:x", "");
    assert_int_equal(receive_busy(f, fds + CHECKS_PER_ADDRESS_MAX, BUSY), BUSY);
    let_go();
    assert_int_equal(receive_busy(f, fds, CHECKS_PER_ADDRESS_MAX), 0);
    served_expect(&f->served, other, "HTTP/1.1 401 ");
}

/* The queue is also limited for all addresses together. */
TEST_WITH(test_whole_queue, setup, teardown)
{
    struct fixture *f = *state;
    int fds[CHECKS_MAX + CHECKS_PER_ADDRESS_MAX];

    settle(f);
    hold();
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = ask_wrongly(f, 1 + i / CHECKS_PER_ADDRESS_MAX, i);
        settle(f);
    }
    let_go();
    assert_int_equal(receive_busy(f, fds, ARRAY_SIZE(fds)), CHECKS_PER_ADDRESS_MAX);
}

/* Several requests that send the same new password at the same time all succeed. */
TEST_WITH(test_same_at_once, setup, teardown)
{
    struct fixture *f = *state;
    int fds[CHECKS_PER_ADDRESS_MAX];

    settle(f);
    hold();
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = served_connect(&f->served, 0, 1);
        say(fds[i], "GET /metrics", "alice:secret", "");
    }
    settle(f);
    expect(f, "GET /metrics", "alice:x", 503);
    let_go();
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        served_expect(&f->served, fds[i], OK);
        close(fds[i]);
    }
}

/* When a client disconnects, its password check is removed from the queue. */
TEST_WITH(test_leavers_make_room, setup, teardown)
{
    struct fixture *f = *state;
    _cleanup_(closep) int stays = -1;

    settle(f);
    hold();
    for (unsigned i = 0; i < 3 * CHECKS_PER_ADDRESS_MAX; i++) {
        int fd = ask_wrongly(f, 1, i);
        settle(f);
        close(fd);
    }
    stays = served_connect(&f->served, 0, 1);
    say(stays, "GET /metrics", "alice:secret", "");
    settle(f);
    let_go();
    served_expect(&f->served, stays, OK);
}

TEST_WITH(test_freed_while_checking, setup, teardown)
{
    struct fixture *f = *state;
    int fds[3];

    hold();
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_wrongly(f, 1, i);
    served_wait(&f->served, n_checks == 1);
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
    let_go();
}

TEST_WITH(test_rate_limit, setup, teardown)
{
    struct fixture *f = *state;

    apply(f, USERS(CHEAP) "rate_limit: {interval: 1h, burst: 3}\n");
    /* A request that is suspended while its password is checked counts only once towards the rate limit. */
    expect(f, "GET /metrics", "alice:secret", 200);
    expect(f, "GET /metrics", NULL, 401);
    expect(f, "GET /-/healthy", "alice:secret", 200);
    _cleanup_(freep) char *response = ask(f, "GET /api/v1/counters", "alice:secret", "");
    assert_int_equal(served_status(response), 429);
    assert_has(response, "Retry-After: 3600\r\n");
    assert_has(response, "\"status\": 429}");
    apply(f, USERS(CHEAP));
    expect(f, "GET /metrics", "alice:secret", 200);
}

/* Configured headers replace the server's own, in error responses as well. */
TEST_WITH(test_headers, setup, teardown)
{
    struct fixture *f = *state;

    apply(f, USERS(CHEAP) "http_server_config: {headers: {Content-Security-Policy: \"default-src 'self'\"}}\n");
    _cleanup_(freep) char *index = ask(f, "GET /", "alice:secret", "Accept: text/html\r\n");
    assert_int_equal(count_of(index, "Content-Security-Policy: "), 1);
    assert_has(index, "Content-Security-Policy: default-src 'self'\r\n");
    _cleanup_(freep) char *refused = ask(f, "POST /metrics", "alice:secret", "Content-Length: 5000\r\n");
    assert_int_equal(served_status(refused), 413);
    assert_has(refused, "Content-Security-Policy: default-src 'self'\r\n");
}

TEST_MAIN(NULL, NULL)
