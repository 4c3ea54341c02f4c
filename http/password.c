/* SPDX-License-Identifier: Apache-2.0 */
#include "http/password.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <strings.h>
#include <sys/random.h>

#define PASSWORD_COST_MAX 31

/* --- credentials --- */

static const char scheme[] = "Basic ";

/*
 * Accepts only strict base64, so that each text has exactly one encoding; GnuTLS would ignore line breaks and blanks.
 */
static bool is_base64(const char *text, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strspn(text, digits), padding = strspn(text + n, "=");

    return size > 0 && size % 4 == 0 && n + padding == size && padding <= 2;
}

/* Splits the text at the first colon, because a user name cannot contain a colon. */
static int take_decoded(const gnutls_datum_t *decoded, struct credential *credential)
{
    if (decoded->size >= sizeof(credential->text) || memchr(decoded->data, '\0', decoded->size))
        return -EINVAL;
    memcpy(credential->text, decoded->data, decoded->size);
    credential->text[decoded->size] = '\0';
    char *colon = strchr(credential->text, ':');
    if (!colon)
        return -EINVAL;
    *colon = '\0';
    credential->user = credential->text;
    credential->password = colon + 1;
    if (strlen(credential->user) >= CREDENTIAL_MAX || strlen(credential->password) >= CREDENTIAL_MAX)
        return -EINVAL;
    return 0;
}

int credential_parse(const char *value, struct credential *ret)
{
    gnutls_datum_t decoded = {0};

    if (strncasecmp(value, scheme, strlen(scheme)) != 0)
        return -EINVAL;
    value += strlen(scheme);
    value += strspn(value, " ");
    gnutls_datum_t text = {.data = (unsigned char *)value, .size = (unsigned)strnlen(value, 4 * sizeof(ret->text))};
    int r = is_base64(value, text.size) ? gnutls_base64_decode2(&text, &decoded) : GNUTLS_E_BASE64_DECODING_ERROR;
    if (r < 0)
        return r == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EINVAL;
    r = take_decoded(&decoded, ret);
    explicit_bzero(decoded.data, decoded.size);
    gnutls_free(decoded.data);
    if (r < 0)
        credential_done(ret);
    return r;
}

void credential_copy(const struct credential *from, struct credential *to)
{
    *to = *from;
    to->user = to->text + (from->user - from->text);
    to->password = to->text + (from->password - from->text);
}

void credential_done(struct credential *credential)
{
    explicit_bzero(credential, sizeof(*credential));
}

/* --- cache --- */

int password_cache_init(struct password_cache *cache)
{
    *cache = (struct password_cache){0};
    if (getrandom(cache->key, sizeof(cache->key), 0) != sizeof(cache->key))
        return -EIO;
    return 0;
}

void password_cache_done(struct password_cache *cache)
{
    explicit_bzero(cache, sizeof(*cache));
}

/*
 * Computes the HMAC of user, stored hash and password, each with its NUL, so that no two different triples give the
 * same bytes.
 */
int password_cache_fingerprint(const struct password_cache *cache, const char *user, const char *hash,
                               const char *password, struct fingerprint *ret)
{
    const char *parts[] = {user, hash, password};
    gnutls_hmac_hd_t hmac;
    int r = 0;

    if (gnutls_hmac_init(&hmac, GNUTLS_MAC_SHA256, cache->key, sizeof(cache->key)) < 0)
        return -EIO;
    for (size_t i = 0; i < ARRAY_SIZE(parts) && r >= 0; i++)
        r = gnutls_hmac(hmac, parts[i], strlen(parts[i]) + 1);
    struct fingerprint made = {0};
    gnutls_hmac_deinit(hmac, made.bytes);
    if (r < 0)
        return -EIO;
    *ret = made;
    return 0;
}

bool fingerprint_equal(const struct fingerprint *a, const struct fingerprint *b)
{
    return gnutls_memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static bool table_use(struct password_cache_table *table, const struct fingerprint *fingerprint, uint64_t use)
{
    for (size_t i = 0; i < PASSWORD_CACHE_MAX; i++) {
        if (!table->items[i].last_use || !fingerprint_equal(&table->items[i].fingerprint, fingerprint))
            continue;
        table->items[i].last_use = use;
        return true;
    }
    return false;
}

enum password_result password_cache_find(struct password_cache *cache, const struct fingerprint *fingerprint)
{
    cache->uses++;
    if (table_use(&cache->right, fingerprint, cache->uses))
        return PASSWORD_RIGHT;
    return table_use(&cache->wrong, fingerprint, cache->uses) ? PASSWORD_WRONG : PASSWORD_UNKNOWN;
}

void password_cache_remember(struct password_cache *cache, const struct fingerprint *fingerprint, bool right)
{
    struct password_cache_table *table = right ? &cache->right : &cache->wrong;
    size_t oldest = 0;

    if (password_cache_find(cache, fingerprint) != PASSWORD_UNKNOWN)
        return;
    for (size_t i = 1; i < PASSWORD_CACHE_MAX; i++)
        if (table->items[i].last_use < table->items[oldest].last_use)
            oldest = i;
    table->items[oldest].fingerprint = *fingerprint;
    table->items[oldest].last_use = cache->uses;
}

/* --- checks --- */

/* Uses crypt_rn(3), because crypt_r(3) reports failures as text and is intercepted by sanitizers. */

/* a bcrypt hash consists of "$2b$CC$", 22 characters of salt and 31 characters of hash */
#define HASH_SIZE 60

unsigned password_cost(const char *hash)
{
    unsigned cost = 0;

    if (strlen(hash) != HASH_SIZE || sscanf(hash, "$2%*[abxy]$%2u$", &cost) != 1)
        return 0;
    return cost >= PASSWORD_COST_MIN && cost <= PASSWORD_COST_MAX ? cost : 0;
}

static bool hash_matches(const char *password, const char *hash, struct crypt_data *data)
{
    const char *made = crypt_rn(password, hash, data, sizeof(*data));

    return made && strlen(made) == strlen(hash) && gnutls_memcmp(made, hash, strlen(hash)) == 0;
}

/* Does the work of a password check at this cost, so that an unknown user takes as long as a known one. */
static void password_spend(const char *password, unsigned cost, struct crypt_data *data)
{
    char setting[HASH_SIZE + 1];

    snprintf(setting, sizeof(setting), "$2b$%02u$%.22s", cost, "perfcountd.perfcountd.");
    crypt_rn(password, setting, data, sizeof(*data));
}

bool password_matches(const char *password, const char *hash, unsigned most, struct crypt_data *data)
{
    unsigned cost = hash ? password_cost(hash) : 0;
    bool right = cost && hash_matches(password, hash, data);

    /*
     * Each increment of the cost doubles the work. The real check at cost c and one more at each cost from c to most-1
     * add up to the work of one check at cost `most`: 2^c + 2^c + 2^(c+1) + ... + 2^(most-1) = 2^most.
     */
    for (unsigned i = cost; !right && cost && i < most; i++)
        password_spend(password, i, data);
    if (!cost)
        password_spend(password, most, data);
    explicit_bzero(data, sizeof(*data));
    return right;
}
