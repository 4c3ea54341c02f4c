/* SPDX-License-Identifier: Apache-2.0 */
/* The jail that the opener enters once it has started. */
#ifndef OPENER_JAIL_H
#define OPENER_JAIL_H

#include "opener/rules.h"

/*
 * For the opener. Its only descriptors are from now on those of `fds` (negative ones are none) and standard error. It
 * ends with the daemon, and not by a signal that a terminal or a service manager sends to all processes. It keeps the
 * capabilities, which go to *ret_capabilities, and the system calls that opening needs by the rules: those of samples
 * and of a tally only where the permissions have them. *ret_filtered is false where the kernel has no filters. -errno
 * with a sentence.
 */
int opener_jail_enter(const int *fds, size_t n, const struct opener_rules *rules, uint64_t *ret_capabilities,
                      bool *ret_filtered, struct error *error);

/* Those of the capabilities `own`, a bit each, that it keeps. Pure. */
uint64_t opener_jail_capabilities(const struct opener_rules *rules, uint64_t own);

#endif
