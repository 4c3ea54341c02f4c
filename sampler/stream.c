/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/stream.h"

#include "base/cleanup.h"
#include "base/timer.h"

/*
 * State of the /proc scans. A stream that has missed process records (names, mappings), in a pause or because the
 * kernel dropped them, scans /proc again. Only one scan runs at a time. The owner fills in the first four members of
 * struct rescan; the other members start zeroed.
 */
struct rescan {
    struct symbols *symbols;
    uint32_t pid;                 /* process to scan, or 0 for all processes */
    void (*done)(void *userdata); /* called when a scan is complete; the function must call rescan_end() */
    void *userdata;
    bool running;
    bool again;         /* another scan was requested during this scan, so the scan must be repeated */
    bool lost;          /* records may have been lost since the last scan began */
    uint64_t malformed; /* capture_malformed() at the last check; records that cannot be decoded count as lost */
    uint64_t last_ns;   /* time (sys_record_now()) when the last scan was complete */
};

/* --- output queue --- */

/* An empty buffer is kept if its capacity is at most this. */
#define KEPT_BYTES ((size_t)1024 * 1024)

void output_queue_done(struct output_queue *output_queue)
{
    buffer_done(&output_queue->bytes);
    output_queue->taken = 0;
}

/*
 * Returns whether a record must be dropped because the client is too slow. Once `limit` bytes wait, samples are dropped
 * until less than `limit` / 2 wait. Other records are dropped while `limit` * 5 / 4 or more wait.
 */
static bool output_queue_refuses(struct output_queue *output_queue, size_t limit, bool sample)
{
    size_t waiting = output_queue->bytes.size - output_queue->taken;

    if (waiting >= limit)
        output_queue->slow = true;
    else if (waiting < limit / 2)
        output_queue->slow = false;
    return sample ? output_queue->slow : waiting >= limit + limit / 4;
}

/* Calls `ready` if the client is waiting, and there are bytes to take or the stream has ended. */
static void output_queue_notify(struct output_queue *output_queue)
{
    if (!output_queue->waiting || (output_queue->bytes.size == output_queue->taken && !output_queue->complete))
        return;
    output_queue->waiting = false;
    output_queue->ready(output_queue->userdata);
}

/*
 * Moves the remaining bytes to the front of the buffer once half of the bytes have been taken. Frees an empty buffer
 * that had grown for a slow client.
 */
static void output_queue_compact(struct output_queue *output_queue)
{
    size_t rest = output_queue->bytes.size - output_queue->taken;

    if (output_queue->taken < rest)
        return;
    if (rest == 0 && output_queue->bytes.capacity > KEPT_BYTES && !output_queue->bytes.failed) {
        output_queue_done(output_queue);
        return;
    }
    memmove(output_queue->bytes.data, output_queue->bytes.data + output_queue->taken, rest);
    output_queue->bytes.size = rest;
    output_queue->taken = 0;
}

ssize_t output_queue_take(struct output_queue *output_queue, char *bytes, size_t size)
{
    size_t n = MIN(size, output_queue->bytes.size - output_queue->taken);

    if (n == 0 && output_queue->complete)
        return output_queue->bytes.failed ? -ENOMEM : -ENODATA;
    output_queue->waiting = n == 0;
    if (n == 0)
        return 0;
    memcpy(bytes, output_queue->bytes.data + output_queue->taken, n);
    output_queue->taken += n;
    output_queue_compact(output_queue);
    return (ssize_t)n;
}

/* --- rescans of /proc --- */

#define INTERVAL_NS NSEC_PER_SEC

/* Begins a scan of /proc. If a scan is already running, it will be repeated once it is complete. */
static void rescan_begin(struct rescan *rescan)
{
    rescan->again = rescan->running;
    if (rescan->running)
        return;
    rescan->running = symbols_scan(rescan->symbols, rescan->pid, rescan->done, rescan->userdata) == 0;
    rescan->lost = !rescan->running;
}

/*
 * Begins a scan of /proc if records were lost, at most once per second. `malformed` is the number of records that could
 * not be decoded so far.
 */
static void rescan_begin_if_lost(struct rescan *rescan, uint64_t malformed, uint64_t now_ns)
{
    rescan->lost |= malformed != rescan->malformed;
    rescan->malformed = malformed;
    if (rescan->lost && !rescan->running && now_ns >= rescan->last_ns + INTERVAL_NS)
        rescan_begin(rescan);
}

/*
 * Must be called when a scan of /proc is complete. Returns false if the scan must be repeated, which the caller does
 * with rescan_begin() if the stream still takes records.
 */
static bool rescan_end(struct rescan *rescan, uint64_t now_ns)
{
    rescan->running = false;
    rescan->last_ns = now_ns;
    return !rescan->again;
}

/* --- stream --- */

/* How long a stream waits for missing symbols at its end, if its format writes all output at the end. */
#define SYMBOLS_USEC (5 * USEC_PER_SEC)
/* How long a stream waits for missing symbols while the daemon is shutting down. */
#define LAST_SYMBOLS_USEC (USEC_PER_SEC / 2)
#define TIMER_ACCURACY_USEC 1000

enum stream_state {
    STREAM_SCANNING, /* the first scan of /proc is running */
    STREAM_LOOKING,  /* past samples are read a first time, only to request symbol tables */
    STREAM_RUNNING,
    STREAM_RESOLVING, /* the stream takes no more records, and waits for symbols */
    STREAM_ENDED,
};

struct stream {
    struct sampler *sampler;
    struct sampler_client client;
    struct subscriber subscriber;
    const struct writer *writer;
    void *writer_state; /* NULL before the stream begins and after its end */
    struct writer_source source;
    struct kernel_view kernel;
    struct sampled_events *events; /* reference to the events that `source` points to */
    struct output_queue output_queue;
    struct rescan rescan;
    enum stream_state state;
    bool awaited;            /* a symbol table was missing in this round (only in the state STREAM_LOOKING) */
    uint64_t max_records;    /* maximum number of records; 0 for no limit */
    struct writer_end end;   /* while the stream runs, `lost`, `malformed` and `off_cpu` are the capture's counts at the
                                start of the stream */
    uint64_t dropped_marked; /* number of dropped records that were already reported to the writer */
    uint64_t start_ns, end_ns; /* time range of the records in the stream; end_ns is 0 while unknown */
    char reason[96];           /* text of `end.reason` */
    struct buffer early;       /* text of `end.early` */
    sd_event_source *timer;
};

DEFINE_CLEANUP(struct stream *, stream_free);

/* Returns the current time on the records' clock, which a stream uses for all times. */
static uint64_t stream_now(const struct stream *stream)
{
    return sys_record_now(sampler_sys(stream->sampler));
}

static void stream_mark(struct stream *stream, struct writer_mark mark)
{
    if (stream->writer->mark)
        stream->writer->mark(stream->writer_state, &mark, &stream->output_queue.bytes);
}

static void mark_dropped(struct stream *stream)
{
    uint64_t n = stream->end.dropped - stream->dropped_marked;

    if (n)
        stream_mark(stream, (struct writer_mark){.kind = WRITER_DROPPED, .n = n});
    stream->dropped_marked = stream->end.dropped;
}

static void mark_pause(struct stream *stream, bool paused, uint64_t time_ns)
{
    stream_mark(stream, (struct writer_mark){.kind = paused ? WRITER_PAUSED : WRITER_RESUMED, .time_ns = time_ns});
}

static void describe_source(struct stream *stream)
{
    struct sampled_events *events = capture_describe(stream->client.capture, &stream->source);

    sampled_events_unref(stream->events);
    stream->events = events;
}

/* --- end of a stream --- */

/* Frees the writer's memory as soon as the end is written, because a slow client may take the bytes much later. */
static void stream_free_writer(struct stream *stream)
{
    if (stream->writer_state)
        stream->writer->free(stream->writer_state);
    stream->writer_state = NULL;
    stream->client.kept = 0;
    stream->client.waiting = stream->output_queue.bytes.capacity;
}

static void describe_early_ends(struct stream *stream)
{
    struct buffer *early = &stream->early;

    if (stream->writer->early)
        stream->writer->early(stream->writer_state, early);
    if (early->size == 0)
        return;
    buffer_append_char(early, '\0');
    stream->end.early = early->failed ? NULL : early->data;
}

static void stream_write_end(struct stream *stream)
{
    if (stream->state == STREAM_ENDED)
        return;
    stream->state = STREAM_ENDED;
    stream->output_queue.complete = true;
    timer_disarm(stream->timer);
    if (stream->writer_state) {
        mark_dropped(stream);
        if (stream->writer->unnamed)
            stream->writer->unnamed(stream->writer_state, &stream->end.unnamed);
        describe_early_ends(stream);
        stream->writer->end(stream->writer_state, &stream->end, &stream->output_queue.bytes);
        stream_free_writer(stream);
    }
    output_queue_notify(&stream->output_queue);
}

static void limit_wait_for_symbols(struct stream *stream)
{
    uint64_t usec = sampler_is_ending(stream->sampler) ? LAST_SYMBOLS_USEC : SYMBOLS_USEC;

    timer_arm_in(stream->timer, usec);
}

/*
 * Requests missing symbols until the writer has all symbols, and then writes the end of the output. Only some of the
 * symbols are requested at a time, because the symboliser's queue is limited. The timer that limit_wait_for_symbols()
 * sets writes the end even if symbols are missing.
 */
static void stream_settle(void *userdata)
{
    struct stream *stream = userdata;
    const struct writer *writer = stream->writer;

    if (stream->state != STREAM_RESOLVING)
        return;
    if (stream->writer_state && writer->settle && !writer->settle(stream->writer_state) &&
        symbols_when_idle(stream->client.symbols, stream_settle, stream) == 0)
        return;
    stream_write_end(stream);
}

/*
 * Returns by how much the counts have grown since `start`, or zeros if the opener has exited and the counts can no
 * longer be read.
 */
static struct off_cpu_totals off_cpu_totals_since(const struct off_cpu_totals *start, struct off_cpu_totals now)
{
    if (now.brief < start->brief || now.missed < start->missed)
        return (struct off_cpu_totals){0};
    return (struct off_cpu_totals){now.brief - start->brief, now.brief_ns - start->brief_ns,
                                   now.missed - start->missed};
}

/*
 * Finishes the stream: releases the capture at once, but writes the end of the output only when no symbols are missing.
 */
static void stream_finish(struct stream *stream)
{
    struct capture *capture = stream->client.capture;
    uint64_t now = stream_now(stream);

    if (!capture)
        return;
    stream->end.reason = stream->reason;
    stream->end.lost = capture_lost(capture) - stream->end.lost;
    stream->end.malformed = capture_malformed(capture) - stream->end.malformed;
    stream->end.off_cpu = off_cpu_totals_since(&stream->end.off_cpu, capture_off_cpu_totals(capture));
    stream->end.duration_ns =
        stream->start_ns ? (stream->end_ns ? MIN(stream->end_ns, now) : now) - stream->start_ns : 0;
    capture_unsubscribe(&stream->subscriber);
    sampler_release_capture(stream->sampler, &stream->client);
    stream->state = STREAM_RESOLVING;
    limit_wait_for_symbols(stream);
    stream_settle(stream);
}

/* Sets the start of the stream and, for a stream of the past, the end, which is already known. */
static void stream_set_times(struct stream *stream)
{
    const struct past_span *past = capture_past(stream->client.capture);
    struct writer_source *source = &stream->source;
    uint64_t now = stream_now(stream), start = past ? past->since_ns : now;

    stream->start_ns = source->start_monotonic_ns = start;
    stream->rescan.last_ns = now;
    source->start_realtime_ns = sys_now(sampler_sys(stream->sampler), CLOCK_REALTIME) - (now - start);
    source->seconds = stream->client.seconds;
    if (!past)
        return;
    stream->end_ns = past->until_ns;
    source->seconds = stream_past_seconds(stream);
    snprintf(stream->reason, sizeof(stream->reason), "last");
}

/*
 * Starts the writer when the first scan of /proc is complete. Returns false if memory runs out, in which case the
 * stream has ended.
 */
static bool stream_begin(struct stream *stream)
{
    struct writer_source *source = &stream->source;

    stream_set_times(stream);
    describe_source(stream);
    kernel_view_init(&stream->kernel, source->sys);
    source->kernel = &stream->kernel;
    stream->end.lost = capture_lost(stream->client.capture);
    stream->end.off_cpu = capture_off_cpu_totals(stream->client.capture);
    stream->end.malformed = stream->rescan.malformed = capture_malformed(stream->client.capture);
    stream->writer_state = stream->writer->begin(source, &stream->output_queue.bytes);
    stream->state = STREAM_RUNNING;
    if (!stream->writer_state) {
        stream->output_queue.bytes.failed = true;
        snprintf(stream->reason, sizeof(stream->reason), "error: out of memory");
        stream_finish(stream);
        return false;
    }
    if (stream->end_ns) {
        capture_begin_round(stream->client.capture);
        return true;
    }
    if (capture_is_paused(stream->client.capture))
        mark_pause(stream, true, stream->start_ns);
    timer_arm_in(stream->timer, (uint64_t)(source->seconds * (double)USEC_PER_SEC));
    return true;
}

/* Ends the stream. A stream that has not begun yet is begun first, so that its output is well-formed. */
static void stream_finish_because(void *userdata, const char *reason)
{
    struct stream *stream = userdata;

    if (stream->state <= STREAM_LOOKING && !stream_begin(stream))
        return;
    snprintf(stream->reason, sizeof(stream->reason), "%s", reason);
    stream_finish(stream);
}

/* Ends the stream once the records up to now, which may still be in the rings, have been taken. */
static void stream_end_now(struct stream *stream, const char *reason)
{
    snprintf(stream->reason, sizeof(stream->reason), "%s", reason);
    stream->end_ns = stream_now(stream);
    capture_begin_round(stream->client.capture);
}

/* Called when the time limit for symbols has passed. Functions that have no name by then remain unnamed. */
static void stream_stop_looking(struct stream *stream)
{
    symbols_cancel(stream->client.symbols, stream);
    capture_rewind(stream->client.capture);
    stream_begin(stream);
}

static int stream_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct stream *stream = userdata;

    (void)source;
    (void)usec;
    if (stream->state == STREAM_RUNNING && !stream->end_ns)
        stream_end_now(stream, "seconds");
    else if (stream->state == STREAM_RESOLVING)
        stream_write_end(stream);
    else if (stream->state == STREAM_LOOKING)
        stream_stop_looking(stream);
    return 0;
}

/* --- callbacks --- */

static bool is_refused(struct stream *stream, bool sample)
{
    return output_queue_refuses(&stream->output_queue, sampler_bytes_per_client(stream->sampler), sample);
}

/*
 * Returns whether the record is part of the stream. The rings of a shared capture may hold records from before the
 * stream's start: such samples are left out, but process records are passed on.
 */
static bool is_in_stream(const struct stream *stream, const struct record *record)
{
    uint64_t time = record->id.time;

    if (stream->state != STREAM_RUNNING || (stream->max_records && stream->end.records == stream->max_records))
        return false;
    if (record->type == PERF_RECORD_SAMPLE && time < stream->start_ns)
        return false;
    return !stream->end_ns || time <= stream->end_ns;
}

/* Requests the symbol tables needed for a sample's functions. */
static void look_at(struct stream *stream, const struct record *record)
{
    struct callchain chain = callchain_begin(record);
    struct frame frame = {0};
    uint64_t ip;

    if (record->sample.n_callchain == 0)
        symbols_resolve(stream->client.symbols, record->id.pid, chain.space == SPACE_KERNEL, record->sample.ip, &frame);
    stream->awaited |= frame.awaited;
    while (callchain_next(&chain, &ip)) {
        symbols_resolve(stream->client.symbols, record->id.pid, chain.space == SPACE_KERNEL,
                        ip - callchain_is_caller(&chain), &frame);
        stream->awaited |= frame.awaited;
    }
}

static void stream_on_record(void *userdata, const struct record *record)
{
    struct stream *stream = userdata;

    if (stream->state == STREAM_LOOKING && record->type == PERF_RECORD_SAMPLE &&
        record->id.time >= capture_past(stream->client.capture)->since_ns)
        look_at(stream, record);
    stream->rescan.lost |= record->type == PERF_RECORD_LOST;
    cgroup_lookup_update(stream->client.cgroups, record);
    if (!is_in_stream(stream, record))
        return;
    stream->end.throttled += record->type == PERF_RECORD_THROTTLE;
    if (is_refused(stream, record->type == PERF_RECORD_SAMPLE)) {
        stream->end.dropped++;
        return;
    }
    if (!stream->output_queue.slow)
        mark_dropped(stream);
    bool written = stream->writer->record(stream->writer_state, record, &stream->output_queue.bytes);
    stream->end.records += written;
    stream->end.samples += written && record->type == PERF_RECORD_SAMPLE;
}

static void stream_on_rescanned(void *userdata)
{
    struct stream *stream = userdata;

    if (!rescan_end(&stream->rescan, stream_now(stream)) && stream->client.capture) {
        rescan_begin(&stream->rescan);
        return;
    }
    if (stream->state != STREAM_RUNNING || is_refused(stream, false))
        return;
    stream_mark(stream, (struct writer_mark){.kind = WRITER_RESCANNED});
    output_queue_notify(&stream->output_queue);
}

/* Holds a capture of the past until the client has taken most of the bytes that wait. */
static void stream_wait_for_client(struct stream *stream)
{
    size_t waiting = stream->output_queue.bytes.size - stream->output_queue.taken;

    capture_hold(stream->client.capture, waiting > sampler_bytes_per_client(stream->sampler) / 4);
}

/*
 * Begins the output of the stream. If symbol tables were missing, the past samples are read once more instead, because
 * only some tables can be built at a time.
 */
static void stream_on_looked(void *userdata)
{
    struct stream *stream = userdata;

    if (stream->state != STREAM_LOOKING)
        return;
    capture_rewind(stream->client.capture);
    if (!stream->awaited) {
        timer_disarm(stream->timer);
        stream_begin(stream);
        return;
    }
    stream->awaited = false;
    capture_begin_round(stream->client.capture);
}

static void stream_look(struct stream *stream)
{
    stream->state = STREAM_LOOKING;
    limit_wait_for_symbols(stream);
    capture_begin_round(stream->client.capture);
}

static void stream_on_round(void *userdata, uint64_t until_ns)
{
    struct stream *stream = userdata;

    if (stream->state == STREAM_LOOKING && until_ns &&
        symbols_when_idle(stream->client.symbols, stream_on_looked, stream) < 0)
        stream_finish_because(stream, "error: out of memory");
    if (stream->state != STREAM_RUNNING)
        return;
    if (!stream->end_ns)
        rescan_begin_if_lost(&stream->rescan, capture_malformed(stream->client.capture), stream_now(stream));
    stream_mark(stream, (struct writer_mark){.kind = WRITER_ROUND});
    if (stream->writer->bytes) {
        stream->client.kept = stream->writer->bytes(stream->writer_state);
        stream->source.full = sampler_is_full(stream->sampler);
    }
    stream->client.waiting = stream->output_queue.bytes.capacity;
    sampler_limit_symbols(stream->sampler);
    if (stream->max_records && stream->end.records == stream->max_records)
        stream_finish_because(stream, "max");
    else if (stream->output_queue.bytes.failed)
        stream_finish_because(stream, "error: out of memory");
    else if (stream->end_ns && until_ns >= stream->end_ns)
        stream_finish(stream);
    else if (capture_past(stream->client.capture))
        stream_wait_for_client(stream);
    else if (stream->end_ns)
        capture_begin_round(stream->client.capture);
    output_queue_notify(&stream->output_queue);
}

static void stream_on_events(void *userdata)
{
    struct stream *stream = userdata;

    if (stream->state != STREAM_RUNNING)
        return;
    describe_source(stream);
    stream_mark(stream, (struct writer_mark){.kind = WRITER_EVENTS});
}

/*
 * At the end of a pause, /proc is scanned again even for a stream that began during the pause, because the stream's
 * first scan may be out of date.
 */
static void stream_on_pause(void *userdata, bool paused, uint64_t time_ns)
{
    struct stream *stream = userdata;

    if (stream->state == STREAM_RUNNING)
        mark_pause(stream, paused, time_ns);
    if (!paused)
        rescan_begin(&stream->rescan);
    output_queue_notify(&stream->output_queue);
}

/* Implements the callback `end` of struct sampler_client. */
static void stream_on_end(void *userdata, const char *reason)
{
    struct stream *stream = userdata;

    if (stream->state <= STREAM_LOOKING)
        stream_finish_because(stream, reason);
    else if (stream->state == STREAM_RUNNING && !stream->end_ns)
        stream_end_now(stream, reason);
    else if (stream->state == STREAM_RESOLVING && sampler_is_ending(stream->sampler))
        limit_wait_for_symbols(stream);
}

/* --- opening --- */

static void stream_on_scanned(void *userdata)
{
    struct stream *stream = userdata;

    if (stream->state != STREAM_SCANNING)
        return;
    if (stream->writer->names_at_once && capture_past(stream->client.capture))
        stream_look(stream);
    else if (stream_begin(stream))
        output_queue_notify(&stream->output_queue);
}

static struct stream *stream_new(struct sampler *sampler, uint64_t max_records, const struct writer *writer)
{
    struct stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    *stream = (struct stream){
        .sampler = sampler,
        .client = {.userdata = stream, .waits_for_end = writer->settle, .end = stream_on_end},
        .subscriber = {.userdata = stream,
                       .record = stream_on_record,
                       .round = stream_on_round,
                       .events = stream_on_events,
                       .pause = stream_on_pause,
                       .over = stream_finish_because},
        .writer = writer,
        .max_records = max_records,
    };
    if (timer_init(sampler_event(sampler), CLOCK_MONOTONIC, TIMER_ACCURACY_USEC, stream_on_timer, stream,
                   &stream->timer) < 0)
        return stream_free(stream);
    return stream;
}

int stream_open(struct sampler *sampler, const struct record_request *request, const struct writer *writer,
                void (*ready)(void *userdata), void *userdata, struct stream **ret, struct error *error)
{
    _cleanup_(stream_freep) struct stream *stream = stream_new(sampler, request->max, writer);
    if (!stream)
        return error_oom(error);
    stream->output_queue.ready = ready;
    stream->output_queue.userdata = userdata;
    int r = sampler_join(sampler, request, writer->seconds, &stream->client, error);
    if (r < 0)
        return r;
    stream->source.cgroups = stream->client.cgroups;
    stream->source.by = request->by;
    stream->rescan = (struct rescan){
        .symbols = stream->client.symbols, .pid = request->pid, .done = stream_on_rescanned, .userdata = stream};
    capture_subscribe(stream->client.capture, &stream->subscriber);
    r = symbols_scan(stream->client.symbols, request->pid, stream_on_scanned, stream);
    if (r < 0)
        return error_set(error, r, "cannot read the running processes from /proc: %s", strerror(-r));
    *ret = steal(stream);
    return 0;
}

struct stream *stream_free(struct stream *stream)
{
    if (!stream)
        return NULL;
    if (stream->client.capture)
        capture_unsubscribe(&stream->subscriber);
    if (stream->client.symbols) {
        symbols_cancel(stream->client.symbols, stream);
        sampler_leave(stream->sampler, &stream->client);
    }
    stream_free_writer(stream);
    sampled_events_unref(stream->events);
    kernel_view_done(&stream->kernel);
    sd_event_source_disable_unref(stream->timer);
    output_queue_done(&stream->output_queue);
    buffer_done(&stream->early);
    free(stream);
    return NULL;
}

ssize_t stream_read(struct stream *stream, char *bytes, size_t size)
{
    ssize_t n = output_queue_take(&stream->output_queue, bytes, size);

    if (stream->state == STREAM_RUNNING && capture_past(stream->client.capture))
        stream_wait_for_client(stream);
    return n;
}

void stream_stop(struct stream *stream, const char *reason)
{
    stream_on_end(stream, reason);
}

double stream_past_seconds(const struct stream *stream)
{
    const struct past_span *past = stream->client.capture ? capture_past(stream->client.capture) : NULL;

    return past ? (double)(past->until_ns - past->since_ns) / (double)NSEC_PER_SEC : 0;
}

const struct writer_source *stream_source(const struct stream *stream)
{
    return stream->state <= STREAM_LOOKING ? NULL : &stream->source;
}

const struct writer_end *stream_end(const struct stream *stream)
{
    return &stream->end;
}
