/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking passwords: see password.h. By crypt_rn(3), since crypt_r(3) reports its failures by a text, and the
 * sanitizers replace it.
 */
#include "http/password.h"

#include <gnutls/gnutls.h>
#include <stdio.h>

/* $2b$CC$, 22 digits of salt and 31 of hash */
#define HASH_SIZE 60

unsigned password_cost(const char *hash)
{
    unsigned cost = 0;

    if (strlen(hash) != HASH_SIZE || sscanf(hash, "$2%*[abxy]$%2u$", &cost) != 1)
        return 0;
    return cost >= PASSWORD_COST_MIN && cost <= PASSWORD_COST_MAX ? cost : 0;
}

static bool hash_matches(const char *password, const char *hash, struct crypt_data *data)
{
    const char *made = crypt_rn(password, hash, data, sizeof(*data));

    return made && strlen(made) == strlen(hash) && gnutls_memcmp(made, hash, strlen(hash)) == 0;
}

/* The work of a check at this cost, for a hash that nobody has. */
static void password_spend(const char *password, unsigned cost, struct crypt_data *data)
{
    char setting[HASH_SIZE + 1];

    snprintf(setting, sizeof(setting), "$2b$%02u$%.22s", cost, "perfcountd.perfcountd.");
    crypt_rn(password, setting, data, sizeof(*data));
}

bool password_matches(const char *password, const char *hash, unsigned most, struct crypt_data *data)
{
    unsigned cost = hash ? password_cost(hash) : 0;
    bool right = cost && hash_matches(password, hash, data);

    /* Each cost is as much work as all below it together: 2^c + 2^c + 2^(c+1) + ... + 2^(most-1) = 2^most. */
    for (unsigned i = cost; !right && cost && i < most; i++)
        password_spend(password, i, data);
    if (!cost)
        password_spend(password, most, data);
    explicit_bzero(data, sizeof(*data));
    return right;
}
