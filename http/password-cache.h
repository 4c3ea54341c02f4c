/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passwords that were found right and wrong, so that each is checked once. An entry is a keyed hash of name, stored
 * hash and password (HMAC-SHA256, with a key made at the start): it reveals nothing, and a user whose stored hash
 * changes is unknown again. Bounded: the least recently used entry makes room. Anybody can send any number of wrong
 * passwords, so they never push out right ones.
 */
#ifndef HTTP_PASSWORD_CACHE_H
#define HTTP_PASSWORD_CACHE_H

#include "base/util.h"

enum verdict { VERDICT_UNKNOWN, VERDICT_RIGHT, VERDICT_WRONG, VERDICT_BUSY /* it cannot be checked now */ };

#define PASSWORD_CACHE_MAX 128 /* of each kind */

struct fingerprint {
    unsigned char bytes[32];
};

struct password_cache_table {
    struct {
        struct fingerprint fingerprint;
        uint64_t last_use; /* 0: the slot is free */
    } items[PASSWORD_CACHE_MAX];
};

struct password_cache {
    unsigned char key[32];
    uint64_t uses;
    struct password_cache_table right, wrong;
};

/* Errors of getrandom(2). */
int password_cache_init(struct password_cache *cache);
void password_cache_done(struct password_cache *cache);

/* `hash` is "" for a name that nobody has. -EIO where the hash cannot be made. */
int password_cache_fingerprint(const struct password_cache *cache, const char *user, const char *hash,
                               const char *password, struct fingerprint *ret);
/* VERDICT_UNKNOWN where it was never checked, or its entry has made room. */
enum verdict password_cache_find(struct password_cache *cache, const struct fingerprint *fingerprint);
void password_cache_remember(struct password_cache *cache, const struct fingerprint *fingerprint, bool right);
bool fingerprint_equal(const struct fingerprint *a, const struct fingerprint *b);

#endif
