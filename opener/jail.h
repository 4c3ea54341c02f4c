/* SPDX-License-Identifier: Apache-2.0 */
/* The jail that the opener enters once it has started. */
#ifndef OPENER_JAIL_H
#define OPENER_JAIL_H

#include "opener/rules.h"

/*
 * Restricts this process, the opener, to what its work needs:
 *
 * - It keeps the descriptors `fds` (negative ones are ignored) and standard error.
 *
 * - It ends with the daemon, and not by a signal that a terminal or a service manager sends to all processes.
 *
 * - It keeps the capabilities and the system calls that opening needs by the rules; those for samples and for a BPF
 * program only if the permissions include them.
 *
 * *ret_capabilities are the capabilities that it has then, a bit each. *ret_filtered is false if the kernel has no
 * seccomp filters. Returns -errno with a sentence.
 */
int opener_jail_enter(const int *fds, size_t n, const struct opener_rules *rules, uint64_t *ret_capabilities,
                      bool *ret_filtered, struct error *error);

/* Returns the capabilities out of `own`, a bit each, that the opener keeps. Pure. */
uint64_t opener_jail_capabilities(const struct opener_rules *rules, uint64_t own);

#endif
