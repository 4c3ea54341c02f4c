/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of an output format for samples. Each format in formats/ defines one const `struct writer`.
 *
 * A writer appends bytes to a buffer. The stream (sampler/stream.h) limits how many bytes wait in the buffer, and drops
 * whole records beyond that.
 */
#ifndef SAMPLER_WRITER_H
#define SAMPLER_WRITER_H

#include "base/buffer.h"
#include "bpf/off-cpu.h"
#include "cgroups/lookup.h"
#include "perf/record.h"
#include "symbols/kernel.h"
#include "symbols/symbols.h"

/* The name of an enum off_cpu_state in outputs, such as "sleeping". */
static inline const char *off_cpu_state_name(unsigned state)
{
    static const char *const names[N_OFF_CPU_STATES] = {
        [OFF_CPU_RUNNABLE] = "runnable",
        [OFF_CPU_SLEEPING] = "sleeping",
        [OFF_CPU_UNINTERRUPTIBLE] = "uninterruptible",
        [OFF_CPU_STOPPED] = "stopped",
    };

    return names[state];
}

/* One event of the sampled group. */
struct writer_event {
    const char *name; /* in perf's notation: "cycles", "cpu-clock:u" */
    const struct perf_event_attr *attr;
    const uint64_t *ids; /* values of PERF_SAMPLE_ID, by CPU and then by thread; 0: the event is not open there */
};

/* What each folded stack begins with. */
enum first_frame {
    BY_PROCESS,   /* the name of the thread, which is that of its process unless it was renamed */
    BY_THREAD,    /* the name, pid and tid of the thread */
    BY_CGROUP,    /* the cgroup, before the name of the thread */
    BY_CONTAINER, /* the container, before the name of the thread */
};

/* A description of the capture. It outlives the writer's state. */
struct writer_source {
    const struct writer_event *events; /* the leader, which samples, is the first */
    size_t n_events, n_ids, n_cpus;    /* `n_ids` is the number of ids of each event */
    struct record_layout layout;       /* layout of all records in the rings, which is that of the leader's */
    bool read;                         /* each sample has the values of all events */
    bool user_only;                    /* kernel mode is excluded, because this process may not sample it */
    struct symbols *symbols;
    struct cgroup_lookup *cgroups; /* NULL: cgroups are not known */
    enum first_frame by;
    struct kernel_view *kernel;                     /* how to show kernel addresses; NULL: hide them all */
    struct sys *sys;                                /* reads the machine's /proc and /sys */
    uint64_t start_realtime_ns, start_monotonic_ns; /* start of the stream; the second is from sys_record_now() */
    double seconds;                                 /* maximum duration of the stream */
    uint64_t off_cpu_threshold_ns; /* shortest wait that is sampled by the event off-cpu; 0 for other events */
    bool full; /* the writers of all clients hold as much memory as they may: the writer must not grow */
};

enum writer_mark_kind {
    WRITER_ROUND,     /* all records from now on are at least as new as those passed so far */
    WRITER_DROPPED,   /* `n` records were dropped since the last such mark, because the client is too slow */
    WRITER_PAUSED,    /* no samples are taken from `time_ns` on */
    WRITER_RESUMED,   /* samples are taken again from `time_ns` on */
    WRITER_RESCANNED, /* /proc was read again, since records of processes were missed in a pause or were lost */
    WRITER_EVENTS,    /* the events of the source have changed */
};

/* Something that happens in a stream besides its records. */
struct writer_mark {
    enum writer_mark_kind kind;
    uint64_t n;       /* for WRITER_DROPPED: number of records */
    uint64_t time_ns; /* for WRITER_PAUSED and WRITER_RESUMED: CLOCK_MONOTONIC */
};

/* Samples whose innermost function has no name; all 0 if the format does not resolve names. */
struct writer_unnamed {
    uint64_t samples; /* total */
    uint64_t kernel;  /* those in the kernel */
    uint64_t outside; /* those of programs outside this process's pid namespace, whose mappings cannot be known */
    uint64_t of_file; /* those in the file with the most of them */
    char file[64];    /* the name of that file, made printable; "" if there is none */
};

/* How a stream ended, with numbers of records. */
struct writer_end {
    const char *reason;            /* "seconds", "max", "reload", "shutdown", "error: ...", or a sentence */
    uint64_t records;              /* number of records that were written */
    uint64_t samples;              /* number of samples among these */
    const char *early;             /* a sentence about programs whose stacks end early; NULL if there are none */
    uint64_t lost;                 /* dropped by the kernel */
    uint64_t dropped;              /* dropped because the client was too slow */
    uint64_t malformed;            /* number of records that could not be decoded */
    uint64_t throttled;            /* how often the kernel stopped sampling on a CPU until its next tick */
    uint64_t duration_ns;          /* duration of the stream */
    struct off_cpu_totals off_cpu; /* waits that the event off-cpu left out */
    struct writer_unnamed unnamed;
};

/*
 * Format strings about waits that the event off-cpu left out. They count waits of the whole machine, whatever process
 * or cgroup the client asked for.
 */
#define WRITER_BRIEF                                                                                                   \
    "%" PRIu64                                                                                                         \
    " wait%s of the whole machine shorter than the threshold left out: %.3f s together (parameter \"threshold\")"
#define WRITER_MISSED "%" PRIu64 " wait%s left out, since the kernel could not take the stack"

/* A format string that tells the client that sampling was throttled, and how often. */
#define WRITER_THROTTLED                                                                                               \
    "the kernel throttled sampling %" PRIu64 " time%s, and samples are missing there: ask for a lower frequency or a " \
    "longer period, or raise kernel.perf_event_max_sample_rate"

struct writer {
    double seconds; /* default duration of a stream; 0: sampler.max_seconds */
    /*
     * Each record is written with its names, so a stream of the past makes the symbol tables before its first record.
     */
    bool names_at_once;
    /* Writes the header of the format and the processes that are running. Returns a state; NULL when out of memory. */
    void *(*begin)(const struct writer_source *source, struct buffer *out);
    /* Writes a record. Returns whether it was written; then it counts towards the client's limit (`max`). */
    bool (*record)(void *state, const struct record *record, struct buffer *out);
    /* Called with each mark. NULL: the format ignores marks. */
    void (*mark)(void *state, const struct writer_mark *mark, struct buffer *out);
    /*
     * For formats that write everything at the end; NULL for others. Requests missing symbols and prepares the end.
     * Returns true if no more symbols will become known. Called after the last record, and then whenever no table is
     * being made, until it returns true or the time limit for symbols has passed.
     */
    bool (*settle)(void *state);
    /* Returns the bytes of memory held for the end. NULL: memory does not grow with the number of records. */
    size_t (*bytes)(const void *state);
    /*
     * Counts the samples whose innermost function has no name, for the member `unnamed` of struct writer_end. Called
     * just before the end. If NULL, the counts are 0.
     */
    void (*unnamed)(const void *state, struct writer_unnamed *ret);
    /*
     * Appends the sentence for the member `early` of struct writer_end, or nothing if no stacks end early. Called just
     * before the end. May be NULL.
     */
    void (*early)(const void *state, struct buffer *sentence);
    /* Writes the end of the output. Only free() is called afterwards. */
    void (*end)(void *state, const struct writer_end *end, struct buffer *out);
    void (*free)(void *state);
};

#endif
