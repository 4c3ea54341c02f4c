/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers for the documents of the API. /api/v1/rates takes a first reading, suspends the connection for the requested
 * time without blocking other connections, and takes a second reading.
 */
#include "http/handlers.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/number.h"
#include "base/timer.h"
#include "formats/counters.h"
#include "formats/history-json.h"
#include "formats/query.h"
#include "http/auth.h"
#include "http/reply.h"

#define RATES_NS_MIN (50 * NSEC_PER_MSEC)
#define RATES_NS_MAX (60 * NSEC_PER_SEC)

/*
 * The parameters of a request for counters or rates, with strings borrowed from the request. Requests for counters only
 * use the filter.
 */
struct question {
    struct filter filter;
    struct order order;
    uint64_t wait_ns;                 /* time between the two readings, for rates */
    const struct totals_kind *totals; /* NULL for a reply without sums */
};

/* --- rates --- */

/*
 * Maximum numbers of waiting requests for rates, in total and per address. Each waiting request holds a copy of all
 * counters. All unix socket clients count as one address, which may have half of the total.
 */
#define WAITS_MAX 64
#define WAITS_PER_ADDRESS_MAX 16

struct rates_wait {
    struct request *request;
    struct peer_count *count;
    struct baseline *baseline;
    struct question question;
    bool gzip;
    sd_event_source *timer;
    LIST_ENTRY(rates_wait) entry; /* in site->rates */
};

static struct rates_wait *rates_wait_free(struct rates_wait *wait)
{
    if (!wait)
        return NULL;
    if (wait->count) {
        peer_counts_remove(&wait->request->site->rates_waits, wait->count);
        LIST_REMOVE(wait, entry);
    }
    sd_event_source_disable_unref(wait->timer);
    baseline_free(wait->baseline);
    filter_done(&wait->question.filter);
    free(wait);
    return NULL;
}
DEFINE_CLEANUP(struct rates_wait *, rates_wait_free);

static void rates_wait_cancel(struct request *request)
{
    rates_wait_free(request->suspension.userdata);
}

static int rates_wait_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    _cleanup_(rates_wait_freep) struct rates_wait *wait = userdata;
    _cleanup_(buffer_done) struct buffer content = {0};
    struct request *request = wait->request;
    const struct question *question = &wait->question;
    const struct service *service = request->site->service;

    (void)source;
    (void)usec;
    request_on_end(request, NULL, NULL);
    const struct snapshot *snapshot = service->read(service->userdata, filter_mask(&question->filter), true);
    if (rates_json_write(&content, wait->baseline, snapshot, &question->filter, &question->order, question->totals,
                         false) == 0)
        content_reply(request, &content, TYPE_JSON, wait->gzip, NULL, NULL);
    /* While the reply is being compressed, the request stays suspended, and is resumed later. */
    if (!request->suspension.cancel)
        request_resume(request);
    return 0;
}

static struct rates_wait *rates_wait_new(struct request *request, struct question *question, bool gzip)
{
    _cleanup_(rates_wait_freep) struct rates_wait *wait = calloc(1, sizeof(*wait));

    if (!wait)
        return NULL;
    *wait = (struct rates_wait){.request = request, .gzip = gzip};
    wait->count = peer_counts_add(&request->site->rates_waits, request->peer);
    if (!wait->count)
        return NULL;
    LIST_INSERT_HEAD(&request->site->rates, wait, entry);
    wait->question = *question;
    question->filter = (struct filter){0};
    return steal(wait);
}

void rates_waits_hurry(struct site *site)
{
    struct rates_wait *wait;

    LIST_FOREACH (wait, &site->rates, entry)
        timer_arm_in(wait->timer, 0);
}

/*
 * Includes clients that have disconnected in the meantime, because libmicrohttpd does not watch suspended connections.
 */
static bool rates_wait_has_room(const struct request *request)
{
    return peer_counts_have_room(&request->site->rates_waits, request->peer, WAITS_MAX, WAITS_PER_ADDRESS_MAX);
}

/*
 * Starts the wait for the second reading, and takes ownership of the filter. On return, the request is suspended or has
 * an error reply.
 */
static void rates_wait_start(struct request *request, struct question *question, bool gzip)
{
    struct site *site = request->site;
    const struct service *service = site->service;
    struct error error;

    if (!rates_wait_has_room(request)) {
        reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                    "too many clients are waiting for rates, in total or from this address; try again");
        return;
    }
    _cleanup_(rates_wait_freep) struct rates_wait *wait = rates_wait_new(request, question, gzip);
    if (!wait)
        return;
    const struct filter *filter = &wait->question.filter;
    const struct snapshot *snapshot = service->read(service->userdata, filter_mask(filter), true);
    int r = filter_check(filter, snapshot, &error);
    if (r == 0)
        r = order_check(&wait->question.order, filter, snapshot, &error);
    if (r < 0) {
        reply_wrong(request, r, &error);
        return;
    }
    wait->baseline = baseline_new(snapshot);
    uint64_t usec = wait->question.wait_ns / 1000;
    if (!wait->baseline || timer_start(site->event, usec, 1, rates_wait_on_timer, wait, &wait->timer) < 0)
        return;
    request_suspend(request, rates_wait_cancel, steal(wait));
}

/* --- documents --- */

static void question_done(struct question *question)
{
    filter_done(&question->filter);
}

static int take_totals(struct question *question, const char *value, struct error *error)
{
    question->totals = totals_kind_find(value, error);
    return question->totals ? 0 : -EINVAL;
}

static int take_seconds(struct question *question, const char *value, struct error *error)
{
    uint64_t ns = 0;

    if (number_parse_seconds(value, &ns) < 0 || ns < RATES_NS_MIN || ns > RATES_NS_MAX)
        return error_set(
            error, -EINVAL,
            "parameter \"seconds\": expected seconds from 0.05 to 60, or a duration from 50ms to 1m, found "
            "\"%.64s\"",
            value);
    question->wait_ns = ns;
    return 0;
}

static int question_take(struct question *question, const char *const *collector_names,
                         const struct query_parameter *parameter, struct error *error)
{
    const char *name = parameter->name, *value = parameter->value;

    int r = order_add(&question->order, name, value, error);
    if (r != -ENOENT)
        return r;
    if (str_equal(name, "totals"))
        return take_totals(question, value, error);
    if (str_equal(name, "seconds"))
        return take_seconds(question, value, error);
    return filter_add(&question->filter, collector_names, name, value, error);
}

/* Fills in the question from the URL's query. Returns false on failure, after setting an error reply. */
static bool question_ask(struct request *request, struct question *question)
{
    const struct service *service = request->site->service;
    struct error error;
    int r = 0;

    if (request->n_parameters == 0)
        return true;
    const char *const *names = service->read(service->userdata, 0, false)->collector_names;
    for (size_t i = 0; i < request->n_parameters && r == 0; i++)
        r = question_take(question, names, &request->parameters[i], &error);
    if (r < 0)
        reply_wrong(request, r, &error);
    return r == 0;
}

/*
 * Chooses OpenMetrics if the client gives it a higher q-value than the text format, or the same q-value but names it
 * more specifically, and otherwise the text format.
 */
static enum counter_format_kind exposition_negotiate(struct request *request, bool *ret_gzip)
{
    struct offer offers[] = {
        [COUNTERS_TEXT] = {.type = "text", .subtype = "plain", .version = "0.0.4"},
        [COUNTERS_OPENMETRICS] = {.type = "application", .subtype = "openmetrics-text", .version = "1.0.0"},
    };
    const struct offer *text = &offers[COUNTERS_TEXT], *openmetrics = &offers[COUNTERS_OPENMETRICS];

    *ret_gzip = request_negotiate(request, offers, ARRAY_SIZE(offers));
    if (openmetrics->quality != text->quality)
        return openmetrics->quality > text->quality ? COUNTERS_OPENMETRICS : COUNTERS_TEXT;
    return openmetrics->quality && openmetrics->specificity > text->specificity ? COUNTERS_OPENMETRICS : COUNTERS_TEXT;
}

static struct response_key counters_negotiate(struct request *request)
{
    struct response_key key = {.format = COUNTERS_JSON};

    if (request->route->json)
        key.gzip = request_negotiate(request, NULL, 0);
    else
        key.format = exposition_negotiate(request, &key.gzip);
    return key;
}

void handle_counters(struct request *request)
{
    const struct service *service = request->site->service;
    _cleanup_(question_done) struct question question = {0};
    _cleanup_(buffer_done) struct buffer content = {0};
    struct error error;

    if (!question_ask(request, &question))
        return;
    struct response_key key = counters_negotiate(request);
    key.mask = filter_mask(&question.filter);
    const struct counter_format *format = &counter_formats[key.format];
    const struct response_key *shared = filter_is_mask(&question.filter) ? &key : NULL;
    const struct snapshot *snapshot = service->read(service->userdata, key.mask, false);
    if (shared && content_find(request, snapshot, shared))
        return;
    int r = filter_check(&question.filter, snapshot, &error);
    if (r < 0)
        reply_wrong(request, r, &error);
    else if (format->write(&content, snapshot, &question.filter) == 0)
        content_reply(request, &content, format->content_type, key.gzip, snapshot, shared);
}

void handle_rates(struct request *request)
{
    _cleanup_(question_done) struct question question = {.wait_ns = NSEC_PER_SEC};

    if (question_ask(request, &question))
        rates_wait_start(request, &question, request_negotiate(request, NULL, 0));
}

void handle_history(struct request *request)
{
    const struct service *service = request->site->service;
    const struct histories *histories = service->histories ? service->histories(service->userdata) : NULL;
    const char *const *names = service->read(service->userdata, 0, false)->collector_names;
    _cleanup_(history_question_done) struct history_question question = {0};
    _cleanup_(buffer_done) struct buffer content = {0};
    struct error error = {0};
    int r = 0;

    if (!histories) {
        reply_error(request, MHD_HTTP_NOT_FOUND, "nothing is recorded: set history.enabled in the configuration");
        return;
    }
    for (size_t i = 0; i < request->n_parameters && r == 0; i++)
        r = history_question_add(&question, names, request->parameters[i].name, request->parameters[i].value, &error);
    const struct snapshot *snapshot = service->read(service->userdata, UINT32_MAX, false);
    if (r == 0)
        r = filter_check(&question.filter, snapshot, &error);
    if (r == 0)
        r = order_check(&question.order, &question.filter, snapshot, &error);
    if (r == 0)
        r = history_json_write(&content, histories, &question, snapshot, &error);
    if (r < 0)
        reply_wrong(request, r, &error);
    else
        content_reply(request, &content, TYPE_JSON, request_negotiate(request, NULL, 0), NULL, NULL);
}

void handle_document(struct request *request)
{
    const struct service *service = request->site->service;
    bool gzip = request_negotiate(request, NULL, 0);

    content_reply_json(request, service->document(service->userdata, request->route->document), gzip);
}

/* --- control --- */

#define PAUSE_SECONDS 60 /* default duration of a pause */
#define PAUSE_SECONDS_MAX 3600

void handle_healthy(struct request *request)
{
    reply_text(request, MHD_HTTP_OK, "healthy");
}

void handle_ready(struct request *request)
{
    const struct service *service = request->site->service;

    if (service->ready(service->userdata))
        reply_text(request, MHD_HTTP_OK, "ready");
    else
        reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "not ready: there has been no reading yet");
}

/* Returns 400 for an invalid configuration, which the client has to fix; other errors may be temporary. */
static unsigned reload_status(int error)
{
    return error == -ENOMEM      ? MHD_HTTP_INTERNAL_SERVER_ERROR
           : error == -ETIMEDOUT ? MHD_HTTP_SERVICE_UNAVAILABLE
                                 : MHD_HTTP_BAD_REQUEST;
}

void handle_reload(struct request *request)
{
    const struct service *service = request->site->service;
    struct error error;

    int r = service->reload(service->userdata, &error);
    if (r < 0)
        reply_error(request, reload_status(r), "%s", error.message);
    else
        reply_text(request, MHD_HTTP_OK, "reloaded");
}

/* Replies with the state of the pause and, if this client may not pause or reload, with the reason. */
void handle_paused(struct request *request)
{
    const struct service *service = request->site->service;
    struct service_pause pause = service->paused(service->userdata);
    const char *refusal = refusal_sentence(request, true);
    json_t *document =
        pause.paused ? json_pack("{s:b, s:i, s:f}", "paused", true, "seconds", (int)pause.seconds, "until", pause.until)
                     : json_pack("{s:b}", "paused", false);

    if (document && refusal)
        document = json_object_add(document, "refusal", json_string(refusal));
    content_reply_json(request, document, false);
}

static int pause_seconds(const struct request *request, uint64_t *ret, struct error *error)
{
    *ret = PAUSE_SECONDS;
    for (size_t i = 0; i < request->n_parameters; i++) {
        const struct query_parameter *parameter = &request->parameters[i];
        uint64_t ns = 0;
        if (number_parse_seconds(parameter->value, &ns) < 0 || ns % NSEC_PER_SEC || ns < NSEC_PER_SEC ||
            ns > PAUSE_SECONDS_MAX * NSEC_PER_SEC)
            return error_set(error, -EINVAL,
                             "parameter \"%s\": expected whole seconds from 1 to %d, or a duration such as 5m, found "
                             "\"%.64s\"",
                             parameter->name, PAUSE_SECONDS_MAX, parameter->value);
        *ret = ns / NSEC_PER_SEC;
    }
    return 0;
}

static void set_pause(struct request *request, unsigned seconds)
{
    const struct service *service = request->site->service;
    struct error error;

    if (service->pause(service->userdata, seconds, &error) < 0)
        reply_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "%s", error.message);
    else
        handle_paused(request);
}

/*
 * Returns whether the request has a body. Requests for a pause must not have a body, because a parameter `seconds` in
 * the body would be ignored in favour of the default.
 */
static bool has_body(struct request *request)
{
    const char *length = request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);

    return length && !str_equal(length, "0");
}

void handle_pause(struct request *request)
{
    uint64_t seconds;
    struct error error;
    int r;

    if (has_body(request))
        reply_error(request, MHD_HTTP_BAD_REQUEST,
                    "the parameter \"seconds\" is taken from the URL, as in %s?seconds=60, and not from a body",
                    request->path);
    else if ((r = pause_seconds(request, &seconds, &error)) < 0)
        reply_wrong(request, r, &error);
    else
        set_pause(request, (unsigned)seconds);
}

void handle_resume(struct request *request)
{
    set_pause(request, 0);
}
