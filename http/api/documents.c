/* SPDX-License-Identifier: Apache-2.0 */
/* The documents under /api/v1/. */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "formats/counters.h"
#include "http/api/handlers.h"
#include "http/api/rates-wait.h"
#include "http/content.h"
#include "http/reply.h"

struct question {
    struct filter filter;
    struct order order;
    double seconds;
    const char *const *names;
};

static void question_done(struct question *question)
{
    filter_done(&question->filter);
}

static int question_take(void *userdata, const char *name, const char *value, struct error *error)
{
    struct question *question = userdata;
    double seconds;

    int r = order_add(&question->order, name, value, error);
    if (r != -ENOENT)
        return r;
    if (!str_equal(name, "seconds"))
        return filter_add(&question->filter, question->names, name, value, error);
    if (number_parse_double(value, &seconds) < 0 || seconds < RATES_SECONDS_MIN || seconds > RATES_SECONDS_MAX)
        return error_set(error, -EINVAL, "parameter \"seconds\": expected a number from %g to %g, found \"%.64s\"",
                         RATES_SECONDS_MIN, RATES_SECONDS_MAX, value);
    question->seconds = seconds;
    return 0;
}

/* Fills the question from the query; false with an error as the reply. */
static bool question_ask(struct request *request, const struct route *route, struct question *question)
{
    const struct service *service = request->site->service;
    struct error error;

    question->names = service->read(service->userdata, 0, false)->collector_names;
    if (request_parameters(request, route->parameters, question_take, question, &error) == 0)
        return true;
    reply_error(request, MHD_HTTP_BAD_REQUEST, "%s", error.message);
    return false;
}

static int write_counters(struct buffer *content, const struct snapshot *snapshot, const struct filter *filter)
{
    char hostname[256] = "";

    gethostname(hostname, sizeof(hostname) - 1);
    return counters_write(content, snapshot, filter, hostname);
}

void handle_counters(struct request *request, const struct route *route)
{
    const struct service *service = request->site->service;
    _cleanup_(question_done) struct question question = {0};
    _cleanup_(buffer_done) struct buffer content = {0};

    if (!question_ask(request, route, &question))
        return;
    uint32_t mask = filter_mask(&question.filter);
    const struct response_key form = {
        .format = RESPONSE_COUNTERS, .gzip = request_negotiate(request, NULL, 0), .mask = mask};
    const struct response_key *key = filter_is_mask(&question.filter) ? &form : NULL;
    const struct snapshot *snapshot = service->read(service->userdata, mask, false);
    if (key && content_find(request, snapshot, key))
        return;
    if (write_counters(&content, snapshot, &question.filter) == 0)
        content_reply(request, &content, TYPE_JSON, form.gzip, snapshot, key);
}

void handle_rates(struct request *request, const struct route *route)
{
    _cleanup_(question_done) struct question question = {.seconds = 1};

    if (question_ask(request, route, &question))
        rates_wait_start(request, &question.filter, &question.order, question.seconds,
                         request_negotiate(request, NULL, 0));
}

void handle_document(struct request *request, const struct route *route)
{
    const struct service *service = request->site->service;
    bool gzip = request_negotiate(request, NULL, 0);

    content_reply_json(request, service->document(service->userdata, route->document), gzip);
}
