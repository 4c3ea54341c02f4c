/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses passwords from requests, checks them against bcrypt hashes, and remembers the results. Secrets are wiped from
 * memory.
 *
 * Checking a password is slow on purpose: it takes tens of milliseconds at the usual cost, and twice as long for each
 * increment of the cost. Passwords are therefore checked in a worker thread. Checking a wrong password takes the same
 * time whether or not the user exists.
 *
 * The cache remembers results, so that each password is checked only once. A cache entry is an HMAC-SHA256 of name,
 * stored hash and password, with a random key from startup, and reveals none of them. If a user's stored hash changes,
 * the password is checked again. The size of the cache is bounded: a new entry replaces the least recently used entry.
 * Wrong passwords have a table of their own, because anybody can send any number of them.
 */
#ifndef HTTP_PASSWORD_H
#define HTTP_PASSWORD_H

#include <crypt.h>

#include "base/util.h"

/* Size limit; longer than any plausible user name and any password that crypt(3) accepts. */
#define CREDENTIAL_MAX 512

struct credential {
    char text[2 * CREDENTIAL_MAX]; /* user and password, each with its NUL */
    const char *user, *password;   /* point into `text` */
};

/*
 * Parses the value of an `Authorization: Basic` header (RFC 7617). Returns -ENOMEM, or -EINVAL for another scheme, and
 * if the credentials are not strict base64, are too long, have no colon, or contain a NUL, which would end the
 * comparison early. User and password need not be valid UTF-8. Pure.
 */
int credential_parse(const char *value, struct credential *ret);
/* Copies a credential; `user` and `password` of the copy point into the copy. */
void credential_copy(const struct credential *from, struct credential *to);
void credential_done(struct credential *credential);

enum password_result {
    PASSWORD_UNKNOWN,
    PASSWORD_RIGHT,
    PASSWORD_WRONG,
    PASSWORD_BUSY /* the password cannot be checked at the moment */
};

#define PASSWORD_CACHE_MAX 128 /* number of entries in each table */

struct fingerprint {
    unsigned char bytes[32];
};

struct password_cache_table {
    struct {
        struct fingerprint fingerprint;
        uint64_t last_use; /* time of the last use; 0 if the slot is free */
    } items[PASSWORD_CACHE_MAX];
};

struct password_cache {
    unsigned char key[32];
    uint64_t uses;
    struct password_cache_table right, wrong;
};

/* Returns -EIO if getrandom(2) fails. */
int password_cache_init(struct password_cache *cache);
void password_cache_done(struct password_cache *cache);

/*
 * Computes the HMAC for a cache entry. `hash` must be "" if the user does not exist. Returns -EIO if the HMAC cannot be
 * computed.
 */
int password_cache_fingerprint(const struct password_cache *cache, const char *user, const char *hash,
                               const char *password, struct fingerprint *ret);
/* Returns PASSWORD_UNKNOWN if the password has not been checked yet, or if its cache entry was replaced. */
enum password_result password_cache_find(struct password_cache *cache, const struct fingerprint *fingerprint);
void password_cache_remember(struct password_cache *cache, const struct fingerprint *fingerprint, bool right);
bool fingerprint_equal(const struct fingerprint *a, const struct fingerprint *b);

#define PASSWORD_COST_MIN 4
/*
 * Highest bcrypt cost without a warning. Above it a check takes seconds; from a cost of about 18 to 20, it takes
 * minutes.
 */
#define PASSWORD_COST_BEARABLE 14

/* Returns the cost of a bcrypt hash, or 0 for any other text. */
unsigned password_cost(const char *hash);
/*
 * Returns whether the password is correct. `hash` is NULL if the user does not exist; every password is then wrong.
 * Checking a wrong password takes as long as a check at cost `most`, or at the hash's own cost if that is higher.
 * `data` is scratch space, which is wiped afterwards. Pure.
 */
bool password_matches(const char *password, const char *hash, unsigned most, struct crypt_data *data);

#endif
