/* SPDX-License-Identifier: Apache-2.0 */
/* Which events a client may name: what counts, and the tracepoints that the configuration lists for it. Pure. */
#ifndef SAMPLER_CLIENT_EVENT_H
#define SAMPLER_CLIENT_EVENT_H

#include "config/config.h"

/*
 * -EACCES with a sentence for a probe, a breakpoint, an event of a PMU that traces, and a tracepoint that is not among
 * sampler.tracepoints: a probe where no instruction begins changes what a program does, and the rest shows more than
 * samples do. 0 else, also for what this machine does not have.
 */
int client_event_check(const struct config_sampler *config, const struct machine *machine, const struct event *event,
                       struct error *error);

#endif
