/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four clients sample at once, each in another format, from the ring buffers of two captures, with symbols from the
 * symboliser. A stream that ends normally must contain each sample that was taken, or count it as lost. Otherwise the
 * connection must be closed, or the response must be an error message.
 */
#undef NDEBUG
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/faults/rings.h"
#include "tests/faults/scenario.h"
#include "tests/faults/served-daemon.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/read-pprof.h"

#define CONFIG                                                                                                         \
    "collectors: {self: {enabled: false}, cgroup: {enabled: false}, cpu: {groups: []}, pmu: {groups: []}}\n"           \
    "sampler: {enabled: true, event: cycles, period: 1000000, ring_pages: 16, allow: local}\n"
#define PID 4242
#define IP UINT64_C(0x401234)
#define PERIOD 1000000
#define OTHER_PERIOD 2000000
#define SECONDS 60 /* the machine's clock also advances while the test waits, but only by seconds */
#define BURSTS 3
#define PER_BURST 20
#define TAKEN (BURSTS * PER_BURST * (size_t)4) /* samples on four CPUs */
#define KERNEL_NAME "do_idle"
/* A fault may prevent what the test waits for, such as the start of a stream or a symbol. */
#define FAULT_SECONDS 1.0
#define NAMES_STEP 0.02
#define PASSES_MAX 6
#define PASS_SECONDS 10.0

enum format { FORMAT_NDJSON, FORMAT_PERF_DATA, FORMAT_PPROF, FORMAT_FOLDED };
#define N_FORMATS 4

static const char *const requests[N_FORMATS] = {
    [FORMAT_NDJSON] = "GET /api/v1/samples?seconds=60",
    [FORMAT_PERF_DATA] = "GET /api/v1/perf.data?seconds=60",
    [FORMAT_PPROF] = "GET /debug/pprof/profile?seconds=60",
    [FORMAT_FOLDED] = "GET /api/v1/folded?seconds=60&period=2000000",
};

struct streams {
    struct served_daemon served;
    size_t sampled[N_FORMATS]; /* samples written to the ring buffers of the stream */
    size_t of_user[N_FORMATS]; /* those among them that a stream gets if it may not sample the kernel */
    size_t late[N_FORMATS];    /* minimum for a stream that began late because of a fault */
    size_t seen[N_FORMATS];    /* samples that the stream contains, or counts as lost */
    char folded[4096];
    bool begun[N_FORMATS]; /* the stream began before the first sample */
    bool recovered;
};

static void *streams_prepare(void)
{
    struct streams *streams = calloc(1, sizeof(*streams));
    struct fake_sys *fake = fake_machine_one_pmu();

    assert(streams);
    fake_file(fake, "/proc/1/task/1/comm", "init\n");
    fake_file(fake, "/proc/1/maps", "%s", "");
    fake_file(fake, "/proc/4242/task/4242/comm", "hot\n");
    fake_file(fake, "/proc/4242/maps", "00400000-00500000 r-xp 00000000 08:01 77 /usr/bin/hot\n");
    fake_file(fake, "/proc/kallsyms", "%s",
              "ffffffff81000000 T " KERNEL_NAME "\nffffffff81001000 T schedule\nffffffff81002000 T _etext\n");
    rings_simulate(fake);
    served_daemon_init(&streams->served, fake, N_FORMATS);
    served_daemon_set_config(&streams->served, "", false, CONFIG);
    served_daemon_start(&streams->served);
    return streams;
}

/*
 * Returns whether the stream has visibly begun: NDJSON and perf.data by a header in the response; pprof and folded
 * stacks, which send nothing until the end, by ring buffers with their period.
 */
static bool is_seen(const struct served_daemon *served, enum format format)
{
    const struct client *client = &served->clients[format];

    switch (format) {
    case FORMAT_NDJSON:
        return memmem(client->in, client->size, "\"header\"", 8);
    case FORMAT_PERF_DATA:
        return memmem(client->in, client->size, "PERFILE2", 8);
    case FORMAT_PPROF:
        return rings_count(served->simulated->fake, PERIOD) > 0;
    default:
        return rings_count(served->simulated->fake, OTHER_PERIOD) > 0;
    }
}

static bool is_text(enum format format)
{
    return format == FORMAT_NDJSON || format == FORMAT_PERF_DATA;
}

/* A stream that the test waits for. */
struct awaited {
    struct served_daemon *served;
    enum format format;
};

static bool is_decided(const void *userdata)
{
    const struct awaited *awaited = userdata;

    return awaited->served->clients[awaited->format].outcome != CLIENT_WAITS ||
           is_seen(awaited->served, awaited->format);
}

/* Returns whether the stream has visibly begun. */
static bool ask(struct served_daemon *served, enum format format, double seconds)
{
    struct awaited awaited = {served, format};

    served_daemon_ask(served, format, requests[format], "");
    served_daemon_until(served, is_decided, &awaited, seconds);
    return is_seen(served, format);
}

/*
 * Writes a sample to the ring buffers with this period, and counts it for the streams that use them. An NDJSON or
 * perf.data stream contains all samples from its header on. A stream that may not sample the kernel has ring buffers of
 * its own, and contains only their samples.
 */
static void sample_period(struct streams *streams, uint64_t period, uint64_t ip)
{
    size_t of_user, n = rings_sample(streams->served.simulated->fake, period, PID, ip, &of_user);

    for (enum format i = 0; i < N_FORMATS; i++)
        if ((i == FORMAT_FOLDED) == (period == OTHER_PERIOD)) {
            streams->sampled[i] += n - of_user;
            streams->of_user[i] += of_user;
            if (is_text(i) && is_seen(&streams->served, i))
                streams->late[i] += of_user ? of_user : n;
        }
}

/* Lets the daemon read the ring buffers. */
static void take_samples(struct streams *streams)
{
    struct fake_sys *fake = streams->served.simulated->fake;

    faults_hold();
    rings_wake(fake);
    faults_release();
    sd_event_run(served_daemon_of(&streams->served)->event, 1000);
    faults_hold();
    rings_quiet(fake);
    faults_release();
    served_daemon_turn(&streams->served, 8);
}

static bool never(const void *userdata)
{
    (void)userdata;
    return false;
}

/*
 * Samples repeatedly until a kernel symbol is seen. By then the symboliser, a real process, has answered, and can no
 * longer time out when simulated time advances. Returns whether a symbol was seen.
 */
static bool await_names(struct streams *streams, double seconds)
{
    const struct client *client = &streams->served.clients[FORMAT_NDJSON];
    bool seen = false;

    for (double left = seconds; left > 0 && client->outcome == CLIENT_WAITS && !seen; left -= NAMES_STEP) {
        faults_hold();
        sample_period(streams, PERIOD, IP);
        faults_release();
        take_samples(streams);
        served_daemon_until(&streams->served, never, NULL, NAMES_STEP);
        seen = memmem(client->in, client->size, KERNEL_NAME, strlen(KERNEL_NAME));
    }
    return seen;
}

static void sample(struct streams *streams)
{
    faults_hold();
    for (unsigned i = 0; i < PER_BURST; i++) {
        sample_period(streams, PERIOD, IP + 16 * i);
        sample_period(streams, OTHER_PERIOD, IP + 16 * i);
    }
    faults_release();
    take_samples(streams);
}

/* Each line must be a JSON object; the last one has the counts. */
static size_t count_ndjson(struct client *client, size_t sampled)
{
    const char *text = client_text(client), *end;
    size_t n = 0, lost = 0;
    bool ended = false;

    for (; *text; text = end + 1) {
        end = strchr(text, '\n');
        fault_expect(end, "the last line of the stream is incomplete: %.200s", text);
        fault_expect(!ended, "lines follow the end record: %.200s", text);
        _cleanup_(json_decrefp) json_t *line = json_loadb(text, (size_t)(end - text), 0, NULL);
        fault_expect(line, "a line of the stream is not JSON: %.*s", (int)(end - text), text);
        const char *type = json_string_value(json_object_get(line, "type"));
        n += type && str_equal(type, "sample");
        ended = type && str_equal(type, "end");
        if (ended)
            lost = (size_t)(json_integer_value(json_object_get(line, "lost")) +
                            json_integer_value(json_object_get(line, "dropped")));
    }
    fault_expect(ended, "the stream has no end record, but looks complete");
    fault_expect(n + lost <= sampled, "%zu samples were sent and %zu were lost, but %zu were taken", n, lost, sampled);
    return n + lost;
}

static size_t count_perf_data(const struct client *client)
{
    const char *at = client->in + client->head_size, *end = at + client->body_size;
    struct perf_event_header header;
    size_t n = 0;

    fault_expect(client->body_size > 16 && memcmp(at, "PERFILE2", 8) == 0, "perf.data has the wrong signature");
    for (at += 16; at < end; at += header.size) {
        fault_expect((size_t)(end - at) >= sizeof(header), "perf.data ends within a record");
        memcpy(&header, at, sizeof(header));
        fault_expect(header.size >= sizeof(header) && header.size <= end - at, "perf.data ends within a record");
        n += header.type == PERF_RECORD_SAMPLE;
    }
    return n;
}

static size_t count_pprof(struct client *client)
{
    size_t size, n = 0;
    struct field field;
    const char *bytes = client_unpack(client, &size);

    fault_expect(bytes, "the profile is corrupt");
    for (struct bytes rest = {(const uint8_t *)bytes, (const uint8_t *)bytes + size}; read_field(&rest, &field);)
        if (field.number == 2) {
            struct bytes values = field_at(field.bytes, 2, 0).bytes;
            n += (size_t)read_varint(&values);
        }
    return n;
}

static size_t count_folded(struct client *client, char *copy, size_t size)
{
    const char *text = client_text(client), *space;
    size_t n = 0;

    snprintf(copy, size, "%s", text);
    for (; *text; text = strchr(text, '\n') + 1) {
        space = memrchr(text, ' ', strcspn(text, "\n"));
        fault_expect(space && strchr(text, '\n'), "a line of folded stacks has no number: %.200s", text);
        n += strtoul(space, NULL, 10);
    }
    return n;
}

static size_t count_samples(struct streams *streams, enum format format)
{
    struct client *client = &streams->served.clients[format];

    switch (format) {
    case FORMAT_NDJSON:
        return count_ndjson(client, streams->sampled[format]);
    case FORMAT_PERF_DATA:
        return count_perf_data(client);
    case FORMAT_PPROF:
        return count_pprof(client);
    default:
        return count_folded(client, streams->folded, sizeof(streams->folded));
    }
}

/*
 * Advances time to the end of the streams. Since real processes may answer slowly, a stream may begin, or a request may
 * be repeated, only afterwards. Time is then advanced again.
 */
static void end_streams(struct served_daemon *served)
{
    bool ended = false;

    for (unsigned i = 0; i < PASSES_MAX && !ended; i++) {
        faults_pass(SECONDS * NSEC_PER_SEC);
        ended = served_daemon_until_idle(served, PASS_SECONDS) || faults_last();
    }
    served_daemon_wait(served);
}

/* Runs four streams from start to end. `well` is true if there is no fault. */
static void run_streams(struct streams *streams, bool well)
{
    static const enum format order[] = {FORMAT_PPROF, FORMAT_FOLDED, FORMAT_NDJSON, FORMAT_PERF_DATA};
    struct served_daemon *served = &streams->served;
    double seconds = well ? EVENT_SECONDS : FAULT_SECONDS;

    memset(streams->sampled, 0, sizeof(streams->sampled));
    memset(streams->of_user, 0, sizeof(streams->of_user));
    memset(streams->late, 0, sizeof(streams->late));
    for (size_t i = 0; i < N_FORMATS; i++)
        streams->begun[order[i]] = ask(served, order[i], seconds);
    /*
     * Real processes read /proc for these two streams. Under a fault they may begin late, even after the other two, and
     * the test cannot see when.
     */
    streams->begun[FORMAT_PPROF] &= well;
    streams->begun[FORMAT_FOLDED] &= well;
    bool named = await_names(streams, seconds);
    fault_expect(named || !well, "no kernel symbol was seen within %d seconds", EVENT_SECONDS);
    for (unsigned i = 0; i < BURSTS; i++)
        sample(streams);
    end_streams(served);
    faults_hold();
    for (enum format i = 0; i < N_FORMATS; i++) {
        struct client *client = &served->clients[i];
        bool whole = client->outcome == CLIENT_ANSWERED && client->status == 200;
        streams->seen[i] = whole ? count_samples(streams, i) : 0;
        fault_expect(!whole || streams->seen[i] == streams->sampled[i] ||
                         (!well && !streams->begun[i] && streams->seen[i] >= streams->late[i] &&
                          streams->seen[i] < streams->sampled[i]) ||
                         (!well && streams->seen[i] && streams->seen[i] == streams->of_user[i]),
                     "%s: the stream looks complete, but has %zu of %zu samples", requests[i], streams->seen[i],
                     streams->sampled[i]);
        fault_expect(whole || !well, "%s: no stream: %.300s", requests[i], client->in);
        fault_expect(!well || streams->sampled[i] >= TAKEN, "%s: only %zu samples were taken", requests[i],
                     streams->sampled[i]);
        /* If there are no samples, a response of folded stacks is empty. */
        bool may_be_empty = whole && i == FORMAT_FOLDED && !streams->begun[i];
        fault_expect(client->outcome != CLIENT_ANSWERED || client->body_size > 10 || may_be_empty,
                     "%s: %u without an explanation", requests[i], client->status);
    }
    faults_release();
}

static void streams_act(void *state)
{
    run_streams(state, false);
}

/*
 * The sampler discards all processes and symbol tables after a minute without clients. A file that seemed to hang,
 * because time was advanced while real processes read it, is not read again for an hour.
 */
static void streams_recover(void *state)
{
    struct streams *streams = state;

    for (size_t i = 0; i < N_FORMATS; i++)
        client_disconnect(&streams->served.clients[i]);
    served_daemon_turn(&streams->served, 20);
    faults_pass(2 * 3600 * NSEC_PER_SEC);
    served_daemon_turn(&streams->served, 20);
    streams->recovered = true;
}

static void streams_describe(void *state, struct buffer *out)
{
    struct streams *streams = state;

    if (!streams->recovered)
        return;
    fault_expect(rings_count(streams->served.simulated->fake, 0) == 0,
                 "ring buffers are open although no client is connected");
    run_streams(streams, true);
    buffer_append_text(out, streams->folded);
}

static void streams_finish(void *state)
{
    struct streams *streams = state;

    served_daemon_stop(&streams->served);
    free(streams);
}

const struct scenario scenarios_of_streams[] = {
    {"streams", streams_prepare, streams_act, streams_recover, streams_describe, streams_finish, .asks = 1},
    {.name = NULL},
};
