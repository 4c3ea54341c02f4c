/* SPDX-License-Identifier: Apache-2.0 */
/* A name and a password, as `Authorization: Basic` has them (RFC 7617). Pure; what was secret is wiped from memory. */
#ifndef HTTP_AUTH_CREDENTIAL_H
#define HTTP_AUTH_CREDENTIAL_H

#include "base/util.h"

/* What crypt(3) takes is shorter than this, and so is any name that a person chose. */
#define CREDENTIAL_MAX 512

struct credential {
    char text[2 * CREDENTIAL_MAX]; /* both strings */
    const char *user, *password;   /* into it */
};

/*
 * The value of the header. -EINVAL for another scheme, for what is not exactly base64, without a colon, with a NUL (it
 * would end what is compared) or too long; what is left is not more than bytes: UTF-8 is not asked for.
 */
int credential_parse(const char *value, struct credential *ret);
/* The strings of a copy are its own. */
void credential_copy(const struct credential *from, struct credential *to);
void credential_done(struct credential *credential);

#endif
