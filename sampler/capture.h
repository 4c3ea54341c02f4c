/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that a capture has open, with their attrs and ids, as writers need them. Shared by references: a stream
 * reads them until its end, when the capture may have others, or be gone.
 *
 * Samples one spec: a lane for each CPU, whose records go to all subscribers in the order of time.
 *
 * A round takes the records that were in the rings when it began, a bounded number in each turn of the event loop.
 */
#ifndef SAMPLER_CAPTURE_H
#define SAMPLER_CAPTURE_H

#include <sys/queue.h>

#include "sampler/record-options.h"
#include "sampler/rings.h"
#include "sampler/writer.h"

struct sampled_events;
struct sampled_events *sampled_events_unref(struct sampled_events *sampled);

struct subscriber {
    void *userdata;
    void (*record)(void *userdata, const struct record *record);
    /* After each turn. All records before `until_ns` were given; 0: the round goes on. May unsubscribe. */
    void (*round)(void *userdata, uint64_t until_ns);
    /* The capture has other events than before: the subscriber calls capture_describe() again. */
    void (*events)(void *userdata);
    /*
     * From now on no records are taken, or are again. Records of processes are missed in a pause as well. `time_ns`
     * (CLOCK_MONOTONIC): all records are earlier; or those that come now are later.
     */
    void (*pause)(void *userdata, bool paused, uint64_t time_ns);
    /* No more records come; a sentence. May unsubscribe. */
    void (*over)(void *userdata, const char *reason);
    LIST_ENTRY(subscriber) entry;
};

struct capture;

/*
 * Opens the rings of all CPUs that are online, paused. Takes the spec unless it fails. `symbols` gets each record
 * before the subscribers. Errors with a sentence: those of lane_open(), -EINVAL for a process with too many threads.
 */
int capture_open(struct sys *sys, sd_event *event, const struct machine *machine, struct symbols *symbols,
                 struct spec *spec, struct capture **ret, struct error *error);
struct capture *capture_free(struct capture *capture);
/* Closes the rings of CPUs that are not sampled, since others need the memory. Returns whether there were any. */
bool capture_close_tracking(struct capture *capture);

const struct spec *capture_spec(const struct capture *capture);
/* Whether it still samples. */
bool capture_is_alive(const struct capture *capture);
/* Opens the CPUs that came, drains and closes those that left. `left` (may be NULL) have left even if online again. */
void capture_cpus_changed(struct capture *capture, const struct machine *machine, const struct cpuset *left);
/* Disables the events and drains the rings, or enables them: -errno of the first lane that cannot be enabled. */
int capture_pause(struct capture *capture, bool paused);
bool capture_is_paused(const struct capture *capture);

/* `subscriber` is borrowed until it unsubscribes. */
void capture_subscribe(struct capture *capture, struct subscriber *subscriber);
void capture_unsubscribe(struct subscriber *subscriber);
bool capture_is_idle(const struct capture *capture);
/* Begins a round soon, without waiting for rings to fill. */
void capture_begin_round(struct capture *capture);

/* Fills in events, ids, layout and symbols. They point into the result, a reference that the caller releases. */
struct sampled_events *capture_describe(const struct capture *capture, struct writer_source *source);
/* The number of records that the kernel has dropped since the capture was opened. */
uint64_t capture_lost(const struct capture *capture);
/* The number of records that could not be decoded; a whole ring that was given up counts once. */
uint64_t capture_malformed(const struct capture *capture);

#endif
