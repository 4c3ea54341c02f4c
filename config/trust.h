/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The levels of trust in a client, in ascending order. The configuration determines what clients of each level may do,
 * and http/trust.h determines the level of a client.
 */
#ifndef CONFIG_TRUST_H
#define CONFIG_TRUST_H

enum trust {
    TRUST_PAGE,      /* an untrusted web page in a browser, which may read documents but not start anything */
    TRUST_EVERYBODY, /* any client that can connect */
    TRUST_LOCAL,     /* a client on this machine */
    TRUST_OPERATOR,  /* a client run by an operator of this machine (http/trust.h) */
};

#endif
