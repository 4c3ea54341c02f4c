/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's stream: records become bytes by the format's writer, and wait until the client takes them. A client that
 * is too slow loses whole records, and is told how many.
 */
#include "sampler/stream.h"

#include "base/cleanup.h"

/* Formats that show a whole need the symbols of all of it at the end; who makes them has so long. */
#define SYMBOLS_USEC (5 * UINT64_C(1000000))
/* So long where the daemon ends. */
#define LAST_SYMBOLS_USEC (UINT64_C(500000))

/* Where records are lost over and over, what runs is read anew so long after the last time. */
#define RELEARN_NS NSEC_PER_SEC

/* Memory that a stream keeps for what is to come. */
#define KEPT_BYTES (1024 * 1024)

enum state {
    STREAM_LEARNING, /* /proc is read */
    STREAM_RUNNING,
    STREAM_RESOLVING, /* records have ended, symbols are made */
    STREAM_ENDED,
};

struct stream {
    struct sampler *sampler;
    struct client client;
    struct subscriber subscriber;
    const struct writer *format;
    enum state state;
    struct writer_source source;
    struct kernel_view kernel;
    struct sampled_events *roster; /* that `source` points into */
    void *writer;
    struct buffer out;
    size_t taken;            /* bytes of `out` */
    bool slow;               /* records are dropped */
    bool relearning, missed; /* what runs is read anew; a pause has ended since that began */
    bool gap;                /* what says what runs may have been lost since */
    uint64_t learned_ns;     /* when it was read last */
    uint64_t max, records, dropped, dropped_told, lost_before;
    uint64_t malformed_before, malformed_seen; /* of the capture */
    uint64_t start_ns;
    uint64_t end_ns; /* records from then on are not of it; 0: not known yet */
    uint64_t duration_ns;
    char reason[96]; /* of the end */
    sd_event_source *timer;
    bool waiting; /* the client, since it has taken all */
    void (*ready)(void *userdata);
    void *userdata;
};

DEFINE_CLEANUP(struct stream *, stream_free);

static void notify(struct stream *stream)
{
    if (!stream->waiting || (stream->out.size == stream->taken && stream->state != STREAM_ENDED))
        return;
    stream->waiting = false;
    stream->ready(stream->userdata);
}

/* The end */

static void tell_dropped(struct stream *stream)
{
    uint64_t n = stream->dropped - stream->dropped_told;

    if (n && stream->format->dropped)
        stream->format->dropped(stream->writer, n, &stream->out);
    stream->dropped_told = stream->dropped;
}

/* What it has summed up is not kept until a slow client has taken what was made of it. */
static void free_writer(struct stream *stream)
{
    if (stream->writer)
        stream->format->free(stream->writer);
    stream->writer = NULL;
    stream->client.kept = 0;
    stream->client.waiting = stream->out.capacity;
}

static void write_end(struct stream *stream)
{
    struct writer_end end = {
        .reason = stream->reason,
        .records = stream->records,
        .lost = stream->lost_before,
        .dropped = stream->dropped,
        .malformed = stream->malformed_before,
        .duration_ns = stream->duration_ns,
    };

    if (stream->state == STREAM_ENDED)
        return;
    stream->state = STREAM_ENDED;
    sd_event_source_set_enabled(stream->timer, SD_EVENT_OFF);
    if (stream->writer) {
        tell_dropped(stream);
        stream->format->end(stream->writer, &end, &stream->out);
        free_writer(stream);
    }
    notify(stream);
}

static void wait_for_symbols(struct stream *stream)
{
    uint64_t usec = sampler_is_ending(stream->sampler) ? LAST_SYMBOLS_USEC : SYMBOLS_USEC;

    sd_event_source_set_time(stream->timer, sampler_now(stream->sampler, CLOCK_MONOTONIC) / 1000 + usec);
    sd_event_source_set_enabled(stream->timer, SD_EVENT_ONESHOT);
}

/* Not all that the end needs can be asked for at once: asks for the rest until there is none, or the time is over. */
static void settle(void *userdata)
{
    struct stream *stream = userdata;
    const struct writer *writer = stream->format;

    if (stream->state != STREAM_RESOLVING)
        return;
    if (stream->writer && writer->settled && !writer->settled(stream->writer) &&
        symbols_when_idle(stream->client.symbols, settle, stream) == 0)
        return;
    write_end(stream);
}

/* Lets go of the rings, at once; the end may take longer. */
static void finish(struct stream *stream)
{
    struct capture *capture = stream->client.capture;
    uint64_t now = sampler_now(stream->sampler, CLOCK_MONOTONIC);

    if (!capture)
        return;
    stream->lost_before = capture_lost(capture) - stream->lost_before;
    stream->malformed_before = capture_malformed(capture) - stream->malformed_before;
    stream->duration_ns = stream->start_ns ? (stream->end_ns ? MIN(stream->end_ns, now) : now) - stream->start_ns : 0;
    capture_unsubscribe(capture, &stream->subscriber);
    sampler_let_go(stream->sampler, &stream->client);
    stream->state = STREAM_RESOLVING;
    wait_for_symbols(stream);
    settle(stream);
}

static void describe(struct stream *stream)
{
    struct sampled_events *roster = capture_describe(stream->client.capture, &stream->source);

    sampled_events_unref(stream->roster);
    stream->roster = roster;
}

static void tell_pause(struct stream *stream, bool paused)
{
    if (stream->format->pause)
        stream->format->pause(stream->writer, paused, sampler_now(stream->sampler, CLOCK_MONOTONIC), &stream->out);
}

/* Whether there is a writer; without one it has ended. */
static bool begin(struct stream *stream)
{
    struct writer_source *source = &stream->source;
    uint64_t now = sampler_now(stream->sampler, CLOCK_MONOTONIC);

    stream->start_ns = stream->learned_ns = source->start_monotonic_ns = now;
    source->start_realtime_ns = sampler_now(stream->sampler, CLOCK_REALTIME);
    source->seconds = stream->client.seconds;
    describe(stream);
    kernel_view_init(&stream->kernel, source->sys);
    source->kernel = &stream->kernel;
    stream->lost_before = capture_lost(stream->client.capture);
    stream->malformed_before = stream->malformed_seen = capture_malformed(stream->client.capture);
    stream->writer = stream->format->begin(source, &stream->out);
    stream->state = STREAM_RUNNING;
    if (!stream->writer) {
        snprintf(stream->reason, sizeof(stream->reason), "error: out of memory");
        finish(stream);
        return false;
    }
    if (capture_is_paused(stream->client.capture))
        tell_pause(stream, true);
    sd_event_source_set_time(stream->timer, now / 1000 + (uint64_t)(source->seconds * 1e6));
    sd_event_source_set_enabled(stream->timer, SD_EVENT_ONESHOT);
    return true;
}

/* One that has not begun yet does, so that it is whole. */
static void finish_because(struct stream *stream, const char *reason)
{
    if (stream->state == STREAM_LEARNING && !begin(stream))
        return;
    snprintf(stream->reason, sizeof(stream->reason), "%s", reason);
    finish(stream);
}

/* Records before now are still to come. */
static void end_soon(struct stream *stream, const char *reason)
{
    snprintf(stream->reason, sizeof(stream->reason), "%s", reason);
    stream->end_ns = sampler_now(stream->sampler, CLOCK_MONOTONIC);
    capture_hurry(stream->client.capture);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct stream *stream = userdata;

    (void)source;
    (void)usec;
    if (stream->state == STREAM_RUNNING && !stream->end_ns)
        end_soon(stream, "seconds");
    else if (stream->state == STREAM_RESOLVING)
        write_end(stream);
    return 0;
}

/* What the capture gives */

/* Whether the record has to be dropped. Those that samples are read by have more room than samples. */
static bool is_too_much(struct stream *stream, bool sample)
{
    size_t waiting = stream->out.size - stream->taken, limit = sampler_bytes_per_client(stream->sampler);

    if (waiting >= limit)
        stream->slow = true;
    else if (waiting < limit / 2)
        stream->slow = false;
    return sample ? stream->slow : waiting >= limit + limit / 4;
}

/* What the rings held when the stream began is not of it, but for what says what runs. */
static bool is_of(const struct stream *stream, const struct record *record)
{
    uint64_t time = record->id.time;

    if (stream->state != STREAM_RUNNING || (stream->max && stream->records == stream->max))
        return false;
    if (record->type == PERF_RECORD_SAMPLE && time < stream->start_ns)
        return false;
    return !stream->end_ns || time <= stream->end_ns;
}

static void on_record(void *userdata, const struct record *record)
{
    struct stream *stream = userdata;

    stream->gap |= record->type == PERF_RECORD_LOST;
    if (!is_of(stream, record))
        return;
    if (is_too_much(stream, record->type == PERF_RECORD_SAMPLE)) {
        stream->dropped++;
        return;
    }
    if (!stream->slow)
        tell_dropped(stream);
    stream->records += stream->format->record(stream->writer, record, &stream->out);
}

static void on_relearned(void *userdata);

/* One at a time, however often it is paused. */
static void relearn(struct stream *stream)
{
    uint32_t pid = capture_spec(stream->client.capture)->pid;

    stream->missed = stream->relearning;
    if (stream->relearning)
        return;
    stream->relearning = symbols_scan(stream->client.symbols, pid, on_relearned, stream) == 0;
    stream->gap = !stream->relearning;
}

static void on_relearned(void *userdata)
{
    struct stream *stream = userdata;

    stream->relearning = false;
    stream->learned_ns = sampler_now(stream->sampler, CLOCK_MONOTONIC);
    if (stream->missed && stream->client.capture) {
        relearn(stream);
        return;
    }
    if (stream->state != STREAM_RUNNING || is_too_much(stream, false))
        return;
    if (stream->format->relearned)
        stream->format->relearned(stream->writer, &stream->out);
    notify(stream);
}

/* What made no sense was lost as well. */
static void mend_gap(struct stream *stream)
{
    uint64_t malformed = capture_malformed(stream->client.capture);

    stream->gap |= malformed != stream->malformed_seen;
    stream->malformed_seen = malformed;
    if (stream->gap && !stream->relearning && !stream->end_ns &&
        sampler_now(stream->sampler, CLOCK_MONOTONIC) >= stream->learned_ns + RELEARN_NS)
        relearn(stream);
}

static void on_round(void *userdata, uint64_t until_ns)
{
    struct stream *stream = userdata;

    if (stream->state != STREAM_RUNNING)
        return;
    mend_gap(stream);
    if (stream->format->round)
        stream->format->round(stream->writer, &stream->out);
    if (stream->format->bytes) {
        stream->client.kept = stream->format->bytes(stream->writer);
        stream->source.full = sampler_keeps_enough(stream->sampler);
    }
    stream->client.waiting = stream->out.capacity;
    sampler_make_room(stream->sampler);
    if (stream->max && stream->records == stream->max)
        finish_because(stream, "max");
    else if (stream->out.failed)
        finish_because(stream, "error: out of memory");
    else if (stream->end_ns && until_ns >= stream->end_ns)
        finish(stream);
    else if (stream->end_ns)
        capture_hurry(stream->client.capture);
    notify(stream);
}

static void on_changed(void *userdata)
{
    struct stream *stream = userdata;

    if (stream->state != STREAM_RUNNING)
        return;
    describe(stream);
    if (stream->format->changed)
        stream->format->changed(stream->writer);
}

/* Who began while a pause was on may have missed its end in /proc as well. */
static void on_paused(void *userdata, bool paused)
{
    struct stream *stream = userdata;

    if (stream->state == STREAM_RUNNING)
        tell_pause(stream, paused);
    if (!paused)
        relearn(stream);
    notify(stream);
}

static void on_over(void *userdata, const char *reason)
{
    finish_because(userdata, reason);
}

/* What was sampled before now is still to come. */
static void on_end(void *userdata, const char *reason)
{
    struct stream *stream = userdata;

    if (stream->state == STREAM_LEARNING)
        finish_because(stream, reason);
    else if (stream->state == STREAM_RUNNING && !stream->end_ns)
        end_soon(stream, reason);
    else if (stream->state == STREAM_RESOLVING && sampler_is_ending(stream->sampler))
        wait_for_symbols(stream);
}

/* The beginning */

static void on_learned(void *userdata)
{
    struct stream *stream = userdata;

    if (stream->state == STREAM_LEARNING && begin(stream))
        notify(stream);
}

static struct stream *stream_new(struct sampler *sampler, const struct stream_request *request,
                                 const struct writer *writer)
{
    struct stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    *stream = (struct stream){
        .sampler = sampler,
        .client = {.userdata = stream, .whole = writer->settled, .end = on_end},
        .subscriber = {.userdata = stream,
                       .record = on_record,
                       .round = on_round,
                       .changed = on_changed,
                       .paused = on_paused,
                       .over = on_over},
        .format = writer,
        .max = request->max,
    };
    int r = sd_event_add_time(sampler_event(sampler), &stream->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, stream);
    if (r < 0 || sd_event_source_set_enabled(stream->timer, SD_EVENT_OFF) < 0)
        return stream_free(stream);
    return stream;
}

int stream_open(struct sampler *sampler, const struct stream_request *request, const struct writer *writer,
                void (*ready)(void *userdata), void *userdata, struct stream **ret, struct error *error)
{
    int r = writer->check ? writer->check(error) : 0;
    if (r < 0)
        return r;
    _cleanup_(stream_freep) struct stream *stream = stream_new(sampler, request, writer);
    if (!stream)
        return error_oom(error);
    stream->ready = ready;
    stream->userdata = userdata;
    r = sampler_join(sampler, request, writer->seconds, &stream->client, error);
    if (r < 0)
        return r;
    capture_subscribe(stream->client.capture, &stream->subscriber);
    r = symbols_scan(stream->client.symbols, request->pid, on_learned, stream);
    if (r < 0)
        return error_set(error, r, "what runs cannot be read from /proc: %s", strerror(-r));
    *ret = steal(stream);
    return 0;
}

struct stream *stream_free(struct stream *stream)
{
    if (!stream)
        return NULL;
    if (stream->client.capture)
        capture_unsubscribe(stream->client.capture, &stream->subscriber);
    if (stream->client.symbols) {
        symbols_cancel(stream->client.symbols, stream);
        sampler_leave(stream->sampler, &stream->client);
    }
    free_writer(stream);
    sampled_events_unref(stream->roster);
    kernel_view_done(&stream->kernel);
    sd_event_source_disable_unref(stream->timer);
    buffer_done(&stream->out);
    free(stream);
    return NULL;
}

/* Bytes */

/* Drops what was taken, when it is most of what there is; and memory that only a client that lags behind needs. */
static void compact(struct stream *stream)
{
    size_t rest = stream->out.size - stream->taken;

    if (stream->taken < rest)
        return;
    if (rest == 0 && stream->out.capacity > KEPT_BYTES) {
        buffer_done(&stream->out);
        stream->taken = 0;
        return;
    }
    memmove(stream->out.data, stream->out.data + stream->taken, rest);
    stream->out.size = rest;
    stream->taken = 0;
}

ssize_t stream_read(struct stream *stream, char *bytes, size_t size)
{
    size_t n = MIN(size, stream->out.size - stream->taken);

    if (n == 0 && stream->state == STREAM_ENDED)
        return -ENODATA;
    stream->waiting = n == 0;
    if (n == 0)
        return 0;
    memcpy(bytes, stream->out.data + stream->taken, n);
    stream->taken += n;
    compact(stream);
    return (ssize_t)n;
}
