/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses arbitrary bytes as the records of a capture, in which programs choose their own names and the files that they
 * map. Each record is passed to the symbols and to the writers of all formats. Whatever the records contain, each
 * NDJSON line is an object, each line of folded stacks ends with a number, and both are printable UTF-8.
 */
#include <jansson.h>

#include "base/text.h"
#include "formats/writers.h"
#include "process/child.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake-sys.h"

enum { RECORDS_MAX = 48, SETTLE_TURNS = 64, N_WRITERS = 4, RECORD_MAX = 512 };

#define SAMPLE                                                                                                         \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |                  \
     PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static const struct writer *const writers[N_WRITERS] = {&writer_ndjson, &writer_folded, &writer_pprof,
                                                        &writer_perf_data};

static struct {
    struct fake_sys *fake;
    sd_event *event;
    struct child symboliser;
    struct kernel_view kernels[2]; /* hidden, open */
} world;

struct stream {
    struct perf_event_attr attr;
    struct writer_event event;
    struct writer_source source;
    void *states[N_WRITERS];
    struct buffer out[N_WRITERS];
};

static const uint64_t ids[] = {100, 101};

static void leave(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(world.kernels); i++)
        kernel_view_done(&world.kernels[i]);
    fake_sys_free(world.fake);
    sd_event_unref(world.event);
}

static void enter(void)
{
    setenv("PERFCOUNTD_SYMBOLISER", "1", 1); /* no symboliser is started */
    world.fake = fake_machine_no_pmu();
    fake_file(world.fake, "/proc/kallsyms", "ffffffff81000000 T _text\nffffffff82000000 T _etext\n");
    fake_file(world.fake, "/proc/self/mountinfo", "1 0 0:1 / /cgroups rw - cgroup2 none rw\n");
    fake_file(world.fake, "/cgroups/cgroup.procs", "%s", "");
    fake_file(world.fake, "/proc/modules", "ext4 1015808 1 - Live 0xffffffffc0400000 (E)\n");
    assert(sd_event_new(&world.event) >= 0);
    for (size_t i = 0; i < ARRAY_SIZE(world.kernels); i++) {
        kernel_view_init(&world.kernels[i], &world.fake->sys);
        world.kernels[i].open = i == 1;
    }
    atexit(leave);
}

static void stream_begin(struct stream *stream, struct symbols *symbols, uint8_t choice)
{
    uint64_t more = (choice & 1 ? PERF_SAMPLE_READ : 0) | (choice & 2 ? PERF_SAMPLE_CGROUP : 0);

    *stream = (struct stream){
        .attr = {.type = PERF_TYPE_SOFTWARE,
                 .size = sizeof(stream->attr),
                 .sample_type = SAMPLE | more,
                 .read_format = choice & 1 ? PERF_FORMAT_GROUP | PERF_FORMAT_ID : 0,
                 .freq = 1,
                 .sample_freq = 99,
                 .sample_id_all = 1},
    };
    stream->event = (struct writer_event){.name = "cpu-clock", .attr = &stream->attr, .ids = ids};
    stream->source = (struct writer_source){.events = &stream->event,
                                            .n_events = 1,
                                            .n_ids = ARRAY_SIZE(ids),
                                            .n_cpus = ARRAY_SIZE(ids),
                                            .layout = record_layout_of(&stream->attr),
                                            .read = choice & 1,
                                            .symbols = symbols,
                                            .by = (enum first_frame)(choice / 8 % 4),
                                            .kernel = &world.kernels[choice / 4 % 2],
                                            .sys = &world.fake->sys,
                                            .start_realtime_ns = NSEC_PER_SEC,
                                            .start_monotonic_ns = NSEC_PER_SEC,
                                            .seconds = 1};
    assert(cgroup_lookup_new(&world.fake->sys, &stream->source.cgroups) == 0);
    for (size_t i = 0; i < N_WRITERS; i++) {
        stream->states[i] = writers[i]->begin(&stream->source, &stream->out[i]);
        assert(stream->states[i]);
    }
}

/* The first bytes of a record come from the input, the rest are zeros. */
static void stream_take(struct stream *stream, struct input *input)
{
    static const uint8_t types[] = {PERF_RECORD_SAMPLE, PERF_RECORD_MMAP2, PERF_RECORD_COMM, PERF_RECORD_FORK,
                                    PERF_RECORD_EXIT,   PERF_RECORD_MMAP,  PERF_RECORD_LOST, PERF_RECORD_THROTTLE};
    uint64_t bytes[RECORD_MAX / sizeof(uint64_t)];
    uint8_t choice = input_byte(input), size = input_byte(input), n = input_byte(input);
    uint8_t misc = choice & 0x80 ? input_byte(input) : PERF_RECORD_MISC_USER;
    struct perf_event_header header = {.type = choice & 0x40 ? choice & 31 : types[choice % ARRAY_SIZE(types)],
                                       .misc = misc,
                                       .size = (uint16_t)MIN(8 + size % 64U * 8, sizeof(bytes))};
    struct record record;

    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, &header, sizeof(header));
    input_copy(input, bytes + 1, MIN((size_t)n, header.size - sizeof(header)));
    if (record_decode(bytes, header.size, &stream->source.layout, &record) < 0)
        return;
    symbols_update(stream->source.symbols, &record);
    cgroup_lookup_update(stream->source.cgroups, &record);
    for (size_t i = 0; i < N_WRITERS; i++)
        writers[i]->record(stream->states[i], &record, &stream->out[i]);
}

static bool is_settled(struct stream *stream)
{
    bool settled = true;

    for (size_t i = 0; i < N_WRITERS; i++)
        settled &= !writers[i]->settle || writers[i]->settle(stream->states[i]);
    return settled;
}

static void stream_end(struct stream *stream)
{
    const struct writer_end end = {.reason = "seconds", .records = 1, .lost = 2, .duration_ns = NSEC_PER_SEC};
    unsigned turns = 0;

    while (!is_settled(stream)) {
        assert(turns++ < SETTLE_TURNS);
        while (sd_event_run(world.event, 0) > 0)
            continue;
    }
    for (size_t i = 0; i < N_WRITERS; i++) {
        writers[i]->end(stream->states[i], &end, &stream->out[i]);
        assert(!stream->out[i].failed);
    }
}

static void check_line(size_t writer, const char *line, size_t size)
{
    assert(utf8_printable_prefix(line, size) == size);
    if (writer == 0) { /* jansson's integers have only 63 bits */
        const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
        json_t *object = json_loadb(line, size, flags, NULL);
        assert(object && json_is_string(json_object_get(object, "type")));
        json_decref(object);
        return;
    }
    size_t digits = 0;
    while (digits < size && line[size - digits - 1] >= '0' && line[size - digits - 1] <= '9')
        digits++;
    assert(digits > 0 && digits + 1 < size && line[size - digits - 1] == ' ');
}

/* Checks NDJSON and folded stacks. */
static void stream_check(const struct stream *stream)
{
    for (size_t i = 0; i < 2 && stream->out[i].size > 0; i++) {
        const char *at = stream->out[i].data, *end = at + stream->out[i].size, *stop;
        for (; at < end; at = stop + 1) {
            stop = memchr(at, '\n', (size_t)(end - at));
            assert(stop);
            check_line(i, at, (size_t)(stop - at));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, data + size};
    struct symbols *symbols;
    struct stream stream;

    if (!world.fake)
        enter();
    assert(symbols_new(&world.fake->sys, world.event, &symbols) == 0);
    symbols_set_child(symbols, &world.symboliser);
    stream_begin(&stream, symbols, input_byte(&input));
    for (unsigned i = 0; i < RECORDS_MAX && input_left(&input) > 0; i++)
        stream_take(&stream, &input);
    stream_end(&stream);
    stream_check(&stream);
    for (size_t i = 0; i < N_WRITERS; i++) {
        writers[i]->free(stream.states[i]);
        buffer_done(&stream.out[i]);
    }
    cgroup_lookup_free(stream.source.cgroups);
    symbols_free(symbols);
    return 0;
}
