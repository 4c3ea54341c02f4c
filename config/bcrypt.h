/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a bcrypt hash, "$2y$10$" and 53 characters. Pure; no message quotes the text. */
#ifndef CONFIG_BCRYPT_H
#define CONFIG_BCRYPT_H

#include "base/error.h"

/* -EINVAL with what is wrong: the text is not a hash, a hash of another kind, or damaged. */
int bcrypt_check(const char *text, struct error *error);

#endif
