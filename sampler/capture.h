/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture samples with one set of options: it has a ring (sampler/rings.h) for each CPU, and passes the records of
 * all rings to its subscribers, ordered by time.
 *
 * Records are taken in rounds. A round takes the records that were in the rings when it began, a limited number in each
 * turn of the event loop.
 *
 * A capture of the past (sampler/hindsight.h) has copies of rings, one subscriber and one round, which the subscriber
 * starts. It is never paused, and opens and closes nothing.
 *
 * All functions and callbacks run in the thread of the event loop.
 */
#ifndef SAMPLER_CAPTURE_H
#define SAMPLER_CAPTURE_H

#include <sys/queue.h>

#include "sampler/off-cpu.h"
#include "sampler/record-options.h"
#include "sampler/rings.h"
#include "sampler/writer.h"

/*
 * The open events of a capture, with their attrs and ids, as writers need them. Reference-counted: a stream reads them
 * until its end, when the capture may have other events or be freed.
 */
struct sampled_events;
struct sampled_events *sampled_events_unref(struct sampled_events *sampled);

struct subscriber {
    void *userdata;
    /* Called with each record, which is borrowed until it returns. Must not unsubscribe. */
    void (*record)(void *userdata, const struct record *record);
    /*
     * Called after each turn. `until_ns` is the time (sys_record_now()) up to which all records were passed, or 0 if
     * the round is not complete. May unsubscribe.
     */
    void (*round)(void *userdata, uint64_t until_ns);
    /* Called when the capture has opened or closed events: capture_describe() must be called again. */
    void (*events)(void *userdata);
    /*
     * Called when a pause has begun or ended. Records of processes are also missed during a pause. All earlier records
     * are before `time_ns` (CLOCK_MONOTONIC) when a pause begins; all later records are after it when a pause ends.
     */
    void (*pause)(void *userdata, bool paused, uint64_t time_ns);
    /* Called when no more records will come; `reason` is part of a sentence for the client. May unsubscribe. */
    void (*over)(void *userdata, const char *reason);
    LIST_ENTRY(subscriber) entry;
};

struct capture;

/* Sets "sampling cannot start: Too many open files" for -EMFILE. Returns `code`. */
int capture_refuse(int code, struct error *error);

/*
 * Opens the rings of all online CPUs, paused. `machine` is borrowed for the call; `off_cpu`, for options of off-CPU
 * time, until the capture is freed. On success, moves the content of `options`. Each record goes to `symbols`, which
 * must outlive the capture, before it goes to the subscribers. Returns the errors of rings_open() with a sentence.
 */
int capture_open(struct sys *sys, sd_event *event, const struct machine *machine, struct symbols *symbols,
                 struct off_cpu_kernel *off_cpu, struct record_options *options, struct capture **ret,
                 struct error *error);
/* The time range that a capture of the past passes on. */
struct past_span {
    uint64_t since_ns, until_ns; /* the limits, by sys_record_now(): only samples between them are passed on */
};
/*
 * Makes a capture of the past. Takes `rings` and the content of `options`, even on failure. With `options->pid`, only
 * the records of that process and of those that it has started are passed on. Returns -ENOMEM, or an error of sd-event.
 */
int capture_of_past(struct sys *sys, sd_event *event, struct symbols *symbols, struct rings *rings,
                    struct record_options *options, const struct past_span *span, struct capture **ret);
/* Returns NULL for a capture that is not of the past. */
const struct past_span *capture_past(const struct capture *capture);
/* Lets the next round of a capture of the past start again from the first record. */
void capture_rewind(struct capture *capture);
/* Holds or releases a capture of the past. While it is held, it passes on no records. */
void capture_hold(struct capture *capture, bool hold);
/* All subscribers must have unsubscribed. */
struct capture *capture_free(struct capture *capture);
/* Closes the rings that only track processes, to free locked memory and descriptors. Returns whether there were any. */
bool capture_close_tracking(struct capture *capture);

const struct record_options *capture_options(const struct capture *capture);
/*
 * Whether any CPU is still sampled, and the process of the options, if any, still runs. Always false for a capture of
 * the past.
 */
bool capture_is_alive(const struct capture *capture);
/*
 * Drains the rings, closes those of CPUs that have gone offline, and opens CPUs that have come online. CPUs in
 * `went_offline` (may be NULL) have been offline in the meantime, even if they are online again. Does nothing without
 * subscribers.
 */
void capture_cpus_changed(struct capture *capture, const struct machine *machine, const struct cpuset *went_offline);
/*
 * Disables the events and drains the rings, or enables the events. Returns -errno of the first ring that cannot be
 * enabled.
 */
int capture_pause(struct capture *capture, bool paused);
bool capture_is_paused(const struct capture *capture);

/* `subscriber` is borrowed until it unsubscribes. */
void capture_subscribe(struct capture *capture, struct subscriber *subscriber);
void capture_unsubscribe(struct subscriber *subscriber);
/* Whether there are no subscribers. */
bool capture_is_idle(const struct capture *capture);
/* Schedules a round for the next turn of the event loop, without waiting for rings to fill. */
void capture_begin_round(struct capture *capture);

/*
 * Fills in the events, ids, layout, flags, symbols and sys of `source`. The events and ids are owned by the result, a
 * new reference.
 */
struct sampled_events *capture_describe(const struct capture *capture, struct writer_source *source);
/* The number of records that the kernel has dropped since the capture was opened. */
uint64_t capture_lost(const struct capture *capture);
/* Returns the waits that off-CPU sampling has left out since the capture was opened; zeros for other events. */
struct off_cpu_totals capture_off_cpu_totals(const struct capture *capture);
/* The number of records that could not be decoded; the whole content of a corrupt ring counts as one. */
uint64_t capture_malformed(const struct capture *capture);

#endif
