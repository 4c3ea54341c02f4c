/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a password is the one of a bcrypt hash, in a time that depends on neither. Pure, and slow on purpose: tens of
 * milliseconds at the usual cost, and twice as long for each step of the cost. For the worker.
 */
#ifndef HTTP_PASSWORD_H
#define HTTP_PASSWORD_H

#include <crypt.h>

#include "base/util.h"

#define PASSWORD_COST_MIN 4
#define PASSWORD_COST_MAX 31
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
