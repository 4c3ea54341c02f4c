/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from /proc what runs already, a little at each step, so that nobody has to wait for it. */
#ifndef SYMBOLS_LEARNER_H
#define SYMBOLS_LEARNER_H

#include "symbols/processes.h"

struct learner;

/* `pid` 0: all. -errno of reading /proc. */
int learner_new(struct sys *sys, uint32_t pid, struct learner **ret);
struct learner *learner_free(struct learner *learner);
/* Reads one thing more: a name, or up to LEARNER_CHUNK bytes of a list of mappings. False where all is read. */
#define LEARNER_CHUNK (16 * 1024)
bool learner_step(struct learner *learner, struct processes *processes);
/* Whether this process may not see much of it; single processes have secrets from everybody. */
bool learner_was_denied(const struct learner *learner);

#endif
