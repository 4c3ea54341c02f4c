/* SPDX-License-Identifier: Apache-2.0 */
/* The jail that the opener enters once it has started. */
#ifndef OPENER_JAIL_H
#define OPENER_JAIL_H

#include <sys/types.h>

#include "base/error.h"

/*
 * For the opener. Its only descriptors are from now on `socket`, `reader` (-1: none) and standard error. It ends with
 * `parent`, and not by a signal that a terminal or a service manager sends to all processes. It keeps the capabilities
 * that counting needs (and, where it is `sampling`, samples), which go to *ret_capabilities, and the system calls of
 * server.c. *ret_filtered is false where the kernel has no filters. -errno with a sentence.
 */
int opener_jail_enter(int socket, int reader, pid_t parent, bool sampling, uint64_t *ret_capabilities,
                      bool *ret_filtered, struct error *error);

#endif
