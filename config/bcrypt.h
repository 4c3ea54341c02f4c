/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a bcrypt hash, "$2y$10$" and 53 characters. Pure; no message has a part of the text. */
#ifndef CONFIG_BCRYPT_H
#define CONFIG_BCRYPT_H

#include "base/error.h"

/* -EINVAL with what is wrong: not a hash, one of another kind, or a damaged one. */
int bcrypt_check(const char *text, struct error *error);

#endif
