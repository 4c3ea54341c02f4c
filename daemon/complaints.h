/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator has to mend, told to the log once each: not at every scrape or reload; what was mended and fails
 * again is told again.
 */
#ifndef DAEMON_COMPLAINTS_H
#define DAEMON_COMPLAINTS_H

#include "collectors/registry.h"

struct complaints {
    char **told;
    size_t n;
};

void complaints_done(struct complaints *complaints);
/* Tells what is new. */
void complaints_tell(struct complaints *complaints, const struct registry *registry);

#endif
