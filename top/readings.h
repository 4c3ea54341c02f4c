/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where readings come from, in the event loop: counters of this process (top-local.h), or a daemon (top-remote.h).
 *
 * Readings of counters that this process has opened.
 *
 * Readings of a running daemon, by its documents below /api/v1/.
 */
#ifndef TOP_READINGS_H
#define TOP_READINGS_H

#include <jansson.h>
#include <systemd/sd-event.h>

#include "base/util.h"
#include "daemon/session.h"
#include "top/http-get.h"

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

struct top_local;

/* Whether the session counts anything of the machine, besides this process. */
bool top_local_has_counters(const struct session *session);

/* The session is open and outlives it. The first reading comes after an interval. -errno. */
int top_local_new(sd_event *event, struct session *session, uint64_t interval_ns, const struct top_listener *listener,
                  struct top_local **ret);
struct top_local *top_local_free(struct top_local *local);
/* From now on. -errno. */
int top_local_set_interval(struct top_local *local, uint64_t interval_ns);

struct top_remote;

/* `address` is resolved and outlives it. -errno; that nothing answers is reported to the listener. */
int top_remote_new(sd_event *event, const struct top_address *address, uint64_t interval_ns,
                   const struct top_listener *listener, struct top_remote **ret);
struct top_remote *top_remote_free(struct top_remote *remote);
/* From the next request on; at most 60 s, as /api/v1/rates has it. */
void top_remote_set_interval(struct top_remote *remote, uint64_t interval_ns);

#endif
