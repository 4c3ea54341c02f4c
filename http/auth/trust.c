/* SPDX-License-Identifier: Apache-2.0 */
/* The clients that the server trusts: see trust.h. */
#include "http/auth/trust.h"

int trust_init(struct trust *trust, enum standing operates, char *const *hosts, size_t n_hosts)
{
    *trust = (struct trust){.operates = operates};
    trust->hosts = calloc(n_hosts + 1, sizeof(*trust->hosts));
    if (!trust->hosts)
        return -ENOMEM;
    for (size_t i = 0; i < n_hosts; i++) {
        trust->hosts[i] = strdup(hosts[i]);
        if (!trust->hosts[i])
            return -ENOMEM;
        trust->n_hosts++;
    }
    return 0;
}

void trust_done(struct trust *trust)
{
    for (size_t i = 0; i < trust->n_hosts; i++)
        free(trust->hosts[i]);
    free(trust->hosts);
    *trust = (struct trust){.operates = STANDING_OPERATOR};
}
