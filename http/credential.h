/* SPDX-License-Identifier: Apache-2.0 */
/* A name and a password, as `Authorization: Basic` has them (RFC 7617). Pure; secrets are wiped from memory. */
#ifndef HTTP_CREDENTIAL_H
#define HTTP_CREDENTIAL_H

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

#endif
