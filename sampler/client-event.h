/* SPDX-License-Identifier: Apache-2.0 */
/* The events that a client may name: those that count, and the tracepoints that the configuration lists. Pure. */
#ifndef SAMPLER_CLIENT_EVENT_H
#define SAMPLER_CLIENT_EVENT_H

#include "config/config.h"

/*
 * -EACCES with a sentence for a probe, a breakpoint, an event of a PMU that traces, and a tracepoint that
 * sampler.tracepoints does not list: a probe that is not at the start of an instruction changes the program, and the
 * others show more than samples do. 0 otherwise, also for events that this machine does not have.
 */
int client_event_check(const struct config_sampler *config, const struct machine *machine, const struct event *event,
                       struct error *error);

#endif
