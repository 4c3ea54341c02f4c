/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture samples with one set of options. The capture has a ring (sampler/rings.h) for each CPU, and passes the
 * records of all rings to its subscribers in chronological order.
 *
 * A capture takes records in rounds. A round takes the records that were in the rings when the round began, a limited
 * number in each turn of the event loop.
 *
 * A capture of the past (sampler/hindsight.h) has copies of rings, one subscriber, and one round, which the subscriber
 * starts. A capture of the past is never paused, and neither opens nor closes events.
 *
 * All functions and callbacks in this file run in the thread of the event loop.
 */
#ifndef SAMPLER_CAPTURE_H
#define SAMPLER_CAPTURE_H

#include <sys/queue.h>

#include "sampler/off-cpu.h"
#include "sampler/record-options.h"
#include "sampler/rings.h"
#include "sampler/writer.h"

/*
 * The open events of a capture, with their attrs and ids, as needed by writers. The events are reference-counted: a
 * stream needs them until it ends, but by then the capture may have opened other events or been freed.
 */
struct sampled_events;
struct sampled_events *sampled_events_unref(struct sampled_events *sampled);

struct subscriber {
    void *userdata;
    /*
     * Called with each record, which is borrowed until the callback returns. The callback `record` must not
     * unsubscribe.
     */
    void (*record)(void *userdata, const struct record *record);
    /*
     * Called at the end of each turn of a round. `until_ns` is the time (sys_record_now()) up to which all records were
     * passed on, or 0 if the round is not complete. May unsubscribe.
     */
    void (*round)(void *userdata, uint64_t until_ns);
    /* Called when the capture has opened or closed events, so that capture_describe() must be called again. */
    void (*events)(void *userdata);
    /*
     * Called when a pause has begun or ended. Process records are missed during a pause, too. `time_ns`
     * (CLOCK_MONOTONIC) is later than all records before the pause, or earlier than all records after the pause.
     */
    void (*pause)(void *userdata, bool paused, uint64_t time_ns);
    /* Called when there will be no more records; `reason` is part of a sentence for the client. May unsubscribe. */
    void (*over)(void *userdata, const char *reason);
    LIST_ENTRY(subscriber) entry;
};

struct capture;

/* Sets an error message such as "sampling cannot start: Too many open files". Returns `code`. */
int capture_refuse(int code, struct error *error);

/*
 * Opens the rings of all online CPUs, paused. `machine` is borrowed during the call. `off_cpu`, used only if the
 * options sample off-CPU time, is borrowed until the capture is freed. On success, the content of `options` is moved to
 * the capture. Each record is passed to `symbols`, which must outlive the capture, and then to the subscribers. Returns
 * the errors from rings_open() with a message.
 */
int capture_open(struct sys *sys, sd_event *event, const struct machine *machine, struct symbols *symbols,
                 struct off_cpu_kernel *off_cpu, struct record_options *options, struct capture **ret,
                 struct error *error);
/* The time range of the records that a capture of the past passes on. */
struct past_span {
    uint64_t since_ns, until_ns; /* only samples between these times (sys_record_now()) are passed on */
};
/*
 * Makes a capture of the past. Takes ownership of `rings` and of the content of `options`, even on failure. If
 * `options->pid` is set, only the records of that process and its descendants are passed on. Returns -ENOMEM, or an
 * error from sd-event.
 */
int capture_of_past(struct sys *sys, sd_event *event, struct symbols *symbols, struct rings *rings,
                    struct record_options *options, const struct past_span *span, struct capture **ret);
/* Returns the time range of a capture of the past, or NULL for a live capture. */
const struct past_span *capture_past(const struct capture *capture);
/* Rewinds a capture of the past: its next round starts again from the first record. */
void capture_rewind(struct capture *capture);
/* Holds or releases a capture of past samples. It passes on no records while it is held. */
void capture_hold(struct capture *capture, bool hold);
/* Frees the capture; all subscribers must have unsubscribed. */
struct capture *capture_free(struct capture *capture);
/*
 * Closes the rings that only track processes, to free locked memory and descriptors. Returns whether any tracking ring
 * was open.
 */
bool capture_close_tracking(struct capture *capture);

const struct record_options *capture_options(const struct capture *capture);
/*
 * Returns whether any CPU is still sampled and the process to sample, if any, is still running. Always returns false
 * for a capture of the past.
 */
bool capture_is_alive(const struct capture *capture);
/*
 * Drains the rings, closes the rings of CPUs that have gone offline, and opens rings on CPUs that have come online.
 * `went_offline` (may be NULL) lists the CPUs that have gone offline since the last call, even if they are back online.
 * Does nothing without subscribers.
 */
void capture_cpus_changed(struct capture *capture, const struct machine *machine, const struct cpuset *went_offline);
/*
 * Pauses the capture by disabling its events and draining its rings, or resumes it. Returns -errno of the first ring
 * that cannot be enabled.
 */
int capture_pause(struct capture *capture, bool paused);
bool capture_is_paused(const struct capture *capture);

/* Adds `subscriber`, which is borrowed until capture_unsubscribe(). */
void capture_subscribe(struct capture *capture, struct subscriber *subscriber);
void capture_unsubscribe(struct subscriber *subscriber);
/* Returns whether the capture has no subscribers. */
bool capture_is_idle(const struct capture *capture);
/* Schedules a round for the next turn of the event loop, without waiting for rings to fill. */
void capture_begin_round(struct capture *capture);

/*
 * Sets the events, ids, layout, flags, symbols and sys of `source`. Returns a new reference to the owner of
 * the events and ids.
 */
struct sampled_events *capture_describe(const struct capture *capture, struct writer_source *source);
/* Returns the number of records that the kernel has dropped since the capture was opened. */
uint64_t capture_lost(const struct capture *capture);
/* Returns how many waits off-CPU sampling has left out since the capture was opened; zeros for other events. */
struct off_cpu_totals capture_off_cpu_totals(const struct capture *capture);
/* Returns the number of records that could not be decoded; the whole content of a corrupt ring counts as one record. */
uint64_t capture_malformed(const struct capture *capture);

#endif
