/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics under the telemetry path, and the documents under /api/v1/. */
#include "base/cleanup.h"
#include "base/number.h"
#include "http/content.h"
#include "http/handlers.h"
#include "http/rates-wait.h"
#include "http/reply.h"

struct question {
    struct rates_question rates; /* its filter alone where the counters are asked for */
    const char *const *names;
};

static void question_done(struct question *question)
{
    filter_done(&question->rates.filter);
}

static int take_totals(struct rates_question *question, const char *value, struct error *error)
{
    if (!str_equal(value, "pmu"))
        return error_set(error, -EINVAL, "parameter \"totals\": expected \"pmu\", found \"%.64s\"", value);
    question->totals = true;
    return 0;
}

static int question_take(void *userdata, const char *name, const char *value, struct error *error)
{
    struct question *question = userdata;
    double seconds;

    int r = order_add(&question->rates.order, name, value, error);
    if (r != -ENOENT)
        return r;
    if (str_equal(name, "totals"))
        return take_totals(&question->rates, value, error);
    if (!str_equal(name, "seconds"))
        return filter_add(&question->rates.filter, question->names, name, value, error);
    if (number_parse_double(value, &seconds) < 0 || seconds < RATES_SECONDS_MIN || seconds > RATES_SECONDS_MAX)
        return error_set(error, -EINVAL, "parameter \"seconds\": expected a number from %g to %g, found \"%.64s\"",
                         RATES_SECONDS_MIN, RATES_SECONDS_MAX, value);
    question->rates.seconds = seconds;
    return 0;
}

/* Fills the question from the query; false with an error as the reply. */
static bool question_ask(struct request *request, const struct route *route, struct question *question)
{
    const struct service *service = request->site->service;
    struct error error;

    question->names = service->read(service->userdata, 0, false)->collector_names;
    int r = request_parameters(request, route->parameters, question_take, question, &error);
    if (r < 0)
        reply_wrong(request, r, &error);
    return r == 0;
}

/* OpenMetrics where the client prefers it by q-value or, at the same value, names it more exactly; else text. */
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

static struct response_key counters_negotiate(struct request *request, const struct route *route)
{
    struct response_key key = {.format = COUNTERS_JSON};

    if (route->json)
        key.gzip = request_negotiate(request, NULL, 0);
    else
        key.format = exposition_negotiate(request, &key.gzip);
    return key;
}

void handle_counters(struct request *request, const struct route *route)
{
    const struct service *service = request->site->service;
    _cleanup_(question_done) struct question question = {0};
    _cleanup_(buffer_done) struct buffer content = {0};
    struct error error;

    if (!question_ask(request, route, &question))
        return;
    struct response_key key = counters_negotiate(request, route);
    key.mask = filter_mask(&question.rates.filter);
    const struct counter_format *format = &counter_formats[key.format];
    const struct response_key *shared = filter_is_mask(&question.rates.filter) ? &key : NULL;
    const struct snapshot *snapshot = service->read(service->userdata, key.mask, false);
    if (shared && content_find(request, snapshot, shared))
        return;
    int r = filter_check(&question.rates.filter, snapshot, &error);
    if (r < 0)
        reply_wrong(request, r, &error);
    else if (format->write(&content, snapshot, &question.rates.filter) == 0)
        content_reply(request, &content, format->content_type, key.gzip, snapshot, shared);
}

void handle_rates(struct request *request, const struct route *route)
{
    _cleanup_(question_done) struct question question = {.rates.seconds = 1};

    if (question_ask(request, route, &question))
        rates_wait_start(request, &question.rates, request_negotiate(request, NULL, 0));
}

void handle_document(struct request *request, const struct route *route)
{
    const struct service *service = request->site->service;
    bool gzip = request_negotiate(request, NULL, 0);

    content_reply_json(request, service->document(service->userdata, route->document), gzip);
}
