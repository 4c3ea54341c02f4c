/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passwords: parsing them from a request, checking them against a bcrypt hash, and remembering the result. Secrets are
 * wiped from memory.
 *
 * Checking is slow on purpose: it takes tens of milliseconds at the usual cost, and doubles with each increment of the
 * cost. It runs in a worker thread. A wrong password takes the same time whether or not the user exists.
 *
 * The cache remembers results, so that each password is checked only once. An entry is an HMAC-SHA256 of name, stored
 * hash and password, with a key made at startup. It reveals nothing, and if a user's stored hash changes, the password
 * is checked again. The cache is bounded: the least recently used entry is replaced. Right and wrong passwords have
 * separate tables, because anybody can send any number of wrong passwords.
 */
#ifndef HTTP_PASSWORD_H
#define HTTP_PASSWORD_H

#include <crypt.h>

#include "base/util.h"

/* Longer than any password that crypt(3) accepts, and than any plausible user name. */
#define CREDENTIAL_MAX 512

struct credential {
    char text[2 * CREDENTIAL_MAX]; /* user and password, each with its NUL */
    const char *user, *password;   /* they point into `text` */
};

/*
 * Parses the value of an `Authorization: Basic` header (RFC 7617). Returns -EINVAL for another scheme, and if the rest
 * is not strict base64, is too long, has no colon, or contains a NUL, which would end the comparison early; -ENOMEM.
 * The strings are bytes and need not be valid UTF-8. Pure.
 */
int credential_parse(const char *value, struct credential *ret);
/* The strings of the copy point into the copy. */
void credential_copy(const struct credential *from, struct credential *to);
void credential_done(struct credential *credential);

enum password_result {
    PASSWORD_UNKNOWN,
    PASSWORD_RIGHT,
    PASSWORD_WRONG,
    PASSWORD_BUSY /* BUSY: the password cannot be
                   * checked now */
};

#define PASSWORD_CACHE_MAX 128 /* entries per table */

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

/* Returns -EIO if getrandom(2) fails. */
int password_cache_init(struct password_cache *cache);
void password_cache_done(struct password_cache *cache);

/* `hash` is "" if the user does not exist. Returns -EIO if the fingerprint cannot be computed. */
int password_cache_fingerprint(const struct password_cache *cache, const char *user, const char *hash,
                               const char *password, struct fingerprint *ret);
/* Returns PASSWORD_UNKNOWN if the password was not checked yet, or its entry has been replaced. */
enum password_result password_cache_find(struct password_cache *cache, const struct fingerprint *fingerprint);
void password_cache_remember(struct password_cache *cache, const struct fingerprint *fingerprint, bool right);
bool fingerprint_equal(const struct fingerprint *a, const struct fingerprint *b);

#define PASSWORD_COST_MIN 4
/* A check takes seconds above this cost, and minutes from about 18 to 20. */
#define PASSWORD_COST_BEARABLE 14

/* The cost of a bcrypt hash; 0 for any other text. */
unsigned password_cost(const char *hash);
/*
 * `hash` is NULL if the user does not exist; every password is wrong then. Checking a wrong password takes as long as a
 * check at cost `most`, or at the hash's own cost if that is higher. `data` is scratch space, and is wiped. Pure.
 */
bool password_matches(const char *password, const char *hash, unsigned most, struct crypt_data *data);

#endif
