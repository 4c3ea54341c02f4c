/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's part of counting cgroups: makes the calls of the seam that the daemon asks for. */
#ifndef OPENER_TALLY_SERVER_H
#define OPENER_TALLY_SERVER_H

#include "opener/quota.h"
#include "opener/request.h"

/*
 * How many tallies the daemon may have maps of, which keep the kernel's memory: the one that counts, the one that
 * replaces it, and those that the daemon still reads a last time.
 */
#define OPENER_TALLIES_MAX 4

/*
 * Makes a call that is parsed and allowed, with the descriptors that came along, by sys->tally. 0, or the error of the
 * call, with its sentence in the reply; -ENOSYS where there is no tally; -EBUSY where there are too many. `quota` has
 * one account.
 */
int opener_tally_serve(struct sys *sys, struct quota *quota, const struct opener_tally_packet *packet,
                       const struct fd_list *given, struct opener_reply *reply, struct fd_list *opened);

#endif
