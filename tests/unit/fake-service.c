/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fake-service.h"

#include <time.h>

#include "cgroups/path.h"

#define CYCLES_PER_SEC 1200000000
#define INSTRUCTIONS_PER_SEC 960000000

static const char *const names[] = {"cpu", "cgroup", "self", NULL};

struct fake_deferred {
    struct deferred_document deferred;
    unsigned generation;
    sem_t *gate; /* the thread waits for it before it renders; NULL: it does not wait */
};

static uint64_t now(void *userdata)
{
    const struct fake_service *fake = userdata;
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return fake->frozen_ns ? fake->frozen_ns : (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

void fake_service_freeze(struct fake_service *fake, bool frozen)
{
    fake->frozen_ns = frozen ? now(fake) : 0;
}

static void advance_row(struct row *row)
{
    if (row->state == ROW_UNAVAILABLE || row->state == ROW_STARVED)
        return;
    row->enabled_ns += NSEC_PER_SEC;
    row->running_ns += NSEC_PER_SEC / 2;
    series_set(row->enabled, row->enabled_ns);
    series_set(row->running, row->running_ns);
    for (size_t i = 0; i < row->n_counters; i++) {
        struct counter *counter = &row->counters[i];
        counter->value += i == 0 ? CYCLES_PER_SEC : INSTRUCTIONS_PER_SEC;
        counter->raw += (i == 0 ? CYCLES_PER_SEC : INSTRUCTIONS_PER_SEC) / 2;
        counter->known = true;
        series_set(counter->series, counter->value);
    }
}

void fake_service_advance(struct fake_service *fake)
{
    struct snapshot *snapshot = &fake->snapshot;

    for (size_t i = 0; i < snapshot->n_rows; i++)
        advance_row(snapshot->rows[i]);
    snapshot->monotonic_ns += NSEC_PER_SEC;
    snapshot->realtime_ns += NSEC_PER_SEC;
    snapshot->generation++;
}

static const struct snapshot *read_snapshot(void *userdata, uint32_t mask, bool fresh)
{
    struct fake_service *fake = userdata;

    if (mask)
        fake->reads++;
    if (mask && fresh) {
        fake->fresh_reads++;
        fake_service_advance(fake);
    }
    return &fake->snapshot;
}

static json_t *document(void *userdata, enum api_document which)
{
    static const char *const documents[] = {
        [DOCUMENT_PMUS] = "pmus",     [DOCUMENT_METRICS] = "metrics", [DOCUMENT_CGROUPS] = "cgroups",
        [DOCUMENT_STATUS] = "status", [DOCUMENT_CONFIG] = "config",
    };

    (void)userdata;
    return json_pack("{s:s}", "document", documents[which]);
}

static uint64_t events_generation(void *userdata)
{
    return ((struct fake_service *)userdata)->generation;
}

static void write_deferred(struct deferred_document *deferred, struct buffer *content)
{
    const struct fake_deferred *fake = (struct fake_deferred *)deferred;

    if (fake->gate) {
        sem_wait(fake->gate);
        sem_post(fake->gate);
    }
    buffer_appendf(content, "{\"document\": \"events\", \"generation\": %u, \"filler\": \"", fake->generation);
    for (unsigned i = 0; i < 2000; i++)
        buffer_appendf(content, "%u ", i);
    buffer_append_text(content, "\"}\n");
}

static void free_deferred(struct deferred_document *deferred)
{
    free(deferred);
}

static struct deferred_document *defer_events(void *userdata)
{
    struct fake_service *fake = userdata;
    struct fake_deferred *deferred = calloc(1, sizeof(*deferred));

    fake->deferreds++;
    *deferred =
        (struct fake_deferred){{write_deferred, free_deferred}, fake->generation, fake->held ? &fake->gate : NULL};
    return &deferred->deferred;
}

void fake_service_hold_deferred(struct fake_service *fake)
{
    fake->held = true;
    sem_init(&fake->gate, 0, 0);
}

void fake_service_release_deferred(struct fake_service *fake)
{
    fake->held = false;
    sem_post(&fake->gate);
}

static int reload(void *userdata, struct error *error)
{
    struct fake_service *fake = userdata;

    fake->reloads++;
    if (fake->reload_error)
        return error_set(error, fake->reload_result ?: -EINVAL, "%s", fake->reload_error);
    return fake->on_reload ? fake->on_reload(fake) : 0;
}

static int pause_for(void *userdata, unsigned seconds, struct error *error)
{
    struct fake_service *fake = userdata;

    (void)error;
    fake->paused = seconds;
    fake->pauses++;
    return 0;
}

static struct service_pause paused(void *userdata)
{
    struct fake_service *fake = userdata;

    return (struct service_pause){.paused = fake->paused > 0, .seconds = fake->paused, .until = 1700000000.5};
}

static void complain(void *userdata, const char *sentence)
{
    struct fake_service *fake = userdata;

    snprintf(fake->complaint, sizeof(fake->complaint), "%s", sentence);
}

static bool ready(void *userdata)
{
    return ((struct fake_service *)userdata)->ready;
}

static const struct row_counter core[] = {
    {"cycles", "cpu", "", 0, 1.0, {"perf_cpu_cycles_total", "CPU cycles.", "", METRIC_COUNTER}},
    {"instructions", "cpu", "", 0, 1.0, {"perf_cpu_instructions_total", "Retired instructions.", "", METRIC_COUNTER}},
};
static const struct row_counter cgroup_core[] = {
    {"cycles", "cpu", "", 0, 1.0, {"perf_cgroup_cycles_total", "CPU cycles.", "", METRIC_COUNTER}},
    {"task_clock",
     "software",
     "seconds",
     9,
     1e-9,
     {"perf_cgroup_task_clock_seconds_total", "Time on a CPU.", "seconds", METRIC_COUNTER}},
};
static const struct row_counter missing[] = {
    {"bus_cycles", "cpu", "", 0, 1.0, {0}},
};

struct row *fake_service_add_cgroup(struct snapshot *snapshot, const char *cgroup)
{
    const struct row_target target = {
        .collector = FAKE_CGROUP,
        .group = "core",
        .pmu = "cpu",
        .cgroup = cgroup,
        .cpu = -1,
        .created_ns = 1600000000500 * NSEC_PER_MSEC,
    };

    return snapshot_add_row(snapshot, &target, cgroup_core, ARRAY_SIZE(cgroup_core));
}

#define TEN(text) text text text text text text text text text text
#define FFFD "\xef\xbf\xbd"
#define THOUSAND(text) TEN(TEN(TEN(text)))

const struct odd_cgroup odd_cgroups[N_ODD_CGROUPS] = {
    {"/", "/", "/"},
    {"/a b.slice/{c=\"d\"} 1", "/a b.slice/{c=\"d\"} 1", "/a b.slice/{c=\\\"d\\\"} 1"},
    {"/a\\x2db\\", "/a\\x2db\\", "/a\\\\x2db\\\\"},
    {"/a\nb_total{c=\"d\"} 1\n\033[m\x7f\xc2\x9b", "/a" FFFD "b_total{c=\"d\"} 1" FFFD FFFD "[m" FFFD FFFD FFFD,
     "/a" FFFD "b_total{c=\\\"d\\\"} 1" FFFD FFFD "[m" FFFD FFFD FFFD},
    {"/caf\xe9", "/caf\xef\xbf\xbd", "/caf\xef\xbf\xbd"},
    {"/caf\xe8", "/caf\xef\xbf\xbd#e8", "/caf\xef\xbf\xbd#e8"},
    {"/" THOUSAND("a\"\\"), "/" THOUSAND("a\"\\"), "/" THOUSAND("a\\\"\\\\")},
};

static bool has_cgroup(const struct snapshot *snapshot, const char *label)
{
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->cgroup && str_equal(snapshot->rows[i]->cgroup, label))
            return true;
    return false;
}

void fake_service_add_odd_cgroups(struct snapshot *snapshot)
{
    for (size_t i = 0; i < N_ODD_CGROUPS; i++) {
        char *label = NULL;
        cgroup_label(odd_cgroups[i].path, CGROUP_LABEL_PLAIN, &label);
        if (has_cgroup(snapshot, label)) {
            free(label);
            cgroup_label(odd_cgroups[i].path, CGROUP_LABEL_DISTINCT, &label);
        }
        advance_row(fake_service_add_cgroup(snapshot, label));
        free(label);
    }
}

static void add_rows(struct snapshot *snapshot, unsigned n_cpus)
{
    for (unsigned cpu = 0; cpu < n_cpus; cpu++)
        snapshot_add_row(snapshot, &(struct row_target){FAKE_CPU, "core", "cpu", NULL, NULL, (int)cpu, 0, 0, NULL},
                         core, ARRAY_SIZE(core));
    fake_service_add_cgroup(snapshot, "/system.slice/a\\x2d\"b\".service");
    struct row *starved = snapshot_add_row(
        snapshot, &(struct row_target){FAKE_CPU, "late", "cpu", NULL, NULL, 0, 0, 0, NULL}, core, ARRAY_SIZE(core));
    starved->state = ROW_STARVED;
    series_set(starved->enabled, NSEC_PER_SEC);
    series_set(starved->running, 0);
    snapshot_add_row(snapshot,
                     &(struct row_target){FAKE_CPU, "bus", "cpu", NULL, "no such \"event\" (ENOENT)", 0, 0, 0, NULL},
                     missing, ARRAY_SIZE(missing));
}

static void add_self(struct snapshot *snapshot)
{
    const struct metric success = {"perfcountd_collector_success", "Whether it worked.", "", METRIC_GAUGE};
    const struct metric build = {"perfcountd_build_info", "A \"quoted\"\nhelp with a \\.", "", METRIC_INFO};
    const struct metric duration = {"perfcountd_collector_duration_seconds", "How long.", "seconds", METRIC_GAUGE};
    const struct label collector = {"collector", "cpu"}, version = {"version", "0.1\xff"};

    series_set(metrics_add(&snapshot->metrics, &success, FAKE_SELF, 0, &collector, 1), 1);
    series_set(metrics_add(&snapshot->metrics, &build, FAKE_SELF, 0, &version, 1), 1);
    series_set_real(metrics_add(&snapshot->metrics, &duration, FAKE_SELF, 0, &collector, 1), 0.1);
}

void fake_service_init(struct fake_service *fake, unsigned n_cpus)
{
    *fake = (struct fake_service){
        .service = {.userdata = fake,
                    .read = read_snapshot,
                    .document = document,
                    .events_generation = events_generation,
                    .defer_events = defer_events,
                    .reload = reload,
                    .ready = ready,
                    .now = now,
                    .pause = pause_for,
                    .paused = paused,
                    .complain = complain},
        .snapshot = {.collector_names = names, .realtime_ns = 1700000000123 * NSEC_PER_MSEC},
        .ready = true,
    };
    add_rows(&fake->snapshot, n_cpus);
    add_self(&fake->snapshot);
    fake_service_advance(fake);
}

void fake_service_done(struct fake_service *fake)
{
    snapshot_done(&fake->snapshot);
}
