/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface that a format of samples implements: one const table entry and its functions, in formats/.
 *
 * A writer appends bytes to a buffer. The stream limits how many bytes wait there, and drops whole records beyond that.
 */
#ifndef SAMPLER_WRITER_H
#define SAMPLER_WRITER_H

#include "base/buffer.h"
#include "perf/record.h"
#include "symbols/kernel.h"
#include "symbols/symbols.h"

/* One event of the sampled group. */
struct writer_event {
    const char *name; /* as perf writes it: "cycles", "cpu-clock:u" */
    const struct perf_event_attr *attr;
    const uint64_t *ids; /* as PERF_SAMPLE_ID has them: of each CPU, and there of each thread; 0: not open there */
};

/* A description of the capture. It outlives the writer's state. */
struct writer_source {
    const struct writer_event *events; /* the leader, which samples, is the first */
    size_t n_events, n_ids, n_cpus;    /* `n_ids` of each event */
    struct record_layout layout;       /* of the leader's records, which are all that the rings hold */
    bool read;                         /* each sample has the values of all events */
    struct symbols *symbols;
    struct kernel_view *kernel;                     /* how addresses of the kernel are shown; NULL hides them all */
    struct sys *sys;                                /* its /proc and /sys describe the machine */
    uint64_t start_realtime_ns, start_monotonic_ns; /* the latter as sys_record_now() */
    double seconds;                                 /* that the stream takes at most */
    bool full; /* the writers of all clients keep as much as they may: nothing new may be kept */
};

enum writer_notice_kind {
    WRITER_ROUND,     /* no record that comes later is older than those that came before */
    WRITER_DROPPED,   /* since the last such notice, `n` records were dropped because the client is too slow */
    WRITER_PAUSED,    /* no samples are taken from `time_ns` on */
    WRITER_RESUMED,   /* samples are taken again from `time_ns` on */
    WRITER_RESCANNED, /* /proc was read again, since records of processes were missed: in a pause, or lost */
    WRITER_EVENTS,    /* the source has other events than before */
};

/* An event of a stream besides its records. */
struct writer_notice {
    enum writer_notice_kind kind;
    uint64_t n;       /* of WRITER_DROPPED */
    uint64_t time_ns; /* of WRITER_PAUSED and WRITER_RESUMED: CLOCK_MONOTONIC */
};

struct writer_end {
    const char *reason;   /* "seconds", "max", "reload", "shutdown", "error: ...", or a sentence */
    uint64_t records;     /* that were written */
    uint64_t lost;        /* by the kernel */
    uint64_t dropped;     /* because the client was too slow */
    uint64_t malformed;   /* that could not be decoded */
    uint64_t throttled;   /* how often the kernel stopped sampling on a CPU until its next tick */
    uint64_t duration_ns; /* of the stream */
};

/* For the reader of a stream that was throttled, with how often. */
#define WRITER_THROTTLED                                                                                               \
    "the kernel throttled sampling %" PRIu64 " times, and samples are missing there: ask for a lower frequency or a "  \
    "longer period, or raise kernel.perf_event_max_sample_rate"

struct writer {
    double seconds; /* that a stream takes if its client names no time; 0: as long as the configuration allows */
    /* Writes the format's header and the processes that run already. Returns a state; NULL when out of memory. */
    void *(*begin)(const struct writer_source *source, struct buffer *out);
    /* Writes a record. Returns whether it was written; then it counts towards `max`. */
    bool (*record)(void *state, const struct record *record, struct buffer *out);
    /* NULL: the format shows no notices. */
    void (*notice)(void *state, const struct writer_notice *notice, struct buffer *out);
    /*
     * For formats that write everything at the end; NULL for others. Asks for symbols that are missing, and does what
     * can be done before the end. Returns whether all symbols that will ever come are there. Called after the last
     * record, and then whenever no symbols are pending, until it returns true.
     */
    bool (*settle)(void *state);
    /* The bytes of memory that the writer keeps for the end. NULL: none that grow with the number of records. */
    size_t (*bytes)(const void *state);
    void (*end)(void *state, const struct writer_end *end, struct buffer *out);
    void (*free)(void *state);
};

#endif
