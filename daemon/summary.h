/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's state in one line, for `systemctl status`. */
#ifndef DAEMON_SUMMARY_H
#define DAEMON_SUMMARY_H

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

#endif
