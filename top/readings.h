/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where `perfcountd top` gets its readings from, in the event loop: counters that this process has opened (struct
 * top_local), or the documents of a running daemon under /api/v1/ (struct top_remote). Both report to a listener.
 */
#ifndef TOP_READINGS_H
#define TOP_READINGS_H

#include <jansson.h>
#include <systemd/sd-event.h>

#include "base/util.h"
#include "daemon/session.h"
#include "top/http-get.h"

/* Documents of /api/v1/; NULL if unknown. Borrowed for the call: a listener takes a reference to keep one. */
struct top_reading {
    json_t *rates, *cgroups, *status;
};

struct top_listener {
    void (*on_reading)(void *userdata, const struct top_reading *reading);
    /* Called with a sentence when a reading fails; the source keeps trying. */
    void (*on_error)(void *userdata, const char *sentence);
    void *userdata;
};

struct top_local;

/* Whether the session counts anything other than this process itself (collector `self`). */
bool top_local_has_counters(const struct session *session);

/* `session` must be open and outlive the result. The first reading comes after one interval. -errno. */
int top_local_new(sd_event *event, struct session *session, uint64_t interval_ns, const struct top_listener *listener,
                  struct top_local **ret);
struct top_local *top_local_free(struct top_local *local);
/* The next reading comes one new interval from now. -errno. */
int top_local_set_interval(struct top_local *local, uint64_t interval_ns);

struct top_remote;

/* `address` must be resolved and outlive the result. -errno; if no daemon answers, the listener gets the error. */
int top_remote_new(sd_event *event, const struct top_address *address, uint64_t interval_ns,
                   const struct top_listener *listener, struct top_remote **ret);
struct top_remote *top_remote_free(struct top_remote *remote);
/* Takes effect at the next request. At most 60 s, the limit of /api/v1/rates. */
void top_remote_set_interval(struct top_remote *remote, uint64_t interval_ns);

#endif
