/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The levels of trust in a client, in ascending order. The configuration says what each level may do; http/trust.h
 * determines the level of a client.
 */
#ifndef CONFIG_STANDING_H
#define CONFIG_STANDING_H

enum standing {
    STANDING_PAGE, /* a page in a browser, which a stranger may have made: it may read documents, but start nothing */
    STANDING_EVERYBODY, /* any client that can connect */
    STANDING_LOCAL,     /* a client on this machine */
    STANDING_OPERATOR,  /* a client that belongs to an operator of this machine (http/trust.h) */
};

#endif
