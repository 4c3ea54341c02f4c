/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's part of counting cgroups: makes the calls of the seam that the daemon asks for. */
#ifndef OPENER_TALLY_SERVER_H
#define OPENER_TALLY_SERVER_H

#include "opener/request.h"
#include "opener/tally-quota.h"

/*
 * Makes a call that is parsed and allowed, with the descriptors that came along, by sys->tally. 0, or the error of the
 * call, with its sentence in the reply; -ENOSYS where there is no tally; -EBUSY where the quota has no place for one
 * more.
 */
int opener_tally_serve(struct sys *sys, struct tally_quota *quota, const struct opener_tally_packet *packet,
                       const struct fd_list *given, struct opener_reply *reply, struct fd_list *opened);

#endif
