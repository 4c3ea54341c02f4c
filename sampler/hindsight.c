/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/hindsight.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "cgroups/cgroupfs.h"

/* Assumed sizes of a sample with 20 callers and without callers, in bytes. Ring sizes are computed from these. */
#define SAMPLE_BYTES 256
#define SAMPLE_BYTES_FLAT 80
/* Maximum number of data pages in a ring for process records. */
#define TRACKING_PAGES_MAX 64
/* All rings are read this long after the first wakeup by a ring. */
#define DRAIN_USEC 100000
/*
 * Eighths of the memory for the sample rings, for the process record rings, and for the process records that the daemon
 * keeps.
 */
#define SAMPLES_PART 5
#define TRACKING_PART 1
#define KEPT_PART 2
#define PARTS 8

struct hindsight {
    struct sys *sys;
    sd_event *event;
    struct symbols *symbols;
    struct cgroup_lookup *cgroups;
    struct record_options options, tracking_options;
    struct rings samples, tracking;
    sd_event_source *timer;
    struct buffer kept; /* process records that are kept, oldest first */
    size_t kept_max;    /* maximum size of `kept` in bytes */
    uint64_t seconds;   /* maximum number of past seconds that a client gets */
    uint64_t opened_ns; /* time when sampling last began or resumed */
    bool paused;
};

DEFINE_CLEANUP(struct hindsight *, hindsight_free);

struct hindsight *hindsight_free(struct hindsight *hindsight)
{
    if (!hindsight)
        return NULL;
    symbols_cancel(hindsight->symbols, hindsight);
    sd_event_source_disable_unref(hindsight->timer);
    rings_done(&hindsight->samples);
    rings_done(&hindsight->tracking);
    record_options_done(&hindsight->options);
    record_options_done(&hindsight->tracking_options);
    buffer_done(&hindsight->kept);
    sd_event_unref(hindsight->event);
    free(hindsight);
    return NULL;
}

/* --- process records --- */

/* Drops the older half of the kept process records. */
static void forget_older_half(struct buffer *kept)
{
    size_t at = 0;

    while (at < kept->size / 2)
        at += ((const struct perf_event_header *)(kept->data + at))->size;
    memmove(kept->data, kept->data + at, kept->size - at);
    kept->size -= at;
}

/*
 * Keeps a process record in memory. If memory runs out, the record is dropped, and symbols of this process cannot be
 * resolved once the process has exited.
 */
static void keep_record(struct hindsight *hindsight, const struct record *record)
{
    struct buffer *kept = &hindsight->kept;

    if (kept->size + record->size > hindsight->kept_max)
        forget_older_half(kept);
    if (kept->size + record->size > hindsight->kept_max)
        return;
    record_append(record, kept);
    kept->failed = false;
}

static void take_tracking(struct hindsight *hindsight)
{
    struct rings *set = &hindsight->tracking;
    uint64_t until = sys_record_now(hindsight->sys), next;
    struct cpu_ring *cpu_ring;

    while ((cpu_ring = rings_oldest(set, until, &next))) {
        symbols_update(hindsight->symbols, &cpu_ring->record);
        cgroup_lookup_update(hindsight->cgroups, &cpu_ring->record);
        keep_record(hindsight, &cpu_ring->record);
        cpu_ring_take(cpu_ring);
    }
    rings_release(set);
}

static void watch_tracking(struct hindsight *hindsight, bool watch)
{
    for (size_t i = 0; i < hindsight->tracking.n; i++)
        sd_event_source_set_enabled(hindsight->tracking.cpu_rings[i]->io, watch ? SD_EVENT_ON : SD_EVENT_OFF);
}

static int on_tracking(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct hindsight *hindsight = userdata;

    (void)source;
    (void)fd;
    (void)events;
    watch_tracking(hindsight, false);
    return timer_arm_in(hindsight->timer, DRAIN_USEC);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct hindsight *hindsight = userdata;

    (void)source;
    (void)usec;
    take_tracking(hindsight);
    watch_tracking(hindsight, true);
    return 0;
}

/* --- opening --- */

/*
 * Returns the largest number of data pages per CPU that is a power of two and fits into `memory` together with the
 * header page; at least 1.
 */
static size_t pages_within(uint64_t memory, unsigned n_cpus)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), each = memory / MAX(n_cpus, 1);
    size_t pages = 1;

    while ((2 * pages + 1) * page <= each)
        pages *= 2;
    return pages;
}

/*
 * Returns the number of pages needed for the configured seconds, rounded up to a power of two, but no more than fit
 * into the memory.
 */
size_t hindsight_ring_pages(const struct config_sampler *config, unsigned n_cpus)
{
    const struct config_hindsight *hindsight = &config->hindsight;
    size_t most = pages_within(hindsight->memory / PARTS * SAMPLES_PART, n_cpus), pages = 1;

    while (hindsight_ring_seconds(config, pages) < (double)hindsight->seconds && pages < most)
        pages *= 2;
    return pages;
}

double hindsight_ring_seconds(const struct config_sampler *config, size_t pages)
{
    size_t sample = config->callchain ? SAMPLE_BYTES : SAMPLE_BYTES_FLAT;

    return (double)(pages * (size_t)sysconf(_SC_PAGESIZE)) / (double)(sample * config->hindsight.frequency);
}

static int open_samples(struct hindsight *hindsight, const struct machine *machine, struct error *error)
{
    struct record_options *options = &hindsight->options;
    int r = rings_open(&hindsight->samples, machine, true, error);

    while (r == -EPERM && options->ring_pages > 1) {
        rings_done(&hindsight->samples);
        options->ring_pages /= 2;
        r = rings_open(&hindsight->samples, machine, true, error);
    }
    return r;
}

/*
 * Opens the rings for process records. rings_open() skips CPUs that cannot be tracked, but all CPUs must be tracked to
 * resolve names, so this function retries with smaller rings.
 */
static int open_tracking(struct hindsight *hindsight, const struct machine *machine, struct error *error)
{
    struct rings *tracking = &hindsight->tracking;
    int r = rings_open(tracking, machine, false, error);

    while (r == 0 && tracking->n < hindsight->samples.n && hindsight->tracking_options.ring_pages > 1) {
        rings_done(tracking);
        hindsight->tracking_options.ring_pages /= 2;
        r = rings_open(tracking, machine, false, error);
    }
    return r;
}

static int make_options(struct hindsight *hindsight, const struct machine *machine, const struct config_sampler *config,
                        struct error *error)
{
    unsigned n_cpus = cpuset_count(&machine->online);
    size_t tracking_pages = pages_within(config->hindsight.memory / PARTS * TRACKING_PART, n_cpus);
    bool automatic = str_equal(config->hindsight.event, "auto");
    const struct record_request request = {.event = automatic ? (char *)"cpu-clock" : config->hindsight.event,
                                           .frequency = config->hindsight.frequency,
                                           .own = true};

    int r = record_options_make(hindsight->sys, machine, config, &request, &hindsight->options, error);
    if (r < 0)
        return r;
    hindsight->options.overwritten = true;
    hindsight->options.ring_pages = hindsight_ring_pages(config, n_cpus);
    hindsight->tracking_options = (struct record_options){.callchain = hindsight->options.callchain,
                                                          .user_only = hindsight->options.user_only,
                                                          .cgroups = hindsight->options.cgroups,
                                                          .ring_pages = MIN(tracking_pages, TRACKING_PAGES_MAX),
                                                          .cgroup_fd = -1};
    return 0;
}

static int enable(struct hindsight *hindsight, bool enabled)
{
    int r = rings_enable(&hindsight->tracking, enabled), samples = rings_enable(&hindsight->samples, enabled);

    hindsight->opened_ns = sys_record_now(hindsight->sys);
    return r < 0 ? r : samples;
}

static void on_scanned(void *userdata)
{
    (void)userdata;
}

static int begin(struct hindsight *hindsight, const struct machine *machine, const struct config_sampler *config,
                 struct error *error)
{
    int r = make_options(hindsight, machine, config, error);
    if (r == 0)
        r = open_samples(hindsight, machine, error);
    if (r < 0)
        return r;
    r = open_tracking(hindsight, machine, error);
    if (r == 0)
        r = timer_init(hindsight->event, CLOCK_MONOTONIC, DRAIN_USEC / 10, on_timer, hindsight, &hindsight->timer);
    if (r == 0)
        r = enable(hindsight, true);
    if (r == 0) /* adds the running processes, so that their names can be resolved even after they have exited */
        r = symbols_scan(hindsight->symbols, 0, on_scanned, hindsight);
    if (r == 0) /* adds the existing cgroups, so that their names can be found even after they have been removed */
        cgroup_lookup_scan(hindsight->cgroups);
    return r < 0 && !error->message[0] ? capture_refuse(r, error) : r;
}

int hindsight_open(struct sys *sys, sd_event *event, const struct machine *machine, struct symbols *symbols,
                   struct cgroup_lookup *cgroups, const struct config_sampler *config, struct hindsight **ret,
                   struct error *error)
{
    _cleanup_(hindsight_freep) struct hindsight *hindsight = calloc(1, sizeof(*hindsight));

    if (!hindsight)
        return error_oom(error);
    *hindsight = (struct hindsight){
        .sys = sys,
        .event = sd_event_ref(event),
        .symbols = symbols,
        .cgroups = cgroups,
        .options.cgroup_fd = -1,
        .tracking_options.cgroup_fd = -1,
        .samples = {.sys = sys, .event = event, .options = &hindsight->options},
        .tracking = {.sys = sys,
                     .event = event,
                     .options = &hindsight->tracking_options,
                     .on_ring = on_tracking,
                     .userdata = hindsight},
        .kept_max = config->hindsight.memory / PARTS * KEPT_PART,
        .seconds = config->hindsight.seconds,
    };
    error->message[0] = '\0';
    int r = begin(hindsight, machine, config, error);
    if (r < 0)
        return r;
    *ret = steal(hindsight);
    return 0;
}

void hindsight_cpus_changed(struct hindsight *hindsight, const struct machine *machine,
                            const struct cpuset *went_offline)
{
    take_tracking(hindsight);
    rings_close_offline(&hindsight->samples, machine, went_offline);
    rings_close_offline(&hindsight->tracking, machine, went_offline);
    rings_open(&hindsight->samples, machine, false, NULL);
    rings_open(&hindsight->tracking, machine, false, NULL);
}

int hindsight_pause(struct hindsight *hindsight, bool paused)
{
    if (hindsight->paused == paused)
        return 0;
    hindsight->paused = paused;
    int r = enable(hindsight, !paused);
    take_tracking(hindsight);
    if (!paused) /* scans /proc again, because processes may have started or exited during the pause */
        symbols_scan(hindsight->symbols, 0, on_scanned, hindsight);
    return r;
}

/* --- looking back --- */

/* Copies nothing if no CPU of the options has a ring. */
static int copy_rings(struct hindsight *hindsight, const struct record_options *options, struct rings *ret,
                      struct past_span *span)
{
    uint64_t full_since;

    int r = rings_copy(&hindsight->samples, &options->cpus, ret, &full_since);
    if (r < 0 || ret->n == 0)
        return r;
    take_tracking(hindsight);
    char *bytes = malloc(MAX(hindsight->kept.size, 1));
    if (!bytes)
        return -ENOMEM;
    if (hindsight->kept.size)
        memcpy(bytes, hindsight->kept.data, hindsight->kept.size);
    span->since_ns = MAX(MAX(span->since_ns, hindsight->opened_ns), full_since);
    return rings_add_records(ret, &hindsight->tracking, bytes, hindsight->kept.size);
}

int hindsight_look_back(struct hindsight *hindsight, const struct machine *machine,
                        const struct record_request *request, char *const *paths, size_t n_paths, struct capture **ret,
                        struct error *error)
{
    struct record_request wanted = *request; /* a shallow copy of the request: its strings are borrowed */
    double seconds = MIN(request->last, (double)hindsight->seconds);
    uint64_t now = sys_record_now(hindsight->sys), ns = (uint64_t)(seconds * (double)NSEC_PER_SEC);
    struct past_span span = {.since_ns = now - MIN(now, ns), .until_ns = now};
    struct record_options options;
    struct rings rings = {.sys = hindsight->sys};

    if (n_paths)
        wanted.cgroup = NULL;
    int r = record_options_of_past(&hindsight->options, hindsight->sys, machine, &wanted, &options, error);
    if (r < 0)
        return r;
    r = record_options_choose_cgroups(&options, hindsight->sys, hindsight->cgroups, paths, n_paths, "\"last\"", error);
    if (r == 0) {
        r = copy_rings(hindsight, &options, &rings, &span);
        if (r == 0 && rings.n > 0)
            return capture_of_past(hindsight->sys, hindsight->event, hindsight->symbols, &rings, &options, &span, ret) <
                           0
                       ? error_oom(error)
                       : 0;
        if (r < 0)
            error_set(error, r, "the samples cannot be copied: %s", strerror(-r));
        else
            r = error_set(error, -EBUSY,
                          "there are no samples of these CPUs: when they came online, their ring buffers could not be "
                          "opened");
    }
    rings_done(&rings);
    record_options_done(&options);
    return r;
}
