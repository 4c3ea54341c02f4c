/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords that were found right and wrong: see password-cache.h. */
#include "http/password-cache.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <sys/random.h>

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

/* Each with its NUL, so that no two triples are the same bytes. */
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

enum verdict password_cache_find(struct password_cache *cache, const struct fingerprint *fingerprint)
{
    cache->uses++;
    if (table_use(&cache->right, fingerprint, cache->uses))
        return VERDICT_RIGHT;
    return table_use(&cache->wrong, fingerprint, cache->uses) ? VERDICT_WRONG : VERDICT_UNKNOWN;
}

void password_cache_remember(struct password_cache *cache, const struct fingerprint *fingerprint, bool right)
{
    struct password_cache_table *table = right ? &cache->right : &cache->wrong;
    size_t oldest = 0;

    if (password_cache_find(cache, fingerprint) != VERDICT_UNKNOWN)
        return;
    for (size_t i = 1; i < PASSWORD_CACHE_MAX; i++)
        if (table->items[i].last_use < table->items[oldest].last_use)
            oldest = i;
    table->items[oldest].fingerprint = *fingerprint;
    table->items[oldest].last_use = cache->uses;
}
