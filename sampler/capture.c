/* SPDX-License-Identifier: Apache-2.0 */
/* What is sampled by one spec: see capture.h. */
#include "sampler/capture.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "sampler/sampled-events.h"
#include "sampler/threads.h"

/* What one turn of the event loop may take: little, as clients take what was made of it between the turns only. */
#define TURN_RECORDS 200
#define TURN_NS (5 * NSEC_PER_MSEC)
#define LOOK_AT_CLOCK 128 /* records */
/* The next turn comes after all else that is due, clients that take what was made above all; yet so soon. */
#define TURN_USEC 2000
/* Rings that fill slowly are looked at so often. */
#define DRAIN_USEC 100000
#define TIMER_ACCURACY_USEC 1000
/* So long draining at once may take. */
#define LAST_NS (80 * NSEC_PER_MSEC)

struct capture {
    struct sys *sys;
    sd_event *event;
    sd_event_source *timer, *again;
    struct symbols *symbols;
    struct spec spec;
    struct record_layout layout;
    struct lane **lanes;
    size_t n_lanes;
    struct sampled_events *roster; /* of what is open */
    struct subscriber *subscribers;
    bool paused;
    uint64_t lost, malformed;
    uint64_t until_ns; /* of the round that is being taken; 0 between rounds */
    bool ended;        /* the process has */
};

DEFINE_CLEANUP(struct capture *, capture_free);

const struct spec *capture_spec(const struct capture *capture)
{
    return &capture->spec;
}

static bool samples(const struct capture *capture)
{
    for (size_t i = 0; i < capture->n_lanes; i++)
        if (capture->lanes[i]->samples)
            return true;
    return false;
}

bool capture_is_alive(const struct capture *capture)
{
    return samples(capture) && !capture->ended;
}

bool capture_is_idle(const struct capture *capture)
{
    return !capture->subscribers;
}

uint64_t capture_lost(const struct capture *capture)
{
    return capture->lost;
}

uint64_t capture_malformed(const struct capture *capture)
{
    return capture->malformed;
}

void capture_stop(struct capture *capture)
{
    capture->timer = sd_event_source_disable_unref(capture->timer);
    capture->again = sd_event_source_disable_unref(capture->again);
    while (capture->n_lanes > 0)
        lane_free(capture->lanes[--capture->n_lanes]);
}

struct capture *capture_free(struct capture *capture)
{
    if (!capture)
        return NULL;
    capture_stop(capture);
    free(capture->lanes);
    sampled_events_unref(capture->roster);
    spec_done(&capture->spec);
    sd_event_unref(capture->event);
    free(capture);
    return NULL;
}

/* Rounds */

static void give(struct capture *capture, const struct record *record)
{
    if (record->type == PERF_RECORD_LOST || record->type == PERF_RECORD_LOST_SAMPLES)
        capture->lost += record->lost.lost;
    symbols_update(capture->symbols, record);
    for (struct subscriber *s = capture->subscribers; s; s = s->next)
        s->record(s->userdata, record);
}

/* Whether the lane has a record that is due in this round. */
static bool is_due(struct capture *capture, struct lane *lane)
{
    return lane_peek(lane, &capture->layout, &capture->malformed) == 1 && lane->record.id.time <= capture->until_ns;
}

/* The lane with the oldest record, NULL where none is due; *ret_next_ns is the age of the oldest of the others. */
static struct lane *find_oldest(struct capture *capture, uint64_t *ret_next_ns)
{
    struct lane *oldest = NULL;
    uint64_t next = capture->until_ns;

    for (size_t i = 0; i < capture->n_lanes; i++) {
        struct lane *lane = capture->lanes[i];
        if (!is_due(capture, lane))
            continue;
        if (!oldest || lane->record.id.time < oldest->record.id.time) {
            next = oldest ? oldest->record.id.time : next;
            oldest = lane;
        } else if (lane->record.id.time < next) {
            next = lane->record.id.time;
        }
    }
    *ret_next_ns = next;
    return oldest;
}

/* Whether nothing that is due was left. */
static bool merge(struct capture *capture)
{
    uint64_t next, end = capture->sys->now(capture->sys, CLOCK_MONOTONIC) + TURN_NS;
    size_t n = 0;

    for (;;) {
        struct lane *lane = find_oldest(capture, &next);
        if (!lane)
            return true;
        do {
            give(capture, &lane->record);
            lane_take(lane);
            if (++n == TURN_RECORDS ||
                (n % LOOK_AT_CLOCK == 0 && capture->sys->now(capture->sys, CLOCK_MONOTONIC) >= end))
                return false;
        } while (is_due(capture, lane) && lane->record.id.time <= next);
    }
}

static void tell_round(struct capture *capture, uint64_t until_ns)
{
    for (struct subscriber *s = capture->subscribers, *next; s; s = next) {
        next = s->next;
        s->round(s->userdata, until_ns);
    }
}

static void tell_over(struct capture *capture, const char *reason)
{
    for (struct subscriber *s = capture->subscribers, *next; s; s = next) {
        next = s->next;
        s->over(s->userdata, reason);
    }
}

static void take_another(struct capture *capture)
{
    sd_event_source_set_enabled(capture->again, SD_EVENT_ONESHOT);
    sd_event_source_set_time_relative(capture->timer, TURN_USEC);
}

/* Goes on with a round, or begins one: whether it is done. */
static bool take_turn(struct capture *capture)
{
    if (capture->until_ns == 0)
        capture->until_ns = capture->sys->now(capture->sys, CLOCK_MONOTONIC);
    bool done = merge(capture);
    for (size_t i = 0; i < capture->n_lanes; i++)
        lane_release(capture->lanes[i]);
    uint64_t until = done ? capture->until_ns : 0;
    if (done)
        capture->until_ns = 0;
    else
        take_another(capture);
    tell_round(capture, until);
    if (done && capture->ended)
        tell_over(capture, "the process has ended");
    return done;
}

static int on_again(sd_event_source *source, void *userdata)
{
    (void)source;
    take_turn(userdata);
    return 0;
}

static bool process_is_gone(const struct capture *capture)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/proc/%" PRIu32, capture->sys->root, capture->spec.pid);
    return capture->spec.pid && access(path, F_OK) < 0 && errno == ENOENT;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct capture *capture = userdata;

    (void)usec;
    sd_event_source_set_time_relative(source, DRAIN_USEC);
    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    capture->ended |= process_is_gone(capture);
    take_turn(capture);
    return 0;
}

/* A thread that has ended hangs up forever: then the timer alone looks after the ring. */
static int on_ring(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct capture *capture = userdata;

    (void)fd;
    if (events & (EPOLLHUP | EPOLLERR))
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
    if (capture->until_ns == 0)
        take_turn(capture);
    return 0;
}

void capture_hurry(struct capture *capture)
{
    sd_event_source_set_enabled(capture->again, SD_EVENT_ONESHOT);
}

/* Subscribers */

void capture_subscribe(struct capture *capture, struct subscriber *subscriber)
{
    subscriber->next = capture->subscribers;
    capture->subscribers = subscriber;
}

void capture_unsubscribe(struct capture *capture, struct subscriber *subscriber)
{
    for (struct subscriber **at = &capture->subscribers; *at; at = &(*at)->next)
        if (*at == subscriber) {
            *at = subscriber->next;
            return;
        }
}

static int describe(struct capture *capture)
{
    struct sampled_events *roster =
        sampled_events_new(&capture->spec.events, capture->lanes, capture->n_lanes, capture->roster);

    if (!roster)
        return -ENOMEM;
    sampled_events_unref(capture->roster);
    capture->roster = roster;
    return 0;
}

struct sampled_events *capture_describe(const struct capture *capture, struct writer_source *source)
{
    sampled_events_describe(capture->roster, source);
    source->layout = capture->layout;
    source->read = capture->spec.read;
    source->symbols = capture->symbols;
    source->sys = capture->sys;
    return sampled_events_ref(capture->roster);
}

/* Opening */

static int add_lane(struct capture *capture, struct lane *lane, struct error *error)
{
    if (array_grow(&capture->lanes, capture->n_lanes) < 0) {
        lane_free(lane);
        return error_oom(error);
    }
    capture->lanes[capture->n_lanes++] = lane;
    int r = sd_event_add_io(capture->event, &lane->io, lane->fds[0], EPOLLIN, on_ring, capture);
    if (r < 0)
        return error_set(error, r, "cpu %u: the ring cannot be waited for: %s", lane->cpu, strerror(-r));
    capture->layout = record_layout_of(&lane->group.attrs[0]);
    return 0;
}

static bool has_lane(const struct capture *capture, unsigned cpu)
{
    for (size_t i = 0; i < capture->n_lanes; i++)
        if (capture->lanes[i]->cpu == cpu)
            return true;
    return false;
}

/* NULL is none. */
static int begin_lane(struct capture *capture, struct lane *lane, struct error *error)
{
    int r = lane ? add_lane(capture, lane, error) : 0;

    return r == 0 && lane && !capture->paused ? lane_enable(lane) : r;
}

/* On each CPU that is online and has no lane. `all`: the first that cannot be opened ends it. */
static int open_sampling(struct capture *capture, const struct machine *machine, bool all, struct error *error)
{
    _cleanup_(threads_done) struct threads threads;
    struct lane *lane;

    int r = threads_list(&threads, capture->sys, &capture->spec, error);
    CPUSET_FOREACH (cpu, &machine->online) {
        if (r < 0)
            break;
        if (has_lane(capture, (unsigned)cpu))
            continue;
        r = lane_open(capture->sys, machine, &capture->spec, (unsigned)cpu, threads.tids, threads.n, &lane, error);
        if (r == 0)
            r = begin_lane(capture, lane, error);
        if (!all)
            r = 0;
    }
    return r;
}

/* On each of the others: where it cannot be, what runs there is told only of those that ran when somebody came. */
static void open_tracking(struct capture *capture, const struct machine *machine)
{
    struct lane *lane;

    CPUSET_FOREACH (cpu, &machine->online)
        if (!has_lane(capture, (unsigned)cpu) &&
            lane_open_tracking(capture->sys, machine, &capture->spec, (unsigned)cpu, &lane) == 0)
            begin_lane(capture, lane, NULL);
}

/* What samples comes first to the memory that may be locked. */
static int open_lanes(struct capture *capture, const struct machine *machine, bool all, struct error *error)
{
    int r = open_sampling(capture, machine, all, error);

    if (r == 0)
        open_tracking(capture, machine);
    return r;
}

static int add_sources(struct capture *capture)
{
    uint64_t now = 0;

    int r = sd_event_now(capture->event, CLOCK_MONOTONIC, &now);
    if (r >= 0)
        r = sd_event_add_defer(capture->event, &capture->again, on_again, capture);
    if (r >= 0)
        r = sd_event_source_set_enabled(capture->again, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_priority(capture->again, SD_EVENT_PRIORITY_NORMAL + 1);
    if (r >= 0)
        r = sd_event_add_time(capture->event, &capture->timer, CLOCK_MONOTONIC, now + DRAIN_USEC, TIMER_ACCURACY_USEC,
                              on_timer, capture);
    return MIN(r, 0);
}

static int begin(struct capture *capture, const struct machine *machine, struct error *error)
{
    int r = open_lanes(capture, machine, true, error);

    if (r < 0)
        return r;
    r = add_sources(capture);
    if (r == 0)
        r = describe(capture);
    return r < 0 ? error_set(error, r, "sampling cannot start: %s", strerror(-r)) : 0;
}

int capture_open(struct sys *sys, sd_event *event, const struct machine *machine, struct symbols *symbols,
                 struct spec *spec, struct capture **ret, struct error *error)
{
    static const struct spec none = {.cgroup_fd = -1};
    _cleanup_(capture_freep) struct capture *capture = calloc(1, sizeof(*capture));

    if (!capture)
        return error_oom(error);
    *capture =
        (struct capture){.sys = sys, .event = sd_event_ref(event), .symbols = symbols, .spec = *spec, .paused = true};
    int r = begin(capture, machine, error);
    if (r < 0) {
        capture->spec = none;
        return r;
    }
    *spec = none;
    *ret = steal(capture);
    return 0;
}

bool capture_stop_tracking(struct capture *capture)
{
    size_t n = 0, before = capture->n_lanes;

    for (size_t i = 0; i < before; i++)
        if (capture->lanes[i]->samples)
            capture->lanes[n++] = capture->lanes[i];
        else
            lane_free(capture->lanes[i]);
    capture->n_lanes = n;
    return n < before;
}

/* Takes what is in the rings by now, unless it is too much. */
static void drain(struct capture *capture)
{
    uint64_t end = capture->sys->now(capture->sys, CLOCK_MONOTONIC) + LAST_NS;
    bool fresh = false; /* the round began now */

    do {
        fresh |= capture->until_ns == 0;
        if (take_turn(capture) && fresh)
            return;
    } while (capture->sys->now(capture->sys, CLOCK_MONOTONIC) < end);
}

/* Pauses */

static int switch_lanes(struct capture *capture)
{
    int r = 0;

    for (size_t i = 0; i < capture->n_lanes && !capture->paused; i++) {
        int enabled = lane_enable(capture->lanes[i]);
        r = r < 0 ? r : enabled;
    }
    for (size_t i = 0; i < capture->n_lanes && capture->paused; i++)
        lane_disable(capture->lanes[i]);
    return r;
}

int capture_pause(struct capture *capture, bool paused)
{
    if (capture->paused == paused || !capture_is_alive(capture))
        return 0;
    capture->paused = paused;
    int r = switch_lanes(capture);
    if (paused)
        drain(capture);
    for (struct subscriber *s = capture->subscribers; s; s = s->next)
        s->pause(s->userdata, paused);
    return r;
}

bool capture_is_paused(const struct capture *capture)
{
    return capture->paused;
}

/* CPUs that come and go */

static void close_lanes(struct capture *capture, const struct machine *machine, const struct cpuset *left)
{
    size_t n = 0;

    for (size_t i = 0; i < capture->n_lanes; i++) {
        unsigned cpu = capture->lanes[i]->cpu;
        if (cpuset_has(&machine->online, cpu) && !(left && cpuset_has(left, cpu)))
            capture->lanes[n++] = capture->lanes[i];
        else
            lane_free(capture->lanes[i]);
    }
    capture->n_lanes = n;
}

/* Events of a CPU that has left never sample again, also when it is back. */
void capture_cpus_changed(struct capture *capture, const struct machine *machine, const struct cpuset *left)
{
    if (capture_is_idle(capture))
        return;
    drain(capture);
    close_lanes(capture, machine, left);
    open_lanes(capture, machine, false, NULL);
    bool described = describe(capture) == 0;
    for (struct subscriber *s = capture->subscribers; s; s = s->next)
        s->events(s->userdata);
    if (!described || !samples(capture))
        tell_over(capture, described ? "no CPU is left to sample" : "out of memory");
}
