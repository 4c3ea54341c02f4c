/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a bcrypt hash: see bcrypt.h, and crypt(5). */
#include "config/bcrypt.h"

/* The variants that libcrypt checks. Go accepts any letter or none, but no program writes other variants. */
#define VARIANTS "abxy"
#define ALPHABET "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define COST_MIN 4
#define COST_MAX 31
/* After the last "$": 22 characters of salt, 31 of the hash. */
#define DIGEST_SIZE 53

#define HOW_TO "; \"htpasswd -nBC 10 NAME\" asks for the password and prints NAME:HASH"

static bool bcrypt_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int bcrypt_check_cost(const char *text, struct error *error)
{
    int cost = bcrypt_is_digit(text[0]) && bcrypt_is_digit(text[1]) ? 10 * (text[0] - '0') + text[1] - '0' : -1;

    if (cost < COST_MIN || cost > COST_MAX || text[2] != '$')
        return error_set(error, -EINVAL,
                         "the bcrypt hash is damaged: its cost is not two digits from %02d to %d and a \"$\"", COST_MIN,
                         COST_MAX);
    return 0;
}

static int bcrypt_check_digest(const char *text, struct error *error)
{
    size_t size = strlen(text);

    if (text[strspn(text, ALPHABET)])
        return error_set(error, -EINVAL, "the bcrypt hash is damaged: it has a character that bcrypt never writes");
    if (size != DIGEST_SIZE)
        return error_set(error, -EINVAL, "the bcrypt hash is damaged: it has %zu characters after the cost, not %d",
                         size, DIGEST_SIZE);
    return 0;
}

/* "$6$", "$apr1$", "{SHA}" and the like. */
static bool bcrypt_is_other_hash(const char *text)
{
    return (text[0] == '$' && strchr(text + 1, '$')) || (text[0] == '{' && strchr(text, '}'));
}

int bcrypt_check(const char *text, struct error *error)
{
    static const char usual[] = "$2y$";

    if (text[0] == '\0')
        return error_set(error, -EINVAL, "there is no hash" HOW_TO);
    if (!str_starts(text, "$2"))
        return error_set(error, -EINVAL, "%s" HOW_TO,
                         bcrypt_is_other_hash(text) ? "this is a hash, but not a bcrypt hash"
                                                    : "this is not a bcrypt hash, but looks like the password itself");
    if (text[2] == '\0' || !strchr(VARIANTS, text[2]) || text[3] != '$')
        return error_set(error, -EINVAL, "the bcrypt hash does not start with $2a$, $2b$, $2x$ or $2y$");
    int r = bcrypt_check_cost(text + strlen(usual), error);
    return r < 0 ? r : bcrypt_check_digest(text + strlen(usual) + strlen("10$"), error);
}
