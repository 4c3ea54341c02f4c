/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What turns records into a format: one const table entry and its functions. A writer appends to a buffer; what is
 * appended while the buffer is over its limit is the stream's business (it drops whole records and counts them).
 */
#ifndef SAMPLER_WRITER_H
#define SAMPLER_WRITER_H

#include "base/buffer.h"
#include "base/error.h"
#include "perf/record.h"
#include "symbols/kernel-view.h"
#include "symbols/symbols.h"

/* One event of the sampled group. */
struct writer_event {
    const char *name; /* as perf writes it: "cycles", "cpu-clock:u" */
    const struct perf_event_attr *attr;
    const uint64_t *ids; /* on each CPU, and there of each thread, as PERF_SAMPLE_ID has them; 0: not there */
};

/* What a capture samples, as its writers need to know it; outlives them. */
struct writer_source {
    const struct writer_event *events; /* the leader, which samples, first */
    size_t n_events, n_ids, n_cpus;    /* ids of each event */
    struct record_layout layout;       /* of the leader: its records are in the rings */
    bool read;                         /* samples have the values of all events */
    struct symbols *symbols;
    struct kernel_view *kernel;                     /* by which each address of the kernel goes; NULL: all are hidden */
    struct sys *sys;                                /* whose /proc and /sys describe the machine */
    uint64_t start_realtime_ns, start_monotonic_ns; /* record times are of CLOCK_MONOTONIC (attr.clockid) */
    double seconds;                                 /* asked for */
    bool full; /* what all clients' writers may keep is used up: nothing new is to be kept */
};

struct writer_end {
    const char *reason;              /* "seconds", "max", "reload", "shutdown", "error: ...", a sentence */
    uint64_t records, lost, dropped; /* written; lost by the kernel; dropped since the client was slow */
    uint64_t malformed;              /* made no sense */
    uint64_t duration_ns;
};

struct writer {
    double seconds; /* that a stream takes if its client names no time; 0: as long as the configuration allows */
    /* Whether the format can be written here at all: -ENOSYS with a sentence; asked by stream_open(). NULL: it can. */
    int (*check)(struct error *error);
    /* The format's header, and what already runs. NULL when out of memory. */
    void *(*begin)(const struct writer_source *source, struct buffer *out);
    /* One record. Returns whether it was written (counts towards `max`). */
    bool (*record)(void *state, const struct record *record, struct buffer *out);
    /* After each round over the rings; may be NULL. */
    void (*round)(void *state, struct buffer *out);
    /* This many records were dropped since the last call; may be NULL. */
    void (*dropped)(void *state, uint64_t n, struct buffer *out);
    /* The source has other events than before; may be NULL. */
    void (*changed)(void *state);
    /*
     * Whether all that end() needs is there, as far as it ever will be. It also asks for what is not, and does what can
     * be done now. Asked when records have ended, and while it says no whenever no symbols are pending. NULL: it is.
     */
    bool (*settled)(void *state);
    /* No samples are taken from this time on, or are again; may be NULL. */
    void (*pause)(void *state, bool paused, uint64_t time_ns, struct buffer *out);
    /* What runs was read anew, since the records that tell it were missed: in a pause, or lost; may be NULL. */
    void (*relearned)(void *state, struct buffer *out);
    /* What it keeps for the end, in bytes; NULL: nothing that grows. */
    size_t (*bytes)(const void *state);
    void (*end)(void *state, const struct writer_end *end, struct buffer *out);
    void (*free)(void *state);
};

#endif
