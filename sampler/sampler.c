/* SPDX-License-Identifier: Apache-2.0 */
/* Which captures run, for which clients: see sampler.h. */
#include "sampler/sampler.h"

#include <inttypes.h>

#include "base/cleanup.h"

/* What sampling may take besides its rings, in all processes; tables of symbols have what the rest leaves. */
#define BYTES_MAX (16 * 1024 * 1024)
/* Captures, connections, and what the heap does not give back. */
#define BYTES_FIXED (768 * 1024)
/* What waits for all clients together. */
#define BYTES_OF_CLIENTS (3 * 1024 * 1024)
/* What their writers keep for the end, together; a round may add some. */
#define BYTES_KEPT (4 * 1024 * 1024)
/* What was learned of processes and files is kept so long for the next client. */
#define SYMBOLS_LINGER_USEC (60 * UINT64_C(1000000))

struct sampler {
    struct sys *sys;
    sd_event *event;
    sd_event_source *sweep, *linger;
    const struct machine *machine;
    const struct config_sampler *config;
    enum standing admits;    /* the lowest that may have samples */
    struct symbols *symbols; /* NULL where nobody has listened for long */
    struct capture **captures;
    size_t n_captures;
    struct sampler_client *clients;
    size_t n_clients;
    struct config_sampler last; /* a copy of what clients rest on */
    bool paused, ending;
    void (*ended)(void *userdata);
    void *ended_userdata;
};

DEFINE_CLEANUP(struct sampler *, sampler_free);

struct sampler *sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return NULL;
    sd_event_source_disable_unref(sampler->sweep);
    sd_event_source_disable_unref(sampler->linger);
    for (size_t i = 0; i < sampler->n_captures; i++)
        capture_free(sampler->captures[i]);
    free(sampler->captures);
    free(sampler->last.event);
    symbols_free(sampler->symbols);
    sd_event_unref(sampler->event);
    free(sampler);
    return NULL;
}

static int on_linger(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct sampler *sampler = userdata;

    (void)source;
    (void)usec;
    if (sampler->n_clients == 0 && sampler->n_captures == 0) /* a capture that nobody reads tells them still */
        sampler->symbols = symbols_free(sampler->symbols);
    return 0;
}

/* Closes the rings that nobody reads. Not where the last one leaves, since that may be a call from the capture. */
static int on_sweep(sd_event_source *source, void *userdata)
{
    struct sampler *sampler = userdata;
    uint64_t now = 0;
    size_t n = 0;

    for (size_t i = 0; i < sampler->n_captures; i++) {
        struct capture *capture = sampler->captures[i];
        if (capture_is_idle(capture))
            capture_free(capture);
        else
            sampler->captures[n++] = capture;
    }
    sampler->n_captures = n;
    if (n == 0 && sampler->symbols)
        symbols_end_all(sampler->symbols);
    if (sampler->n_clients == 0 && sd_event_now(sd_event_source_get_event(source), CLOCK_MONOTONIC, &now) >= 0) {
        sd_event_source_set_time(sampler->linger, now + SYMBOLS_LINGER_USEC);
        sd_event_source_set_enabled(sampler->linger, SD_EVENT_ONESHOT);
    }
    return 0;
}

int sampler_new(struct sys *sys, sd_event *event, struct sampler **ret)
{
    _cleanup_(sampler_freep) struct sampler *sampler = calloc(1, sizeof(*sampler));

    if (!sampler)
        return -ENOMEM;
    sampler->sys = sys;
    sampler->event = sd_event_ref(event);
    int r = sd_event_add_defer(event, &sampler->sweep, on_sweep, sampler);
    if (r >= 0)
        r = sd_event_source_set_enabled(sampler->sweep, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(event, &sampler->linger, CLOCK_MONOTONIC, 0, 1000000, on_linger, sampler);
    if (r >= 0)
        r = sd_event_source_set_enabled(sampler->linger, SD_EVENT_OFF);
    if (r < 0)
        return r;
    *ret = steal(sampler);
    return 0;
}

sd_event *sampler_event(const struct sampler *sampler)
{
    return sampler->event;
}

uint64_t sampler_now(const struct sampler *sampler, clockid_t clock)
{
    return sampler->sys->now(sampler->sys, clock);
}

size_t sampler_bytes_per_client(const struct sampler *sampler)
{
    size_t n = 0;

    for (const struct sampler_client *client = sampler->clients; client; client = client->next)
        n += !client->waits_for_end;
    return BYTES_OF_CLIENTS / MAX(n, 1);
}

bool sampler_keeps_enough(const struct sampler *sampler)
{
    size_t bytes = 0;

    for (const struct sampler_client *client = sampler->clients; client; client = client->next)
        bytes += client->kept;
    return bytes >= BYTES_KEPT;
}

/* The end of a client makes from what its writer keeps about as much again. */
void sampler_make_room(struct sampler *sampler)
{
    size_t bytes = BYTES_FIXED + symbols_bytes(sampler->symbols), largest = 0;

    for (const struct sampler_client *client = sampler->clients; client; client = client->next) {
        bytes += client->kept + client->waiting;
        largest = MAX(largest, client->kept);
    }
    bytes += largest;
    symbols_set_room(sampler->symbols, bytes < BYTES_MAX ? BYTES_MAX - bytes : 0);
}

/* Configuration */

/* Whether it could have been asked for under this configuration. */
static bool is_allowed(const struct sampler *sampler, const struct sampler_client *client, size_t place)
{
    const struct config_sampler *config = sampler->config;

    return config->enabled && place < config->max_clients && client->seconds <= (double)config->max_seconds &&
           client->standing >= sampler->admits;
}

/* Whether who asks for the same now gets something else. */
static bool is_outdated(const struct sampler *sampler, const struct sampler_client *client)
{
    const struct config_sampler *old = &sampler->last, *new = sampler->config;
    bool event = old->event && !str_equal(old->event, new->event);
    bool rate = old->frequency != new->frequency || old->period != new->period;

    return (event && !client->own_event) || (rate && !client->own_rate) || old->callchain != new->callchain ||
           old->ring_pages != new->ring_pages;
}

/* Without memory, what comes next does not find its event to be another. */
static void keep_last(struct sampler *sampler)
{
    free(sampler->last.event);
    sampler->last = *sampler->config;
    sampler->last.event = strdup(sampler->config->event);
}

/* The oldest clients are at the end of the list, and stay. */
void sampler_configure(struct sampler *sampler, const struct machine *machine, const struct config_sampler *config,
                       enum standing admits)
{
    size_t place = sampler->n_clients;

    sampler->machine = machine;
    sampler->config = config;
    sampler->admits = admits;
    for (struct sampler_client *client = sampler->clients, *next; client; client = next) {
        next = client->next;
        if (!is_allowed(sampler, client, --place) || is_outdated(sampler, client))
            client->end(client->userdata, "reload");
    }
    keep_last(sampler);
}

void sampler_cpus_changed(struct sampler *sampler, const struct machine *machine, const struct cpuset *left)
{
    sampler->machine = machine;
    for (size_t i = 0; i < sampler->n_captures; i++)
        if (!capture_is_idle(sampler->captures[i]))
            capture_cpus_changed(sampler->captures[i], machine, left);
}

int sampler_pause(struct sampler *sampler, bool paused)
{
    int r = 0;

    sampler->paused = paused;
    for (size_t i = 0; i < sampler->n_captures; i++) {
        int error = capture_pause(sampler->captures[i], paused);
        r = r < 0 ? r : error;
    }
    return r;
}

bool sampler_end(struct sampler *sampler, void (*ended)(void *userdata), void *userdata)
{
    sampler->ending = true;
    sampler->ended = ended;
    sampler->ended_userdata = userdata;
    for (struct sampler_client *client = sampler->clients, *next; client; client = next) {
        next = client->next;
        client->end(client->userdata, "shutdown");
    }
    return sampler->n_clients > 0;
}

bool sampler_is_ending(const struct sampler *sampler)
{
    return sampler->ending;
}

static int refuse(const struct sampler *sampler, struct error *error)
{
    if (sampler->admits == STANDING_LOCAL)
        return error_set(error, -EACCES,
                         "samples are for operators and for clients of this machine that no proxy speaks for: ask from "
                         "there, or with a password or certificate; \"sampler.allow: everybody\" lets all have them");
    return error_set(
        error, -EACCES,
        "samples are for operators: clients with a password or certificate (web.config_file), or of a unix "
        "socket as root, as the user of perfcountd or in the socket's group (curl --unix-socket); "
        "\"sampler.allow: local\" lets all clients of this machine have them, and \"everybody\" all others "
        "too");
}

int sampler_admit(const struct sampler *sampler, enum standing standing, struct error *error)
{
    if (sampler->ending)
        return error_set(error, -EBUSY, "perfcountd is ending");
    if (!sampler->config->enabled)
        return error_set(error, -EOPNOTSUPP,
                         "the sampler is not enabled: set sampler.enabled to true in the configuration");
    return standing < sampler->admits ? refuse(sampler, error) : 0;
}

/* Clients */

static int check_limits(const struct sampler *sampler, const struct stream_request *request, struct error *error)
{
    const struct config_sampler *config = sampler->config;

    int r = sampler_admit(sampler, STANDING_OPERATOR, error);
    if (r < 0)
        return r;
    if (request->seconds > (double)config->max_seconds)
        return error_set(error, -EINVAL, "%g seconds are over the limit of %" PRIu64 ", sampler.max_seconds",
                         request->seconds, config->max_seconds);
    if (sampler->n_clients >= config->max_clients)
        return error_set(error, -EBUSY,
                         "%zu clients have samples already, as many as sampler.max_clients allows; try again later",
                         sampler->n_clients);
    return 0;
}

static struct capture *find_capture(const struct sampler *sampler, const struct spec *spec)
{
    for (size_t i = 0; i < sampler->n_captures; i++)
        if (capture_is_alive(sampler->captures[i]) && spec_equal(capture_spec(sampler->captures[i]), spec))
            return sampler->captures[i];
    return NULL;
}

static bool stop_tracking(struct sampler *sampler)
{
    bool any = false;

    for (size_t i = 0; i < sampler->n_captures; i++)
        any |= capture_stop_tracking(sampler->captures[i]);
    return any;
}

/*
 * What samples comes before what merely tells of other CPUs, whoever was first to the memory that may be locked and to
 * the descriptors.
 */
static int open_capture(struct sampler *sampler, struct spec *spec, struct capture **ret, struct error *error)
{
    int r;

    do
        r = capture_open(sampler->sys, sampler->event, sampler->machine, sampler->symbols, spec, ret, error);
    while ((r == -EPERM || r == -EMFILE) && stop_tracking(sampler));
    if (r < 0)
        spec_done(spec);
    return r;
}

/* Takes the spec over. */
static int get_capture(struct sampler *sampler, struct spec *spec, struct capture **ret, struct error *error)
{
    struct capture *capture = find_capture(sampler, spec);

    if (capture) {
        spec_done(spec);
        *ret = capture;
        return 0;
    }
    if (array_grow(&sampler->captures, sampler->n_captures) < 0) {
        spec_done(spec);
        return error_oom(error);
    }
    int r = open_capture(sampler, spec, &capture, error);
    if (r < 0)
        return r;
    r = capture_pause(capture, sampler->paused);
    if (r < 0) {
        capture_free(capture);
        return error_set(error, r, "sampling cannot start: %s", strerror(-r));
    }
    sampler->captures[sampler->n_captures++] = capture;
    *ret = capture;
    return 0;
}

int sampler_join(struct sampler *sampler, const struct stream_request *request, double seconds,
                 struct sampler_client *client, struct error *error)
{
    double most = (double)sampler->config->max_seconds;
    struct capture *capture = NULL;
    struct spec spec;

    int r = check_limits(sampler, request, error);
    if (r == 0)
        r = spec_make(sampler->sys, sampler->machine, sampler->config, request, &spec, error);
    if (r < 0)
        return r;
    if (!sampler->symbols)
        r = symbols_new(sampler->sys, sampler->event, &sampler->symbols);
    if (r < 0) {
        spec_done(&spec);
        return error_set(error, r, "sampling cannot start: %s", strerror(-r));
    }
    r = get_capture(sampler, &spec, &capture, error);
    if (r < 0)
        return r;
    seconds = request->seconds > 0 ? request->seconds : seconds;
    client->seconds = seconds > 0 ? MIN(seconds, most) : most;
    client->own_event = request->event;
    client->own_rate = request->frequency || request->period;
    client->standing = request->standing;
    client->capture = capture;
    client->symbols = sampler->symbols;
    client->next = sampler->clients;
    sampler->clients = client;
    sampler->n_clients++;
    return 0;
}

void sampler_let_go(struct sampler *sampler, struct sampler_client *client)
{
    client->capture = NULL;
    sd_event_source_set_enabled(sampler->sweep, SD_EVENT_ONESHOT);
}

void sampler_leave(struct sampler *sampler, struct sampler_client *client)
{
    struct sampler_client **at = &sampler->clients;

    while (*at && *at != client)
        at = &(*at)->next;
    if (*at) {
        *at = client->next;
        sampler->n_clients--;
    }
    sampler_let_go(sampler, client);
    if (sampler->ending && sampler->n_clients == 0)
        sampler->ended(sampler->ended_userdata);
}
