/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/sampler.h"

#include <inttypes.h>
#include <malloc.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "sampler/record-options.h"

/*
 * Parts of sampler.memory, which limits the memory that all of the daemon's processes use for sampling, not counting
 * the rings. Symbol tables get what the other parts leave. BYTES_FIXED is for captures, connections and heap
 * fragmentation.
 */
#define BYTES_FIXED (768 * 1024)
/* Maximum total size of the output waiting for all clients, in bytes. */
#define BYTES_OF_CLIENTS (3 * 1024 * 1024)
/*
 * Maximum total memory that the writers of all clients hold until their streams end, in bytes. A round of records can
 * exceed this limit slightly.
 */
#define BYTES_KEPT (4 * 1024 * 1024)
/* How long processes and symbols are kept after the last client has left, in case another client comes. */
#define SYMBOLS_LINGER_USEC (60 * USEC_PER_SEC)

struct sampler {
    struct sys *sys;
    sd_event *event;
    sd_event_source *sweep, *linger;
    const struct machine *machine;
    const struct config_sampler *config;
    enum trust admits;             /* lowest trust level whose clients may receive samples */
    struct symbols *symbols;       /* NULL before the first client, and after being idle for SYMBOLS_LINGER_USEC */
    struct child *symboliser;      /* child process that is passed to symbols_set_child() */
    struct cgroup_lookup *cgroups; /* lookup of cgroups, or NULL when `symbols` is NULL */
    cgroup_namer namer;
    void *namer_userdata;
    struct capture **captures;
    size_t n_captures;
    LIST_HEAD(, sampler_client) clients; /* list of clients, newest first */
    size_t n_clients;
    struct config_sampler last; /* configuration under which the clients were opened; owns only the event strings */
    struct off_cpu_kernel off_cpu;
    struct hindsight *hindsight;
    struct error no_hindsight; /* why hindsight cannot be opened, or "" if it is open or not enabled */
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
    free(sampler->last.hindsight.event);
    hindsight_free(sampler->hindsight);
    symbols_free(sampler->symbols);
    cgroup_lookup_free(sampler->cgroups);
    sd_event_unref(sampler->event);
    free(sampler);
    return NULL;
}

static int sampler_on_linger(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct sampler *sampler = userdata;

    (void)source;
    (void)usec;
    if (sampler->n_clients || sampler->n_captures) /* a capture without clients still uses the symbols */
        return 0;
    if (sampler->hindsight) {
        symbols_set_room(sampler->symbols, 0); /* hindsight still needs the known processes and cgroups */
    } else {
        sampler->symbols = symbols_free(sampler->symbols);
        sampler->cgroups = cgroup_lookup_free(sampler->cgroups);
    }
    malloc_trim(0); /* because symbol tables and streams have fragmented the heap */
    return 0;
}

/*
 * Frees captures without clients. Runs in a later turn of the event loop, because a client may leave in a callback of
 * its capture.
 */
static int sampler_on_sweep(sd_event_source *source, void *userdata)
{
    struct sampler *sampler = userdata;
    size_t n = 0;

    (void)source;
    for (size_t i = 0; i < sampler->n_captures; i++) {
        struct capture *capture = sampler->captures[i];
        if (capture_is_idle(capture))
            capture_free(capture);
        else
            sampler->captures[n++] = capture;
    }
    sampler->n_captures = n;
    if (n == 0 && sampler->symbols && !sampler->hindsight)
        symbols_end_all(sampler->symbols);
    if (sampler->n_clients == 0)
        timer_arm_in(sampler->linger, SYMBOLS_LINGER_USEC);
    return 0;
}

int sampler_new(struct sys *sys, sd_event *event, struct child *symboliser, const struct bpf_calls *bpf,
                struct sampler **ret)
{
    _cleanup_(sampler_freep) struct sampler *sampler = calloc(1, sizeof(*sampler));

    if (!sampler)
        return -ENOMEM;
    sampler->sys = sys;
    sampler->symboliser = symboliser;
    sampler->off_cpu.calls = bpf;
    sampler->event = sd_event_ref(event);
    int r = sd_event_add_defer(event, &sampler->sweep, sampler_on_sweep, sampler);
    if (r >= 0)
        r = sd_event_source_set_enabled(sampler->sweep, SD_EVENT_OFF);
    if (r >= 0)
        r = timer_init(event, CLOCK_MONOTONIC, USEC_PER_SEC, sampler_on_linger, sampler, &sampler->linger);
    if (r < 0)
        return r;
    *ret = steal(sampler);
    return 0;
}

sd_event *sampler_event(const struct sampler *sampler)
{
    return sampler->event;
}

struct sys *sampler_sys(const struct sampler *sampler)
{
    return sampler->sys;
}

size_t sampler_bytes_per_client(const struct sampler *sampler)
{
    const struct sampler_client *client;
    size_t n = 0;

    LIST_FOREACH (client, &sampler->clients, entry)
        n += !client->waits_for_end;
    return BYTES_OF_CLIENTS / MAX(n, 1);
}

bool sampler_is_full(const struct sampler *sampler)
{
    const struct sampler_client *client;
    size_t bytes = 0;

    LIST_FOREACH (client, &sampler->clients, entry)
        bytes += client->kept;
    return bytes >= BYTES_KEPT;
}

/*
 * At the end of its output, a client needs about as much additional memory as its writer holds. Enough memory for this
 * is reserved for the largest client.
 */
void sampler_limit_symbols(struct sampler *sampler)
{
    const struct sampler_client *client;
    size_t bytes = BYTES_FIXED + symbols_bytes(sampler->symbols) + cgroup_lookup_bytes(sampler->cgroups), largest = 0;

    LIST_FOREACH (client, &sampler->clients, entry) {
        bytes += client->kept + client->waiting;
        largest = MAX(largest, client->kept);
    }
    bytes += largest;
    symbols_set_room(sampler->symbols, bytes < sampler->config->memory ? sampler->config->memory - bytes : 0);
}

/* --- configuration --- */

/*
 * Returns whether the current configuration permits the client. `n_older` is the number of clients that joined before
 * this client.
 */
static bool is_allowed(const struct sampler *sampler, const struct sampler_client *client, size_t n_older)
{
    const struct config_sampler *config = sampler->config;

    return config->enabled && n_older < config->max_clients && client->seconds <= (double)config->max_seconds &&
           client->trust >= sampler->admits;
}

/* Returns whether the client's request would result in different options under the current configuration. */
static bool is_outdated(const struct sampler *sampler, const struct sampler_client *client)
{
    const struct config_sampler *old = &sampler->last, *new = sampler->config;
    bool event = old->event && !str_equal(old->event, new->event);
    bool rate = old->frequency != new->frequency || old->period != new->period;

    return (event && !client->own_event) || (rate && !client->own_rate) || old->callchain != new->callchain ||
           old->ring_pages != new->ring_pages;
}

/* If strdup(3) fails, the next change of the configured event is missed. */
static void keep_last(struct sampler *sampler)
{
    free(sampler->last.event);
    free(sampler->last.hindsight.event);
    sampler->last = *sampler->config;
    sampler->last.event = strdup(sampler->config->event);
    sampler->last.hindsight.event = sampler->hindsight ? strdup(sampler->config->hindsight.event) : NULL;
}

/* --- hindsight --- */

const char *sampler_no_hindsight(const struct sampler *sampler)
{
    return sampler->no_hindsight.message[0] ? sampler->no_hindsight.message : NULL;
}

static int need_symbols(struct sampler *sampler)
{
    if (sampler->symbols)
        return 0;
    int r = symbols_new(sampler->sys, sampler->event, &sampler->symbols);
    if (r == 0)
        symbols_set_child(sampler->symbols, sampler->symboliser);
    return r;
}

static int need_cgroups(struct sampler *sampler)
{
    if (sampler->cgroups)
        return 0;
    int r = cgroup_lookup_new(sampler->sys, &sampler->cgroups);
    if (r == 0)
        cgroup_lookup_set_namer(sampler->cgroups, sampler->namer, sampler->namer_userdata);
    return r;
}

void sampler_set_namer(struct sampler *sampler, cgroup_namer namer, void *userdata)
{
    sampler->namer = namer;
    sampler->namer_userdata = userdata;
}

static bool hindsight_is_outdated(const struct sampler *sampler)
{
    const struct config_hindsight *old = &sampler->last.hindsight, *new = &sampler->config->hindsight;

    return !sampler->config->enabled || !new->enabled || old->seconds != new->seconds ||
           old->frequency != new->frequency || old->memory != new->memory || !old->event ||
           !str_equal(old->event, new->event) || sampler->last.callchain != sampler->config->callchain;
}

static void configure_hindsight(struct sampler *sampler)
{
    struct error error;

    if (sampler->hindsight && hindsight_is_outdated(sampler))
        sampler->hindsight = hindsight_free(sampler->hindsight);
    sampler->no_hindsight.message[0] = '\0';
    if (sampler->hindsight || !sampler->config->hindsight.enabled)
        return;
    if (!sampler->config->enabled) {
        error_set(&sampler->no_hindsight, -EOPNOTSUPP, "no samples are kept, since sampler.enabled is false");
        return;
    }
    int r = need_symbols(sampler);
    if (r == 0)
        r = need_cgroups(sampler);
    if (r < 0)
        capture_refuse(r, &error);
    else
        r = hindsight_open(sampler->sys, sampler->event, sampler->machine, sampler->symbols, sampler->cgroups,
                           sampler->config, &sampler->hindsight, &error);
    if (r < 0)
        sampler->no_hindsight = error;
    else
        hindsight_pause(sampler->hindsight, sampler->paused);
}

/* If there are more clients than max_clients, the newest clients' streams are ended. */
void sampler_configure(struct sampler *sampler, const struct machine *machine, const struct config_sampler *config,
                       enum trust admits)
{
    size_t n_older = sampler->n_clients;

    sampler->machine = machine;
    sampler->config = config;
    sampler->admits = admits;
    for (struct sampler_client *client = LIST_FIRST(&sampler->clients), *next; client; client = next) {
        next = LIST_NEXT(client, entry);
        if (!is_allowed(sampler, client, --n_older) || is_outdated(sampler, client))
            client->end(client->userdata, "reload");
    }
    configure_hindsight(sampler);
    keep_last(sampler);
}

void sampler_cpus_changed(struct sampler *sampler, const struct machine *machine, const struct cpuset *went_offline)
{
    sampler->machine = machine;
    if (sampler->hindsight)
        hindsight_cpus_changed(sampler->hindsight, machine, went_offline);
    for (size_t i = 0; i < sampler->n_captures; i++)
        if (!capture_is_idle(sampler->captures[i]))
            capture_cpus_changed(sampler->captures[i], machine, went_offline);
}

int sampler_pause(struct sampler *sampler, bool paused)
{
    int r = sampler->hindsight ? hindsight_pause(sampler->hindsight, paused) : 0;

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
    for (struct sampler_client *client = LIST_FIRST(&sampler->clients), *next; client; client = next) {
        next = LIST_NEXT(client, entry);
        client->end(client->userdata, "shutdown");
    }
    return sampler->n_clients > 0;
}

bool sampler_is_ending(const struct sampler *sampler)
{
    return sampler->ending;
}

static int sampler_refuse(const struct sampler *sampler, struct error *error)
{
    if (sampler->admits == TRUST_LOCAL)
        return error_set(
            error, -EACCES,
            "samples are for operators and for clients on this machine that do not come through a proxy: ask "
            "from there, or with a password or certificate; \"sampler.allow: everybody\" gives them to "
            "all clients");
    return error_set(
        error, -EACCES,
        "samples are for operators: clients with a password or certificate (web.config_file), and clients of a unix "
        "socket that are root, the user of perfcountd or in the socket's group (curl --unix-socket); "
        "\"sampler.allow: local\" gives them to all clients on this machine, \"sampler.allow: everybody\" to all "
        "clients");
}

int sampler_admit(const struct sampler *sampler, enum trust trust, struct error *error)
{
    if (sampler->ending)
        return error_set(error, -EBUSY, "perfcountd is shutting down");
    if (!sampler->config->enabled)
        return error_set(
            error, -EOPNOTSUPP,
            "the sampler is not enabled: set sampler.enabled to true in the configuration, and restart perfcountd");
    return trust < sampler->admits ? sampler_refuse(sampler, error) : 0;
}

/* --- clients --- */

static int check_limits(const struct sampler *sampler, const struct record_request *request, struct error *error)
{
    const struct config_sampler *config = sampler->config;

    int r = sampler_admit(sampler, TRUST_OPERATOR, error);
    if (r < 0)
        return r;
    if (request->seconds > (double)config->max_seconds)
        return error_set(error, -EINVAL, "%g seconds are over the limit of %" PRIu64 ", sampler.max_seconds",
                         request->seconds, config->max_seconds);
    if (sampler->n_clients >= config->max_clients)
        return error_set(error, -EBUSY,
                         "too many clients already receive samples (sampler.max_clients is %zu); try again later",
                         sampler->n_clients);
    return 0;
}

static struct capture *find_capture(const struct sampler *sampler, const struct record_options *options)
{
    for (size_t i = 0; i < sampler->n_captures; i++)
        if (capture_is_alive(sampler->captures[i]) &&
            record_options_equal(capture_options(sampler->captures[i]), options))
            return sampler->captures[i];
    return NULL;
}

static bool close_tracking(struct sampler *sampler)
{
    bool any = false;

    for (size_t i = 0; i < sampler->n_captures; i++)
        any |= capture_close_tracking(sampler->captures[i]);
    return any;
}

/*
 * Opens a capture. If locked memory or descriptors run out, closes the tracking rings of all captures and tries again,
 * because sampled CPUs need these resources more than tracked CPUs.
 */
static int open_capture(struct sampler *sampler, struct record_options *options, struct capture **ret,
                        struct error *error)
{
    int r;

    do
        r = capture_open(sampler->sys, sampler->event, sampler->machine, sampler->symbols, &sampler->off_cpu, options,
                         ret, error);
    while ((r == -EPERM || r == -EMFILE) && close_tracking(sampler));
    if (r < 0)
        record_options_done(options);
    return r;
}

/*
 * Finds a running capture for the options, or opens a new capture. Takes ownership of the content of `options` even on
 * failure.
 */
static int get_capture(struct sampler *sampler, struct record_options *options, struct capture **ret,
                       struct error *error)
{
    struct capture *capture = find_capture(sampler, options);

    if (capture) {
        record_options_done(options);
        *ret = capture;
        return 0;
    }
    if (array_grow(&sampler->captures, sampler->n_captures) < 0) {
        record_options_done(options);
        return error_oom(error);
    }
    int r = open_capture(sampler, options, &capture, error);
    if (r < 0)
        return r;
    r = capture_pause(capture, sampler->paused);
    if (r < 0) {
        capture_free(capture);
        return capture_refuse(r, error);
    }
    sampler->captures[sampler->n_captures++] = capture;
    *ret = capture;
    return 0;
}

/*
 * Finds the paths of the cgroups that a request selects by a pattern or by names. The result is zeroed if the request
 * has neither patterns nor names.
 */
struct wanted {
    char **paths;
    size_t n;
};

static void wanted_done(struct wanted *wanted)
{
    strings_free(wanted->paths, wanted->n);
}

static int find_wanted(struct sampler *sampler, const struct record_request *request, struct wanted *ret,
                       struct error *error)
{
    struct cgroup_selector selector;

    bool past = request->last > 0, selects = record_request_selects_cgroups(request, &selector);
    if (!selects && past && request->cgroup && cgroup_lookup_knows(sampler->cgroups, request->cgroup)) {
        /* the cgroup may have been removed or created since the last scan */
        selector = (struct cgroup_selector){.cgroup = request->cgroup};
        selects = true;
    }
    if (!selects)
        return 0;
    if (request->pid)
        return error_set(error, -EINVAL, "pid and cgroup names exclude each other");
    int r = cgroup_lookup_find(sampler->cgroups, &selector, past, &ret->paths, &ret->n, error);
    /*
     * A perf event can only be opened for one cgroup. Past samples and off-CPU samples cover all cgroups, and are
     * filtered by cgroup afterwards.
     */
    if (r == 0 && ret->n > 1 && !past && !record_request_is_off_cpu(request))
        r = cgroup_selector_refuse_several(&selector, ret->paths, ret->n, error);
    return r;
}

/* Opens a separate capture for a client that asks for past samples. */
static int join_past(struct sampler *sampler, const struct record_request *request, const struct wanted *wanted,
                     struct capture **ret, struct error *error)
{
    if (sampler_no_hindsight(sampler))
        return error_set(error, -EOPNOTSUPP, "parameter \"last\": sampler.hindsight cannot sample: %s",
                         sampler_no_hindsight(sampler));
    if (!sampler->hindsight)
        return error_set(error, -EOPNOTSUPP,
                         "parameter \"last\": to keep samples, set \"hindsight: {enabled: true}\" under sampler in the "
                         "configuration, and restart perfcountd");
    if (array_grow(&sampler->captures, sampler->n_captures) < 0)
        return error_oom(error);
    int r = hindsight_look_back(sampler->hindsight, sampler->machine, request, wanted->paths, wanted->n, ret, error);
    if (r == 0)
        sampler->captures[sampler->n_captures++] = *ret;
    return r;
}

static int join_live(struct sampler *sampler, const struct record_request *request, const struct wanted *wanted,
                     struct capture **ret, struct error *error)
{
    struct record_options options;
    struct record_request found = *request; /* a shallow copy of the request: its strings are borrowed */

    if (wanted->n)
        found.cgroup = record_request_is_off_cpu(request) ? NULL : wanted->paths[0];
    int r = record_options_make(sampler->sys, sampler->machine, sampler->config, &found, &options, error);
    if (r < 0)
        return r;
    if (options.off_cpu)
        r = record_options_choose_cgroups(&options, sampler->sys, sampler->cgroups, wanted->paths, wanted->n,
                                          "the event off-cpu", error);
    if (r == 0 && need_symbols(sampler) < 0)
        r = error_oom(error);
    if (r < 0) {
        record_options_done(&options);
        return r;
    }
    return get_capture(sampler, &options, ret, error);
}

int sampler_join(struct sampler *sampler, const struct record_request *request, double seconds,
                 struct sampler_client *client, struct error *error)
{
    double limit = (double)sampler->config->max_seconds;
    bool past = request->last > 0;
    _cleanup_(wanted_done) struct wanted wanted = {0};
    struct capture *capture = NULL;

    int r = check_limits(sampler, request, error);
    if (r == 0 && need_cgroups(sampler) < 0)
        r = error_oom(error);
    if (r == 0)
        r = find_wanted(sampler, request, &wanted, error);
    if (r == 0)
        r = (past ? join_past : join_live)(sampler, request, &wanted, &capture, error);
    if (r < 0)
        return r;
    seconds = past ? request->last : request->seconds > 0 ? request->seconds : seconds;
    client->seconds = seconds > 0 ? MIN(seconds, limit) : limit;
    client->own_event = request->event || past;
    client->own_rate = request->frequency || request->period || past || record_request_is_off_cpu(request);
    client->trust = request->trust;
    client->capture = capture;
    client->symbols = sampler->symbols;
    client->cgroups = sampler->cgroups;
    LIST_INSERT_HEAD(&sampler->clients, client, entry);
    sampler->n_clients++;
    return 0;
}

void sampler_release_capture(struct sampler *sampler, struct sampler_client *client)
{
    client->capture = NULL;
    sd_event_source_set_enabled(sampler->sweep, SD_EVENT_ONESHOT);
}

void sampler_leave(struct sampler *sampler, struct sampler_client *client)
{
    LIST_REMOVE(client, entry);
    sampler->n_clients--;
    sampler_release_capture(sampler, client);
    if (sampler->ending && sampler->n_clients == 0)
        sampler->ended(sampler->ended_userdata);
}
