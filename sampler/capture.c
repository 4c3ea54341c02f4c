/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/capture.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "cgroups/cgroupfs.h"

/* --- sampled events --- */

struct sampled_events {
    unsigned refs;
    struct writer_event *events; /* array of events, which own their names and point into `attrs` and `ids` */
    struct perf_event_attr *attrs;
    uint64_t *ids; /* array of event ids, `n_ids` for each event */
    size_t n_events, n_ids, n_cpus;
};

DEFINE_CLEANUP(struct sampled_events *, sampled_events_unref);

static struct sampled_events *sampled_events_ref(struct sampled_events *sampled)
{
    sampled->refs++;
    return sampled;
}

struct sampled_events *sampled_events_unref(struct sampled_events *sampled)
{
    if (!sampled || --sampled->refs > 0)
        return NULL;
    for (size_t i = 0; i < sampled->n_events; i++)
        free((char *)sampled->events[i].name);
    free(sampled->events);
    free(sampled->attrs);
    free(sampled->ids);
    free(sampled);
    return NULL;
}

/*
 * Returns the ring's attr for event number `event` of the options, and stores the event's index in the group. Returns
 * NULL if the ring lacks the event.
 */
static const struct perf_event_attr *cpu_ring_attr(const struct cpu_ring *cpu_ring, size_t event, size_t *ret_member)
{
    for (size_t i = 0; i < cpu_ring->group.n && cpu_ring->samples; i++)
        if (cpu_ring->group.events[i] == event) {
            *ret_member = i;
            return &cpu_ring->group.attrs[i];
        }
    return NULL;
}

static const struct perf_event_attr *sampled_events_attr(const struct sampled_events *before, const char *name)
{
    for (size_t i = 0; before && i < before->n_events; i++)
        if (str_equal(before->events[i].name, name))
            return before->events[i].attr;
    return NULL;
}

/*
 * Copies the ids of a group member, one for each time that the group was opened, or writes zeros if `has` is false.
 * Returns the number of ids.
 */
static size_t cpu_ring_copy_ids(const struct cpu_ring *cpu_ring, bool has, size_t member, uint64_t *ids)
{
    size_t n = 0;

    for (size_t k = 0; k < cpu_ring->n_fds; k += cpu_ring->group.n)
        ids[n++] = has ? cpu_ring->ids[k + member] : 0;
    return n;
}

/*
 * Adds an event of the options, with its attr and its id in each open group (0 if a group lacks the event). perf looks
 * up the event of each record by its id, so the ids of the tracking rings' dummy events are added to the first event.
 */
static int sampled_events_add(struct sampled_events *sampled, size_t event, const char *name,
                              struct cpu_ring *const *cpu_rings, size_t n_cpu_rings,
                              const struct sampled_events *before)
{
    const struct perf_event_attr *known = sampled_events_attr(before, name);
    size_t n = sampled->n_events;
    uint64_t *ids = sampled->ids + n * sampled->n_ids;

    for (size_t i = 0; i < n_cpu_rings; i++) {
        size_t member = 0;
        const struct perf_event_attr *attr = cpu_ring_attr(cpu_rings[i], event, &member);
        known = known ? known : attr;
        ids += cpu_ring_copy_ids(cpu_rings[i], attr || (!cpu_rings[i]->samples && n == 0), member, ids);
    }
    if (!known)
        return 0;
    sampled->attrs[n] = *known;
    sampled->attrs[n].sample_type = off_cpu_shown_type(known->sample_type);
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    sampled->events[n] =
        (struct writer_event){.name = copy, .attr = &sampled->attrs[n], .ids = sampled->ids + n * sampled->n_ids};
    sampled->n_events++;
    return 0;
}

/*
 * Lists the `events` that are open in the rings. Events in `before` (may be NULL) that are no longer open are also
 * listed, without ids: clients already have samples of these events, and the first event, which a profile shows, must
 * not change. Returns NULL when out of memory.
 */
static struct sampled_events *sampled_events_new(const struct event_list *events, struct cpu_ring *const *cpu_rings,
                                                 size_t n_cpu_rings, const struct sampled_events *before)
{
    _cleanup_(sampled_events_unrefp) struct sampled_events *sampled = calloc(1, sizeof(*sampled));

    if (!sampled)
        return NULL;
    sampled->refs = 1;
    for (size_t i = 0; i < n_cpu_rings; i++) {
        sampled->n_cpus += cpu_rings[i]->samples;
        sampled->n_ids += cpu_rings[i]->n_fds / cpu_rings[i]->group.n;
    }
    sampled->events = calloc(events->n, sizeof(*sampled->events));
    sampled->attrs = calloc(events->n, sizeof(*sampled->attrs));
    sampled->ids = calloc(events->n * MAX(sampled->n_ids, 1), sizeof(*sampled->ids));
    if (!sampled->events || !sampled->attrs || !sampled->ids)
        return NULL;
    for (size_t i = 0; i < events->n; i++)
        if (sampled_events_add(sampled, i, events->events[i].text, cpu_rings, n_cpu_rings, before) < 0)
            return NULL;
    return steal(sampled);
}

/* Sets the events, the ids and the number of CPUs in `source`, which borrows events and ids from `sampled`. */
static void sampled_events_describe(const struct sampled_events *sampled, struct writer_source *source)
{
    source->events = sampled->events;
    source->n_events = sampled->n_events;
    source->n_ids = sampled->n_ids;
    source->n_cpus = sampled->n_cpus;
}

/* --- capture --- */

/* Limits of one turn of the event loop. The limits are low, because output is sent to clients only between turns. */
#define TURN_RECORDS 200
#define TURN_NS (5 * NSEC_PER_MSEC)
#define RECORDS_PER_CLOCK 128 /* the clock is read once per this many records */
/*
 * Within a round, other event sources, such as client connections, have priority over the next turn, but the turn
 * starts after this time at the latest.
 */
#define TURN_USEC 2000
/* Interval at which all rings are read, even nearly empty ones. */
#define DRAIN_USEC 100000
#define TIMER_ACCURACY_USEC 1000
/* Maximum duration of drain_rings(), during which the event loop does not run. */
#define DRAIN_MAX_NS (80 * NSEC_PER_MSEC)
/* Maximum number of descendants of the requested process, if records are selected by process. */
#define FAMILY_MAX 4096

struct capture {
    struct sys *sys;
    sd_event *event;
    sd_event_source *timer, *again; /* `again` starts the next turn when no other event source is ready */
    struct symbols *symbols;
    struct record_options options;
    struct rings cpu_rings;
    struct sampled_events *events; /* reference to the events that capture_describe() returns */
    LIST_HEAD(, subscriber) subscribers;
    bool paused;
    uint64_t lost;
    uint64_t until_ns;     /* the current round takes records up to this time (sys_record_now()); 0 between rounds */
    bool ended;            /* the sampled process (`options.pid`) has exited */
    bool last;             /* the current round began after the process exited, so no other round follows */
    struct past_span past; /* `past.until_ns` is 0 if the capture is live */
    bool held;
    struct off_cpu *off_cpu; /* NULL unless the event is off-cpu */
    uint32_t *family; /* PIDs of the sampled process and its descendants, if the capture selects records by process */
    size_t n_family;
};

DEFINE_CLEANUP(struct capture *, capture_free);

const struct record_options *capture_options(const struct capture *capture)
{
    return &capture->options;
}

static bool is_past(const struct capture *capture)
{
    return capture->past.until_ns != 0;
}

bool capture_is_alive(const struct capture *capture)
{
    return rings_samples(&capture->cpu_rings) && !capture->ended && !is_past(capture);
}

bool capture_is_idle(const struct capture *capture)
{
    return LIST_EMPTY(&capture->subscribers);
}

uint64_t capture_lost(const struct capture *capture)
{
    return capture->lost;
}

struct off_cpu_totals capture_off_cpu_totals(const struct capture *capture)
{
    return capture->off_cpu ? off_cpu_totals(capture->off_cpu) : (struct off_cpu_totals){0};
}

uint64_t capture_malformed(const struct capture *capture)
{
    return capture->cpu_rings.malformed;
}

struct capture *capture_free(struct capture *capture)
{
    if (!capture)
        return NULL;
    sd_event_source_disable_unref(capture->timer);
    sd_event_source_disable_unref(capture->again);
    off_cpu_free(capture->off_cpu);
    rings_done(&capture->cpu_rings);
    sampled_events_unref(capture->events);
    record_options_done(&capture->options);
    free(capture->family);
    sd_event_unref(capture->event);
    free(capture);
    return NULL;
}

/* --- rounds --- */

static bool is_in_family(const struct capture *capture, uint32_t pid)
{
    for (size_t i = 0; i < capture->n_family; i++)
        if (capture->family[i] == pid)
            return true;
    return false;
}

/* Adds a process forked by a member of the family, unless memory runs out, and removes a process that has exited. */
static void update_family(struct capture *capture, const struct record *record)
{
    if (record->type == PERF_RECORD_FORK && is_in_family(capture, record->task.parent_pid) &&
        !is_in_family(capture, record->task.pid) && capture->n_family < FAMILY_MAX &&
        array_grow(&capture->family, capture->n_family) == 0)
        capture->family[capture->n_family++] = record->task.pid;
    if (record->type != PERF_RECORD_EXIT || record->task.pid != record->task.tid)
        return;
    for (size_t i = 1; i < capture->n_family; i++)
        if (capture->family[i] == record->task.pid)
            capture->family[i] = capture->family[--capture->n_family];
}

static int reset_family(struct capture *capture)
{
    capture->n_family = 0;
    if (!capture->options.pid || (!is_past(capture) && !capture->options.off_cpu))
        return 0;
    if (array_grow(&capture->family, 0) < 0)
        return -ENOMEM;
    capture->family[capture->n_family++] = capture->options.pid;
    return 0;
}

/*
 * Returns whether the capture passes on the record. Only captures of the past and of off-CPU time check records; for
 * other captures, the kernel records nothing but the requested process or cgroup.
 */
static bool is_wanted(const struct capture *capture, const struct record *record)
{
    const struct record_options *options = &capture->options;
    uint64_t cgroup = record->type == PERF_RECORD_SAMPLE ? cgroup_id_key(record->sample.cgroup) : 0;

    if (!is_past(capture) && !capture->off_cpu)
        return true;
    if (options->pid && !is_in_family(capture, record->id.pid))
        return false;
    if (record->type != PERF_RECORD_SAMPLE || !options->cgroup_ids)
        return true;
    size_t behind = array_search(options->n_cgroup_ids, i, options->cgroup_ids[i] <= cgroup);
    return behind > 0 && options->cgroup_ids[behind - 1] == cgroup;
}

static void give_record(struct capture *capture, const struct record *record)
{
    const struct subscriber *s;

    if (!is_wanted(capture, record))
        return;
    if (capture->family)
        update_family(capture, record);
    if (capture->off_cpu && !(record = off_cpu_translate(capture->off_cpu, record)))
        return;
    if (record->type == PERF_RECORD_LOST || record->type == PERF_RECORD_LOST_SAMPLES)
        capture->lost += record->lost.lost;
    symbols_update(capture->symbols, record);
    LIST_FOREACH (s, &capture->subscribers, entry)
        s->record(s->userdata, record);
}

/* Takes records in chronological order, as many as one turn permits. Returns whether the round is complete. */
static bool merge_lanes(struct capture *capture)
{
    uint64_t next, end = sys_now(capture->sys, CLOCK_MONOTONIC) + TURN_NS;
    size_t n = 0;

    for (;;) {
        struct cpu_ring *cpu_ring = rings_oldest(&capture->cpu_rings, capture->until_ns, &next);
        if (!cpu_ring)
            return true;
        do {
            give_record(capture, &cpu_ring->record);
            cpu_ring_take(cpu_ring);
            if (++n == TURN_RECORDS || (n % RECORDS_PER_CLOCK == 0 && sys_now(capture->sys, CLOCK_MONOTONIC) >= end))
                return false;
        } while (rings_is_due(&capture->cpu_rings, cpu_ring, capture->until_ns) && cpu_ring->record.id.time <= next);
    }
}

static void give_round(struct capture *capture, uint64_t until_ns)
{
    for (struct subscriber *s = LIST_FIRST(&capture->subscribers), *next; s; s = next) {
        next = LIST_NEXT(s, entry);
        s->round(s->userdata, until_ns);
    }
}

static void give_over(struct capture *capture, const char *reason)
{
    for (struct subscriber *s = LIST_FIRST(&capture->subscribers), *next; s; s = next) {
        next = LIST_NEXT(s, entry);
        s->over(s->userdata, reason);
    }
}

/* Continues the current round, or begins a new round. Returns whether the round is complete. */
static bool take_turn(struct capture *capture)
{
    if (capture->until_ns == 0) {
        capture->until_ns = is_past(capture) ? capture->past.until_ns : sys_record_now(capture->sys);
        capture->last = capture->ended;
    }
    bool complete = merge_lanes(capture);
    rings_release(&capture->cpu_rings);
    uint64_t until = complete ? capture->until_ns : 0;
    if (complete) {
        capture->until_ns = 0;
    } else {
        sd_event_source_set_enabled(capture->again, SD_EVENT_ONESHOT);
        timer_arm_in(capture->timer, TURN_USEC);
    }
    give_round(capture, until);
    if (complete && capture->last)
        give_over(capture, "the process has ended");
    return complete;
}

static int capture_on_again(sd_event_source *source, void *userdata)
{
    struct capture *capture = userdata;

    (void)source;
    if (!capture->held)
        take_turn(capture);
    return 0;
}

static bool process_is_gone(const struct capture *capture)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/proc/%" PRIu32, capture->sys->root, capture->options.pid);
    return capture->options.pid && access(path, F_OK) < 0 && errno == ENOENT;
}

static int capture_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct capture *capture = userdata;

    (void)usec;
    if (is_past(capture))
        return capture_on_again(NULL, capture);
    timer_arm_in(source, DRAIN_USEC);
    capture->ended |= process_is_gone(capture);
    take_turn(capture);
    return 0;
}

/*
 * The descriptor of an exited thread is always ready (EPOLLHUP), so it is no longer watched; the timer still reads the
 * ring.
 */
static int capture_on_ring(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct capture *capture = userdata;

    (void)fd;
    if (events & (EPOLLHUP | EPOLLERR))
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
    if (capture->until_ns == 0)
        take_turn(capture);
    return 0;
}

void capture_begin_round(struct capture *capture)
{
    sd_event_source_set_enabled(capture->again, SD_EVENT_ONESHOT);
}

/* Takes all records that are in the rings now, but stops after DRAIN_MAX_NS. */
static void drain_rings(struct capture *capture)
{
    uint64_t end = sys_now(capture->sys, CLOCK_MONOTONIC) + DRAIN_MAX_NS;
    bool fresh = false; /* whether the current round began in this function, and so covers all records up to now */

    do {
        fresh |= capture->until_ns == 0;
        if (take_turn(capture) && fresh)
            return;
    } while (sys_now(capture->sys, CLOCK_MONOTONIC) < end);
}

/* --- subscribers --- */

void capture_subscribe(struct capture *capture, struct subscriber *subscriber)
{
    LIST_INSERT_HEAD(&capture->subscribers, subscriber, entry);
}

void capture_unsubscribe(struct subscriber *subscriber)
{
    LIST_REMOVE(subscriber, entry);
}

static int list_events(struct capture *capture)
{
    struct sampled_events *events = sampled_events_new(&capture->options.events, capture->cpu_rings.cpu_rings,
                                                       capture->cpu_rings.n, capture->events);

    if (!events)
        return -ENOMEM;
    sampled_events_unref(capture->events);
    capture->events = events;
    return 0;
}

struct sampled_events *capture_describe(const struct capture *capture, struct writer_source *source)
{
    sampled_events_describe(capture->events, source);
    source->layout = capture->cpu_rings.layout;
    if (capture->off_cpu)
        source->layout.sample_type = off_cpu_shown_type(source->layout.sample_type);
    source->off_cpu_threshold_ns = capture->options.threshold_ns;
    source->read = capture->options.read;
    source->user_only = capture->options.user_only;
    source->symbols = capture->symbols;
    source->sys = capture->sys;
    return sampled_events_ref(capture->events);
}

/* --- opening --- */

static int add_sources(struct capture *capture)
{
    int r = sd_event_add_defer(capture->event, &capture->again, capture_on_again, capture);
    if (r >= 0)
        r = sd_event_source_set_enabled(capture->again, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_priority(capture->again, SD_EVENT_PRIORITY_NORMAL + 1);
    if (r >= 0)
        r = timer_init(capture->event, CLOCK_MONOTONIC, TIMER_ACCURACY_USEC, capture_on_timer, capture,
                       &capture->timer);
    if (r >= 0)
        r = timer_arm_in(capture->timer, DRAIN_USEC);
    return MIN(r, 0);
}

static int capture_begin(struct capture *capture, const struct machine *machine, struct off_cpu_kernel *off_cpu,
                         struct error *error)
{
    int r = rings_open(&capture->cpu_rings, machine, true, error);

    if (r == 0 && capture->options.off_cpu)
        r = off_cpu_open(capture->sys, off_cpu, machine, &capture->options, &capture->off_cpu, error);
    if (r == 0 && capture->off_cpu)
        r = off_cpu_set_rings(capture->off_cpu, &capture->cpu_rings, error);
    if (r < 0)
        return r;
    r = add_sources(capture);
    if (r == 0)
        r = list_events(capture);
    if (r == 0)
        r = reset_family(capture);
    return r < 0 ? capture_refuse(r, error) : 0;
}

int capture_refuse(int code, struct error *error)
{
    return error_set(error, code, "sampling cannot start: %s", strerror(-code));
}

int capture_open(struct sys *sys, sd_event *event, const struct machine *machine, struct symbols *symbols,
                 struct off_cpu_kernel *off_cpu, struct record_options *options, struct capture **ret,
                 struct error *error)
{
    static const struct record_options none = {.cgroup_fd = -1};
    _cleanup_(capture_freep) struct capture *capture = calloc(1, sizeof(*capture));

    if (!capture)
        return error_oom(error);
    *capture = (struct capture){
        .sys = sys,
        .event = sd_event_ref(event),
        .symbols = symbols,
        .options = *options,
        .cpu_rings =
            {.sys = sys, .event = event, .options = &capture->options, .on_ring = capture_on_ring, .userdata = capture},
        .paused = true,
    };
    int r = capture_begin(capture, machine, off_cpu, error);
    if (r < 0) {
        capture->options = none; /* on failure the caller still owns the content of `options` */
        return r;
    }
    *options = none;
    *ret = steal(capture);
    return 0;
}

bool capture_close_tracking(struct capture *capture)
{
    return !is_past(capture) && rings_close_tracking(&capture->cpu_rings);
}

/* --- the past --- */

int capture_of_past(struct sys *sys, sd_event *event, struct symbols *symbols, struct rings *rings,
                    struct record_options *options, const struct past_span *span, struct capture **ret)
{
    struct capture *capture = calloc(1, sizeof(*capture));

    if (!capture) {
        rings_done(rings);
        record_options_done(options);
        return -ENOMEM;
    }
    *capture = (struct capture){.sys = sys,
                                .event = sd_event_ref(event),
                                .symbols = symbols,
                                .options = *options,
                                .cpu_rings = *rings,
                                .past = *span};
    *rings = (struct rings){0};
    *options = (struct record_options){.cgroup_fd = -1};
    int r = add_sources(capture);
    timer_disarm(capture->timer);
    if (r == 0)
        r = list_events(capture);
    if (r == 0)
        r = reset_family(capture);
    if (r < 0) {
        capture_free(capture);
        return r;
    }
    *ret = capture;
    return 0;
}

const struct past_span *capture_past(const struct capture *capture)
{
    return is_past(capture) ? &capture->past : NULL;
}

void capture_rewind(struct capture *capture)
{
    for (size_t i = 0; i < capture->cpu_rings.n; i++) {
        ring_rewind(capture->cpu_rings.cpu_rings[i]->ring);
        capture->cpu_rings.cpu_rings[i]->has_record = false;
    }
    capture->cpu_rings.malformed = 0;
    capture->lost = 0;
    (void)reset_family(capture); /* cannot fail again, because the array was already allocated */
}

void capture_hold(struct capture *capture, bool hold)
{
    if (capture->held && !hold)
        capture_begin_round(capture);
    capture->held = hold;
}

/* --- pauses --- */

int capture_pause(struct capture *capture, bool paused)
{
    const struct subscriber *s;

    if (capture->paused == paused || !capture_is_alive(capture))
        return 0;
    capture->paused = paused;
    uint64_t time_ns = sys_record_now(capture->sys);
    int r = rings_enable(&capture->cpu_rings, !paused);
    if (paused) {
        drain_rings(capture);
        time_ns = sys_record_now(capture->sys);
    }
    LIST_FOREACH (s, &capture->subscribers, entry)
        s->pause(s->userdata, paused, time_ns);
    return r;
}

bool capture_is_paused(const struct capture *capture)
{
    return capture->paused;
}

/* --- CPU hotplug --- */

/*
 * Rings of CPUs that were offline are reopened, because events that were open when a CPU went offline never sample
 * again.
 */
void capture_cpus_changed(struct capture *capture, const struct machine *machine, const struct cpuset *went_offline)
{
    const struct subscriber *s;

    if (capture_is_idle(capture) || is_past(capture))
        return;
    drain_rings(capture);
    rings_close_offline(&capture->cpu_rings, machine, went_offline);
    rings_open(&capture->cpu_rings, machine, false, NULL);
    if (capture->off_cpu)
        off_cpu_set_rings(capture->off_cpu, &capture->cpu_rings, NULL);
    bool listed = list_events(capture) == 0;
    LIST_FOREACH (s, &capture->subscribers, entry)
        s->events(s->userdata);
    if (!listed || !rings_samples(&capture->cpu_rings))
        give_over(capture, listed ? "no CPU is left to sample" : "out of memory");
}
