/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name and a password, as `Authorization: Basic` has them (RFC 7617). Pure; secrets are wiped from memory.
 *
 * Passwords that were found right and wrong, so that each is checked once. An entry is a keyed hash of name, stored
 * hash and password (HMAC-SHA256, with a key made at the start): it reveals nothing, and a user whose stored hash
 * changes is unknown again. Bounded: the least recently used entry makes room. Anybody can send any number of wrong
 * passwords, so they never push out right ones.
 *
 * Whether a password is the one of a bcrypt hash, in a time that depends on neither. Pure, and slow on purpose: tens of
 * milliseconds at the usual cost, and twice as long for each step of the cost. For the worker.
 */
#ifndef HTTP_PASSWORD_H
#define HTTP_PASSWORD_H

#include <crypt.h>

#include "base/util.h"

/* Longer than the passwords that crypt(3) takes, and than any name that a person chooses. */
#define CREDENTIAL_MAX 512

struct credential {
    char text[2 * CREDENTIAL_MAX]; /* both strings */
    const char *user, *password;   /* into it */
};

/*
 * Parses the value of the header. -EINVAL for another scheme, and for text that is not exactly base64, is too long, or
 * has no colon or a NUL, which would end the comparison; -ENOMEM. The strings are bytes, and need not be UTF-8.
 */
int credential_parse(const char *value, struct credential *ret);
/* The strings of a copy are its own. */
void credential_copy(const struct credential *from, struct credential *to);
void credential_done(struct credential *credential);

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

#define PASSWORD_COST_MIN 4
/* Above this a check takes seconds, and minutes from 18 or 20 on. */
#define PASSWORD_COST_BEARABLE 14

/* The cost in a bcrypt hash; 0 for any other text. */
unsigned password_cost(const char *hash);
/*
 * `hash` may be NULL: nobody has that name, and every password is wrong. A wrong password takes as long as the check of
 * a hash of cost `most`, or of its own cost where that is higher. `data` is scratch, and wiped.
 */
bool password_matches(const char *password, const char *hash, unsigned most, struct crypt_data *data);

#endif
