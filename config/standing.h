/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a client is trusted, in ascending order: the configuration says what is for which of them,
 * http/auth/standing.h which of them a client is.
 */
#ifndef CONFIG_STANDING_H
#define CONFIG_STANDING_H

enum standing {
    STANDING_PAGE, /* a page in a browser that somebody else may have made: it reads documents and starts nothing */
    STANDING_EVERYBODY, /* any client that can connect */
    STANDING_LOCAL,     /* a client on this machine */
    STANDING_OPERATOR,  /* a client of those who run this machine: see http/auth/standing.h */
};

#endif
