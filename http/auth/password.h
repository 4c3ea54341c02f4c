/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a password is the one of a bcrypt hash, in a time that depends on neither. Pure, and slow on purpose: tens of
 * milliseconds at the usual cost, twice as much for each one above. For the worker.
 */
#ifndef HTTP_AUTH_PASSWORD_H
#define HTTP_AUTH_PASSWORD_H

#include <crypt.h>

#include "base/util.h"

#define PASSWORD_COST_MIN 4
#define PASSWORD_COST_MAX 31
/* Above this a check takes seconds, and minutes from 18 or 20 on. */
#define PASSWORD_COST_BEARABLE 14

/* The cost that a bcrypt hash names; 0 where it is none. */
unsigned password_cost(const char *hash);
/*
 * `hash` may be NULL: nobody has that name, and nothing is right. A wrong password takes as long as the check of a hash
 * of cost `most` (or the hash's own, where that is more). `data` is scratch, and wiped.
 */
bool password_matches(const char *password, const char *hash, unsigned most, struct crypt_data *data);

#endif
