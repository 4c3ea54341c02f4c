/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads whose instructions bench/check.py counts. Each workload is one call of step_workload(), after a first run
 * that allocates memory for later runs. No workload depends on time, addresses or the machine.
 *
 * Prints a line per workload, in order: its name, its units of work, and the bytes that it produced (0: none). The last
 * line names the compiler, the libraries and the processor, since the counts depend on them.
 */
#include <err.h>
#include <gnu/libc-version.h>
#include <libdeflate.h>
#include <malloc.h>
#include <microhttpd.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/gzip.h"
#include "bench/loop-client.h"
#include "bench/made-samples.h"
#include "bench/simulated.h"
#include "collectors/registry.h"
#include "formats/counters.h"
#include "formats/writers.h"
#include "metrics/metrics.h"
#include "perf/record.h"

#define N_CPUS 32
#define ALL UINT32_MAX
#define N_SAMPLES 2000
#define N_PARSES 20

/* The built-in configuration up to version 0.1.0, without the `self` collector. */
static const char yaml[] =
    "web:\n  listen: [\":10298\"]\n  telemetry_path: /metrics\n  min_interval: 100ms\ncollectors:\n  cpu:\n"
    "    enabled: true\n    cpus: all\n    groups:\n      - {name: core, events: \"{cycles,instructions}\"}\n"
    "      - {name: cache, events: \"{cache-references,cache-misses}\"}\n"
    "      - {name: branch, events: \"{branches,branch-misses}\"}\n"
    "      - {name: software, events: \"{context-switches,cpu-migrations,minor-faults,major-faults}\"}\n"
    "  pmu: {groups: []}\n  cgroup:\n    enabled: false\n"
    "    include: [\"/*.slice\", \"/system.slice/*.service\"]\n    max_cgroups: 256\n  self: {enabled: false}\n"
    "sampler: {enabled: true, event: auto, frequency: 99, ring_pages: 128}\n";

struct bench {
    struct simulated *simulated;
    struct machine *machine;
    struct config *config;
    struct registry *registry;
    struct reload_outcome reload;
    const struct snapshot *snapshot;
    struct baseline *baseline; /* values of the reading before the last one */
    struct buffer out;
    struct made_samples samples;
    sd_event *event;
    struct service service;
    bool shared; /* requests do not read the counters, but use the last reading */
    struct loop_client *client;
    struct symbols *symbols;
    void *ndjson;
    uint64_t sum; /* keeps the compiler from removing the decoding */
    size_t opening_bytes;
};

struct workload {
    const char *name;
    void (*run)(struct bench *bench);
    size_t (*units)(const struct bench *bench);
    bool output; /* its output is the text in bench->out */
};

static void must(int r, const char *what)
{
    if (r < 0)
        errx(1, "%s: %s", what, strerror(-r));
}

/* Workloads */

static void parse_config(struct bench *bench)
{
    struct error error;

    (void)bench;
    for (int i = 0; i < N_PARSES; i++) {
        struct config *config;
        if (config_parse(yaml, strlen(yaml), &config, &error) < 0)
            errx(1, "%s", error.message);
        config_free(config);
    }
}

static void load_machine(struct bench *bench)
{
    machine_free(bench->machine);
    must(machine_load(simulated_sys(bench->simulated), &bench->machine, NULL), "machine");
}

static size_t heap(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void open_all(struct bench *bench)
{
    struct error error;

    bench->registry = registry_free(bench->registry);
    size_t before = heap();
    must(registry_new(simulated_sys(bench->simulated), &bench->reload, &bench->registry), "registry");
    if (registry_configure(bench->registry, bench->machine, bench->config, NULL, &error) < 0)
        errx(1, "%s", error.message);
    bench->snapshot = registry_read(bench->registry, ALL, 0);
    bench->opening_bytes = heap() - before;
}

static void reload(struct bench *bench)
{
    must(registry_configure(bench->registry, bench->machine, bench->config, NULL, NULL), "reload");
}

static void collect(struct bench *bench)
{
    simulated_advance(bench->simulated);
    bench->snapshot = registry_read(bench->registry, ALL, 0);
}

static void write_text(struct bench *bench)
{
    must(exposition_write(&bench->out, &bench->snapshot->metrics, ALL, EXPOSITION_TEXT), "text");
}

static void write_openmetrics(struct bench *bench)
{
    must(exposition_write(&bench->out, &bench->snapshot->metrics, ALL, EXPOSITION_OPENMETRICS), "openmetrics");
}

static void write_json(struct bench *bench)
{
    must(counters_write(&bench->out, bench->snapshot, NULL, "bench"), "JSON");
}

/* Renders the rates, including the derived metrics of each row. */
static void write_rates(struct bench *bench)
{
    if (!bench->baseline) {
        bench->baseline = baseline_new(bench->snapshot);
        collect(bench);
    }
    must(bench->baseline ? rates_json_write(&bench->out, bench->baseline, bench->snapshot, NULL, NULL, NULL, false)
                         : -ENOMEM,
         "rates");
}

static void write_gzip(struct bench *bench)
{
    write_text(bench);
    must(gzip_compress(&bench->out), "gzip");
}

static void decode(struct bench *bench)
{
    struct record record;

    for (size_t at = 0; at < bench->samples.size; at += record.size) {
        must(record_decode(bench->samples.bytes + at, bench->samples.size - at, &bench->samples.source.layout, &record),
             "record");
        bench->sum += record.id.time + record.sample.ip;
        for (size_t i = 0; i < record.sample.n_callchain; i++)
            bench->sum += record.sample.callchain[i];
    }
}

static void write_ndjson(struct bench *bench)
{
    struct record record;

    for (size_t at = 0; at < bench->samples.size; at += record.size) {
        must(record_decode(bench->samples.bytes + at, bench->samples.size - at, &bench->samples.source.layout, &record),
             "record");
        writer_ndjson.record(bench->ndjson, &record, &bench->out);
    }
}

/* A complete scrape: parsing the request, reading all groups, sending the answer. */
static void scrape(struct bench *bench, const char *request)
{
    must(loop_client_get(bench->client, request, &bench->out), "scrape");
}

#define HOST " HTTP/1.1\r\nHost: localhost\r\n"

static void scrape_text(struct bench *bench)
{
    scrape(bench, "GET /metrics" HOST "\r\n");
}

static void scrape_gzip(struct bench *bench)
{
    scrape(bench, "GET /metrics" HOST "Accept-Encoding: gzip\r\n\r\n");
}

static void scrape_json(struct bench *bench)
{
    scrape(bench, "GET /api/v1/counters" HOST "\r\n");
}

/* A scrape within min_interval of another one, which therefore uses the same reading. */
static void scrape_shared(struct bench *bench)
{
    bench->shared = true;
    scrape_text(bench);
    bench->shared = false;
}

/* Input of the workloads */

static const struct snapshot *service_read(void *userdata, uint32_t mask, bool fresh)
{
    struct bench *bench = userdata;

    (void)fresh;
    if (mask && !bench->shared)
        simulated_advance(bench->simulated);
    return registry_read(bench->registry, mask, bench->shared ? UINT64_MAX : 0);
}

static bool service_ready(void *userdata)
{
    (void)userdata;
    return true;
}

static uint64_t loop_now(void *userdata)
{
    struct timespec t;

    (void)userdata;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void prepare_service(struct bench *bench)
{
    struct error error;
    char path[100];

    bench->service = (struct service){.userdata = bench, .read = service_read, .ready = service_ready, .now = loop_now};
    snprintf(path, sizeof(path), "%s/http.sock", simulated_sys(bench->simulated)->root);
    if (loop_client_new(bench->event, &bench->service, path, &bench->client, &error) < 0)
        errx(1, "%s", error.message);
}

/* Units of work */

static size_t count_series(const struct bench *bench)
{
    size_t n = 0;

    for (size_t i = 0; i < bench->snapshot->metrics.n; i++)
        n += bench->snapshot->metrics.families[i]->n;
    return n;
}

static size_t count_rows(const struct bench *bench)
{
    return bench->snapshot->n_rows;
}

static size_t count_counters(const struct bench *bench)
{
    size_t n = 0;

    for (size_t i = 0; i < bench->snapshot->n_rows; i++)
        n += bench->snapshot->rows[i]->n_counters;
    return n;
}

static size_t count_samples(const struct bench *bench)
{
    (void)bench;
    return N_SAMPLES;
}

static size_t count_parses(const struct bench *bench)
{
    (void)bench;
    return N_PARSES;
}

static size_t count_one(const struct bench *bench)
{
    (void)bench;
    return 1;
}

static const struct workload workloads[] = {
    {"parse-config", parse_config, count_parses, false},
    {"load-machine", load_machine, count_one, false},
    {"open-groups", open_all, count_rows, false},
    {"reload-groups", reload, count_rows, false},
    {"collect-groups", collect, count_rows, false},
    {"text-series", write_text, count_series, true},
    {"openmetrics-series", write_openmetrics, count_series, true},
    {"json-counters", write_json, count_counters, true},
    {"json-rates", write_rates, count_rows, true},
    {"text-and-gzip", write_gzip, count_series, true},
    {"scrape-text", scrape_text, count_one, false},
    {"scrape-text-shared", scrape_shared, count_one, false},
    {"scrape-gzip", scrape_gzip, count_one, false},
    {"scrape-json", scrape_json, count_one, false},
    {"decode-samples", decode, count_samples, false},
    {"ndjson-samples", write_ndjson, count_samples, true},
};

static void prepare_samples(struct bench *bench)
{
    must(symbols_new(simulated_sys(bench->simulated), bench->event, &bench->symbols), "symbols");
    must(made_samples_init(&bench->samples, N_SAMPLES, N_CPUS), "samples");
    bench->samples.source.symbols = bench->symbols;
    bench->samples.source.sys = simulated_sys(bench->simulated);
    bench->ndjson = writer_ndjson.begin(&bench->samples.source, &bench->out);
    if (!bench->ndjson)
        errx(1, "out of memory");
}

static void prepare(struct bench *bench)
{
    struct error error;

    *bench = (struct bench){.simulated = simulated_new(N_CPUS, 0)};
    if (!bench->simulated)
        err(1, "the simulated machine");
    if (config_parse(yaml, strlen(yaml), &bench->config, &error) < 0)
        errx(1, "%s", error.message);
    load_machine(bench);
    open_all(bench);
    must(sd_event_new(&bench->event), "sd_event_new");
    prepare_service(bench);
    prepare_samples(bench);
}

static void finish(struct bench *bench)
{
    writer_ndjson.free(bench->ndjson);
    symbols_free(bench->symbols);
    loop_client_free(bench->client);
    sd_event_unref(bench->event);
    registry_free(bench->registry);
    config_free(bench->config);
    machine_free(bench->machine);
    baseline_free(bench->baseline);
    buffer_done(&bench->out);
    made_samples_done(&bench->samples);
    simulated_free(bench->simulated);
}

/* callgrind counts this function. `used` keeps its symbol; the statement after the call prevents a tail call. */
__attribute__((noinline, used)) static void step_workload(struct bench *bench, const struct workload *workload)
{
    workload->run(bench);
    bench->sum++;
}

/* Prints what the counts depend on, apart from the compiler flags, which are in the Makefile. */
static void print_toolchain(void)
{
    struct utsname name;

    must(uname(&name) < 0 ? -errno : 0, "uname");
    printf("toolchain %s; %s; glibc %s; libdeflate %s; libmicrohttpd %s; libyaml %s", name.machine, __VERSION__,
           gnu_get_libc_version(), LIBDEFLATE_VERSION_STRING, MHD_get_version(), yaml_get_version_string());
#ifdef __x86_64__
    printf("; %s", __builtin_cpu_supports("avx2") ? "avx2" : "no avx2");
#endif
    printf("\n");
}

int main(void)
{
    struct bench bench;

    prepare(&bench);
    for (size_t i = 0; i < ARRAY_SIZE(workloads); i++) {
        const struct workload *workload = &workloads[i];
        workload->run(&bench);
        buffer_clear(&bench.out);
        step_workload(&bench, workload);
        printf("%s %zu %zu\n", workload->name, workload->units(&bench), workload->output ? bench.out.size : 0);
        buffer_clear(&bench.out);
    }
    printf("memory %zu %zu\n", count_series(&bench), bench.opening_bytes);
    print_toolchain();
    finish(&bench);
    return 0;
}
