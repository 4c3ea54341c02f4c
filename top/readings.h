/* SPDX-License-Identifier: Apache-2.0 */
/* Where readings come from, in the event loop: counters of this process (top-local.h), or a daemon (top-remote.h). */
#ifndef TOP_READINGS_H
#define TOP_READINGS_H

#include <jansson.h>

#include "base/util.h"

/* Documents as /api/v1/ has them; NULL where they are not known. A listener that keeps one takes a reference. */
struct top_reading {
    json_t *rates, *cgroups, *status;
};

struct top_listener {
    void (*on_reading)(void *userdata, const struct top_reading *reading);
    /* A sentence on why there is none; the source goes on trying. */
    void (*on_error)(void *userdata, const char *sentence);
    void *userdata;
};

#endif
