/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of an output format for samples. Each format in formats/ defines one const `struct writer`.
 *
 * A writer appends bytes to a buffer. The stream (sampler/stream.h) limits how many bytes wait in the buffer, and drops
 * whole records beyond that limit.
 */
#ifndef SAMPLER_WRITER_H
#define SAMPLER_WRITER_H

#include "base/buffer.h"
#include "bpf/off-cpu.h"
#include "cgroups/lookup.h"
#include "perf/record.h"
#include "symbols/kernel.h"
#include "symbols/symbols.h"

/* Returns the name that outputs show for an enum off_cpu_state, such as "sleeping". */
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
    const char *name; /* event name in perf's notation, such as "cycles" or "cpu-clock:u" */
    const struct perf_event_attr *attr;
    const uint64_t *ids; /* values of PERF_SAMPLE_ID, by CPU and then by thread; 0 where the event is not open */
};

/* The first frame of each folded stack. */
enum first_frame {
    BY_PROCESS,   /* name of the thread, which is the name of its process unless the thread was renamed */
    BY_THREAD,    /* name, pid and tid of the thread */
    BY_CGROUP,    /* the cgroup; the second frame is the name of the thread */
    BY_CONTAINER, /* the container; the second frame is the name of the thread */
};

/* A description of the capture, which outlives the writer's state. */
struct writer_source {
    const struct writer_event
        *events;                    /* events of the group; the first event is the leader, which triggers the samples */
    size_t n_events, n_ids, n_cpus; /* `n_ids` is the number of ids of each event */
    struct record_layout layout;    /* layout of the leader's records, which all records in the rings share */
    bool read;                      /* each sample contains the values of all events */
    bool user_only;                 /* kernel mode is excluded, because this process may not sample it */
    struct symbols *symbols;
    struct cgroup_lookup *cgroups; /* finds cgroup names; NULL if cgroups are not known */
    enum first_frame by;
    struct kernel_view *kernel;                     /* decides which kernel addresses are shown; NULL hides all */
    struct sys *sys;                                /* reads the machine's /proc and /sys */
    uint64_t start_realtime_ns, start_monotonic_ns; /* start of the stream by CLOCK_REALTIME and by sys_record_now() */
    double seconds;                                 /* maximum duration of the stream in seconds */
    uint64_t off_cpu_threshold_ns; /* shortest wait that is sampled by the event off-cpu; 0 for other events */
    bool full; /* the writer must not use more memory, because all writers together have reached their limit */
};

enum writer_mark_kind {
    WRITER_ROUND,     /* all later records are at least as new as the records passed so far */
    WRITER_DROPPED,   /* `n` records were dropped since the last WRITER_DROPPED, because the client is too slow */
    WRITER_PAUSED,    /* no samples are taken from `time_ns` on */
    WRITER_RESUMED,   /* samples are taken again from `time_ns` on */
    WRITER_RESCANNED, /* /proc was scanned again, because process records were missed in a pause or lost */
    WRITER_EVENTS,    /* the events of the source have changed */
};

/* A notification to a writer, other than a record. */
struct writer_mark {
    enum writer_mark_kind kind;
    uint64_t n;       /* number of records, for WRITER_DROPPED */
    uint64_t time_ns; /* CLOCK_MONOTONIC, for WRITER_PAUSED and WRITER_RESUMED */
};

/* Counts of samples whose innermost function has no name; zeros if the format does not resolve names. */
struct writer_unnamed {
    uint64_t samples; /* total */
    uint64_t kernel;  /* samples in kernel functions */
    uint64_t outside; /* samples of programs outside this process's pid namespace, whose mappings are unknown */
    uint64_t of_file; /* samples in the file that has the most unnamed samples */
    char file[64];    /* printable name of the file with the most unnamed samples, or "" if no file has any */
};

/* How a stream ended, and how many records it had. */
struct writer_end {
    const char *reason; /* reason: "seconds", "max", "reload", "shutdown", "error: ...", or a sentence */
    uint64_t records;   /* number of records that were written */
    uint64_t samples;   /* number of samples among the records */
    const char *early;  /* a sentence about programs whose stacks end early, or NULL if there are none */
    uint64_t lost;      /* number of records dropped by the kernel */
    uint64_t dropped;   /* number of records dropped because the client was too slow */
    uint64_t malformed; /* number of records that could not be decoded */
    uint64_t throttled; /* how many times the kernel throttled a CPU, i.e. stopped sampling on it until its next tick */
    uint64_t duration_ns;          /* duration of the stream */
    struct off_cpu_totals off_cpu; /* waits that the event off-cpu left out */
    struct writer_unnamed unnamed;
};

/*
 * Format strings of messages about waits that the event off-cpu left out. These waits are counted machine-wide,
 * whatever process or cgroup the client asked for.
 */
#define WRITER_BRIEF                                                                                                   \
    "%" PRIu64                                                                                                         \
    " wait%s shorter than the threshold left out on the whole machine: %.3f s in total (parameter \"threshold\")"
#define WRITER_MISSED "%" PRIu64 " wait%s left out, since the kernel could not record the stack"

/* Format string of the message that sampling was throttled, with the number of times. */
#define WRITER_THROTTLED                                                                                               \
    "the kernel throttled sampling %" PRIu64 " time%s, so samples are missing: ask for a lower frequency or a "        \
    "longer period, or raise kernel.perf_event_max_sample_rate"

struct writer {
    double seconds; /* default duration of a stream; 0 for sampler.max_seconds */
    /*
     * The format writes each record with resolved names, so a stream of the past needs the symbol tables before its
     * first record.
     */
    bool names_at_once;
    /*
     * Writes the header of the format and the processes that are running. Returns the writer's state, or NULL when out
     * of memory.
     */
    void *(*begin)(const struct writer_source *source, struct buffer *out);
    /*
     * Writes a record. Returns whether the record was written. A written record counts towards the client's limit
     * (`max`).
     */
    bool (*record)(void *state, const struct record *record, struct buffer *out);
    /* Called with each mark. This callback is NULL if the format ignores marks. */
    void (*mark)(void *state, const struct writer_mark *mark, struct buffer *out);
    /*
     * Only for formats that write all output at the end, and NULL for other formats. Requests missing symbols and
     * prepares the end of the output. Returns true if no further symbols will become known. Called after the last
     * record, and then whenever no symbol table is being built, until settle() returns true or the time limit for
     * symbols has passed.
     */
    bool (*settle)(void *state);
    /*
     * Returns the memory that the writer holds until the end, in bytes. This callback is NULL if a format's memory does
     * not grow with the number of records.
     */
    size_t (*bytes)(const void *state);
    /*
     * Counts the samples whose innermost function has no name, for the member `unnamed` of struct writer_end. Called
     * just before end(). If this callback is NULL, the counts are 0.
     */
    void (*unnamed)(const void *state, struct writer_unnamed *ret);
    /*
     * Appends the sentence for the member `early` of struct writer_end, or nothing if no stacks end early. Called just
     * before end(). This callback may be NULL.
     */
    void (*early)(const void *state, struct buffer *sentence);
    /* Writes the end of the output. After end(), only free() is called. */
    void (*end)(void *state, const struct writer_end *end, struct buffer *out);
    void (*free)(void *state);
};

#endif
