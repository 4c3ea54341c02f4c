/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a client is trusted, in ascending order. The configuration says what each standing may do;
 * http/trust.h finds the standing of a client.
 */
#ifndef CONFIG_STANDING_H
#define CONFIG_STANDING_H

enum standing {
    STANDING_PAGE,      /* a page in a browser, which a stranger may have made: it reads documents and starts nothing */
    STANDING_EVERYBODY, /* any client that can connect */
    STANDING_LOCAL,     /* a client on this machine */
    STANDING_OPERATOR,  /* a client of an operator of this machine: see http/trust.h */
};

#endif
