/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's part of counting cgroups: the seam's calls, which the opener makes for it. */
#ifndef OPENER_TALLY_CLIENT_H
#define OPENER_TALLY_CLIENT_H

#include "bpf/calls.h"
#include "opener/client.h"

/*
 * How long start() waits, since the opener has a child load the program; bpf/loader.h gives up before. The
 * watchdog of the service waits longer.
 */
#define OPENER_TALLY_PATIENCE_MS 22000

/* After opener_client_attach(): sys->tally asks the opener. */
void opener_client_attach_tally(struct sys *sys);

#endif
