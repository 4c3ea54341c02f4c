/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sampled by one spec: a lane for each CPU, whose records go to all subscribers in the order of time.
 *
 * A round takes what was in the rings when it began, a bounded amount in each turn of the event loop.
 */
#ifndef SAMPLER_CAPTURE_H
#define SAMPLER_CAPTURE_H

#include "sampler/sampled-events.h"
#include "sampler/spec.h"
#include "sampler/writer.h"

struct subscriber {
    void *userdata;
    void (*record)(void *userdata, const struct record *record);
    /* All records before `until_ns` were given. May unsubscribe. */
    void (*round)(void *userdata, uint64_t until_ns);
    /* There are other events than before: capture_describe() is to be asked again. */
    void (*events)(void *userdata);
    /* It takes no samples from now on, or does again; what is missed meanwhile is also what says what runs. */
    void (*pause)(void *userdata, bool paused);
    /* Nothing comes any more; a sentence. May unsubscribe. */
    void (*over)(void *userdata, const char *reason);
    struct subscriber *next;
};

struct capture;

/*
 * Opens the rings of all CPUs that are online, paused. Takes the spec over unless it fails. `symbols` is told of each
 * record before the subscribers are. With a sentence; errors of lane_open(), -EINVAL for a process of too many threads.
 */
int capture_open(struct sys *sys, sd_event *event, const struct machine *machine, struct symbols *symbols,
                 struct spec *spec, struct capture **ret, struct error *error);
struct capture *capture_free(struct capture *capture);
/* Closes the rings for good. */
void capture_stop(struct capture *capture);
/* Closes those of CPUs that are not sampled, for others that need the memory: whether there were any. */
bool capture_stop_tracking(struct capture *capture);

const struct spec *capture_spec(const struct capture *capture);
/* Whether it samples still. */
bool capture_is_alive(const struct capture *capture);
/* Opens what has come, drains and closes what has gone; what is in `left` (may be NULL) has, also where it is back. */
void capture_cpus_changed(struct capture *capture, const struct machine *machine, const struct cpuset *left);
/* Disables its events and takes what they left in the rings, or enables them. -errno of the first that cannot be. */
int capture_pause(struct capture *capture, bool paused);
bool capture_is_paused(const struct capture *capture);

/* `subscriber` stays where it is until it unsubscribes. */
void capture_subscribe(struct capture *capture, struct subscriber *subscriber);
void capture_unsubscribe(struct capture *capture, struct subscriber *subscriber);
bool capture_is_idle(const struct capture *capture);
/* Has a round begin soon. */
void capture_hurry(struct capture *capture);

/*
 * Fills in what is the capture's: events, ids, layout, symbols. It points into what is returned, a reference for the
 * caller.
 */
struct sampled_events *capture_describe(const struct capture *capture, struct writer_source *source);
/* How many records the kernel has dropped since it was opened. */
uint64_t capture_lost(const struct capture *capture);
/* How many made no sense, or with them all that was in a ring. */
uint64_t capture_malformed(const struct capture *capture);

#endif
