/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of readings for `perfcountd top`, in the event loop: counters that this process has opened (struct
 * top_local), or the documents of a running daemon under /api/v1/ (struct top_remote). Both sources report to a
 * listener.
 */
#ifndef TOP_READINGS_H
#define TOP_READINGS_H

#include <jansson.h>
#include <systemd/sd-event.h>

#include "base/util.h"
#include "daemon/session.h"
#include "top/http-get.h"

/*
 * Documents of /api/v1/; each is NULL if unknown. The documents are only valid during the call: a listener must take a
 * reference to keep a document.
 */
struct top_reading {
    json_t *rates, *cgroups, *status;
};

struct top_listener {
    void (*on_reading)(void *userdata, const struct top_reading *reading);
    /* Called when a reading fails, with the reason; the source keeps trying. */
    void (*on_error)(void *userdata, const char *sentence);
    void *userdata;
};

struct top_local;

/* Returns whether the session counts anything other than this process itself (collector `self`). */
bool top_local_has_counters(const struct session *session);

/*
 * Reads the counters of `session`, which must be open and outlive the result. The listener gets the first reading after
 * one interval. Returns -errno on failure.
 */
int top_local_new(sd_event *event, struct session *session, uint64_t interval_ns, const struct top_listener *listener,
                  struct top_local **ret);
struct top_local *top_local_free(struct top_local *local);
/* Sets the interval; the next reading follows one new interval from now. Returns -errno on failure. */
int top_local_set_interval(struct top_local *local, uint64_t interval_ns);

struct top_remote;

/*
 * Gets readings from the daemon at `address`, which must be resolved and outlive the result. Returns -errno on failure;
 * if no daemon answers, the listener's on_error() is called instead.
 */
int top_remote_new(sd_event *event, const struct top_address *address, uint64_t interval_ns,
                   const struct top_listener *listener, struct top_remote **ret);
struct top_remote *top_remote_free(struct top_remote *remote);
/* Sets the interval from the next request on. The maximum is 60 s, the limit of /api/v1/rates. */
void top_remote_set_interval(struct top_remote *remote, uint64_t interval_ns);

#endif
