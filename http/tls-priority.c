/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls-priority.h"

#include "base/buffer.h"
#include "base/cleanup.h"

/* The cipher suites, with their names in Go's crypto/tls and their two-byte ids in IANA's TLS cipher suite registry. */
static const struct suite {
    const char *name;
    unsigned char id[2];
    const char *exchange, *cipher, *mac;
    bool usual; /* enabled if the configuration names no suites */
} suites[] = {
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", {0xc0, 0x2b}, "ECDHE-ECDSA", "AES-128-GCM", "AEAD", true},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", {0xc0, 0x2f}, "ECDHE-RSA", "AES-128-GCM", "AEAD", true},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", {0xc0, 0x2c}, "ECDHE-ECDSA", "AES-256-GCM", "AEAD", true},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", {0xc0, 0x30}, "ECDHE-RSA", "AES-256-GCM", "AEAD", true},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", {0xcc, 0xa9}, "ECDHE-ECDSA", "CHACHA20-POLY1305", "AEAD", true},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", {0xcc, 0xa8}, "ECDHE-RSA", "CHACHA20-POLY1305", "AEAD", true},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", {0xcc, 0xa9}, "ECDHE-ECDSA", "CHACHA20-POLY1305", "AEAD", false},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", {0xcc, 0xa8}, "ECDHE-RSA", "CHACHA20-POLY1305", "AEAD", false},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", {0xc0, 0x09}, "ECDHE-ECDSA", "AES-128-CBC", "SHA1", true},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", {0xc0, 0x13}, "ECDHE-RSA", "AES-128-CBC", "SHA1", true},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", {0xc0, 0x0a}, "ECDHE-ECDSA", "AES-256-CBC", "SHA1", true},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", {0xc0, 0x14}, "ECDHE-RSA", "AES-256-CBC", "SHA1", true},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", {0xc0, 0x23}, "ECDHE-ECDSA", "AES-128-CBC", "SHA256", false},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", {0xc0, 0x27}, "ECDHE-RSA", "AES-128-CBC", "SHA256", false},
    {"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", {0xc0, 0x12}, "ECDHE-RSA", "3DES-CBC", "SHA1", false},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", {0x00, 0x9c}, "RSA", "AES-128-GCM", "AEAD", false},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", {0x00, 0x9d}, "RSA", "AES-256-GCM", "AEAD", false},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", {0x00, 0x2f}, "RSA", "AES-128-CBC", "SHA1", false},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", {0x00, 0x35}, "RSA", "AES-256-CBC", "SHA1", false},
    {"TLS_RSA_WITH_AES_128_CBC_SHA256", {0x00, 0x3c}, "RSA", "AES-128-CBC", "SHA256", false},
    {"TLS_RSA_WITH_3DES_EDE_CBC_SHA", {0x00, 0x0a}, "RSA", "3DES-CBC", "SHA1", false},
};

/*
 * The suites of TLS 1.3. As in Go, all suites of TLS 1.3 are enabled whenever TLS 1.3 is enabled, whether or not the
 * configuration names them.
 */
static const char *const suites_1_3[] = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
};

/*
 * The curves in Go's order of preference, which applies if the configuration names no curves. Clients send a key share
 * for the first curve; any other curve costs a round trip.
 */
static const struct {
    const char *name, *group;
} curves[] = {
    {"X25519", "GROUP-X25519"},
    {"CurveP256", "GROUP-SECP256R1"},
    {"CurveP384", "GROUP-SECP384R1"},
    {"CurveP521", "GROUP-SECP521R1"},
};

static const char *const versions[] = {
    [TLS_VERSION_1_0] = "VERS-TLS1.0",
    [TLS_VERSION_1_1] = "VERS-TLS1.1",
    [TLS_VERSION_1_2] = "VERS-TLS1.2",
    [TLS_VERSION_1_3] = "VERS-TLS1.3",
};

static bool is_1_3(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(suites_1_3); i++)
        if (str_equal(suites_1_3[i], name))
            return true;
    return false;
}

static const struct suite *suite_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(suites); i++)
        if (str_equal(suites[i].name, name))
            return &suites[i];
    return NULL;
}

static const struct suite *suite_by_id(const unsigned char id[2])
{
    for (size_t i = 0; i < ARRAY_SIZE(suites); i++)
        if (memcmp(suites[i].id, id, 2) == 0)
            return &suites[i];
    return NULL;
}

/* The chosen cipher suites in order of preference. */
struct chosen {
    const struct suite *items[ARRAY_SIZE(suites)];
    size_t n;
};

static bool chosen_has(const struct chosen *chosen, const unsigned char id[2])
{
    for (size_t i = 0; i < chosen->n; i++)
        if (memcmp(chosen->items[i]->id, id, 2) == 0)
            return true;
    return false;
}

static void suites_choose(struct chosen *chosen, const struct suite *suite)
{
    if (!chosen_has(chosen, suite->id))
        chosen->items[chosen->n++] = suite;
}

static int choose_suites(const struct web_tls *config, struct chosen *chosen, struct error *error)
{
    const struct text_list *names = &config->cipher_suites;

    for (size_t i = 0; i < ARRAY_SIZE(suites) && names->n == 0; i++)
        if (suites[i].usual)
            suites_choose(chosen, &suites[i]);
    for (size_t i = 0; i < names->n; i++) {
        const struct suite *suite = suite_find(names->items[i]);
        if (suite)
            suites_choose(chosen, suite);
        else if (!is_1_3(names->items[i]))
            return error_set(error, -EINVAL, "cipher_suites: GnuTLS does not support %.64s", names->items[i]);
    }
    return 0;
}

static void append_versions(struct buffer *text, const struct web_tls *config)
{
    buffer_append_text(text, ":-VERS-ALL");
    for (int v = config->max_version; v >= (int)config->min_version; v--)
        buffer_appendf(text, ":+%s", versions[v]);
}

static int append_curves(struct buffer *text, const struct text_list *names, struct error *error)
{
    buffer_append_text(text, ":-GROUP-ALL");
    for (size_t i = 0; i < ARRAY_SIZE(curves) && names->n == 0; i++)
        buffer_appendf(text, ":+%s", curves[i].group);
    for (size_t i = 0; i < names->n; i++) {
        size_t j = 0;
        while (j < ARRAY_SIZE(curves) && !str_equal(curves[j].name, names->items[i]))
            j++;
        if (j == ARRAY_SIZE(curves))
            return error_set(error, -EINVAL, "curve_preferences: GnuTLS does not support %.64s", names->items[i]);
        buffer_appendf(text, ":+%s", curves[j].group);
    }
    return 0;
}

static int priority_compile(const struct web_tls *config, const char *suites_text, gnutls_priority_t *ret,
                            struct error *error)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    const char *at;

    buffer_append_text(&text, "NORMAL");
    append_versions(&text, config);
    buffer_append_text(&text, ":-KX-ALL:-CIPHER-ALL:-MAC-ALL");
    buffer_append_text(&text, suites_text);
    int r = append_curves(&text, &config->curve_preferences, error);
    if (r < 0)
        return r;
    if (config->prefer_server_cipher_suites)
        buffer_append_text(&text, ":%SERVER_PRECEDENCE");
    _cleanup_(freep) char *string = buffer_string(&text);
    if (!string)
        return error_oom(error);
    r = gnutls_priority_init(ret, string, &at);
    if (r == GNUTLS_E_MEMORY_ERROR)
        return error_oom(error);
    if (r < 0)
        return error_set(error, -EINVAL, "GnuTLS does not accept the priorities %.300s: %s", string,
                         gnutls_strerror(r));
    return 0;
}

/*
 * GnuTLS enables every combination of the given key exchanges, ciphers and MACs. Refuses the configuration if one of
 * them is a suite that the configuration does not name.
 */
static int priority_refuse_extra(gnutls_priority_t priority, const struct chosen *chosen, struct error *error)
{
    unsigned suite;
    int r = 0;

    for (unsigned i = 0; r != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE; i++) {
        unsigned char id[2];
        r = gnutls_priority_get_cipher_suite_index(priority, i, &suite);
        const char *name = r < 0 ? NULL : gnutls_cipher_suite_info(suite, id, NULL, NULL, NULL, NULL);
        if (!name || chosen_has(chosen, id))
            continue;
        const struct suite *known = suite_by_id(id);
        return error_set(error, -EINVAL,
                         "cipher_suites: GnuTLS cannot enable exactly these suites: it would add %s; name that one, "
                         "too, or leave out those that share its key exchange or cipher",
                         known ? known->name : name);
    }
    return 0;
}

static void append_once(struct buffer *text, const char *word)
{
    _cleanup_(buffer_done) struct buffer wanted = {0};

    buffer_appendf(&wanted, ":+%s:", word);
    buffer_append_char(text, ':');
    bool there = !wanted.failed && !text->failed && memmem(text->data, text->size, wanted.data, wanted.size);
    text->size--;
    if (!there)
        buffer_appendf(text, ":+%s", word);
}

/* Returns the suites' priority items, such as ":+ECDHE-RSA:+AES-128-GCM:+AEAD", each once and in suite order. */
static char *suites_text(const struct chosen *chosen)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (size_t i = 0; i < chosen->n; i++)
        append_once(&text, chosen->items[i]->exchange);
    for (size_t i = 0; i < chosen->n; i++)
        append_once(&text, chosen->items[i]->cipher);
    for (size_t i = 0; i < chosen->n; i++)
        append_once(&text, chosen->items[i]->mac);
    return buffer_string(&text);
}

static int priority_compile_older(const struct web_tls *config, gnutls_priority_t *ret, struct error *error)
{
    struct web_tls older = *config;
    struct chosen chosen = {0};
    gnutls_priority_t priority = NULL;

    older.max_version = MIN(config->max_version, TLS_VERSION_1_2);
    int r = choose_suites(config, &chosen, error);
    if (r < 0)
        return r;
    if (chosen.n == 0)
        return error_set(
            error, -EINVAL,
            "cipher_suites contains only TLS 1.3 suites: add one for older versions, or set min_version to TLS13");
    _cleanup_(freep) char *text = suites_text(&chosen);
    if (!text)
        return error_oom(error);
    r = priority_compile(&older, text, &priority, error);
    if (r == 0)
        r = priority_refuse_extra(priority, &chosen, error);
    if (r < 0) {
        if (priority)
            gnutls_priority_deinit(priority);
        return r;
    }
    *ret = priority;
    return 0;
}

int tls_priorities_init(struct tls_priorities *priorities, const struct web_tls *config, struct error *error)
{
    struct tls_priorities made = {0};
    int r = 0;

    if (config->min_version > config->max_version)
        return error_set(error, -EINVAL, "min_version is above max_version");
    if (config->min_version < TLS_VERSION_1_3)
        r = priority_compile_older(config, &made.older, error);
    if (r == 0 && config->max_version == TLS_VERSION_1_3)
        r = priority_compile(
            config, ":+ECDHE-ECDSA:+ECDHE-RSA:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-CBC:+AEAD:+SHA1",
            &made.first, error);
    if (r == 0 && !made.first)
        made.first = steal(made.older);
    if (r < 0)
        tls_priorities_done(&made);
    else
        *priorities = made;
    return r;
}

void tls_priorities_done(struct tls_priorities *priorities)
{
    if (priorities->first)
        gnutls_priority_deinit(priorities->first);
    if (priorities->older)
        gnutls_priority_deinit(priorities->older);
    *priorities = (struct tls_priorities){0};
}
