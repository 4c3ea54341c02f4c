/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's state in one line, for `systemctl status`, and what it counts, for the log. */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

#include "collectors/registry.h"

struct summary_state {
    const char *reload_error; /* "" where the last one succeeded */
    unsigned paused_seconds;  /* 0: counting is not paused */
    bool opener_lost;
    bool ends; /* because of that */
};

/*
 * "counting 30 groups on 8 CPUs and 12 cgroups; 6 events unavailable, see /api/v1/status". Before it stands what an
 * operator did (a pause) or has to do.
 */
void summary_format(struct registry *registry, const struct summary_state *state, char *text, size_t size);

/*
 * Describes what is counted: "counting: cpu 0-7: core (armv8_cortex_a55, armv8_cortex_a76), software; 24 cgroups by
 * bpf: core; 3 events are not counted, see "perfcountd plan"".
 */
void summary_describe(struct registry *registry, char *text, size_t size);

#endif
