/* SPDX-License-Identifier: Apache-2.0 */
/* One request: see request.h. */
#include "http/request.h"

#include <limits.h>
#include <unistd.h>

#include "base/number.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "http/api/events-document.h"
#include "http/api/feed.h"
#include "http/api/rates-wait.h"
#include "http/auth/auth.h"
#include "http/auth/refusal-delay.h"
#include "http/compression.h"
#include "http/framing.h"
#include "http/percent.h"
#include "http/reply.h"

/* A body up to here is read and thrown away: some clients send one without need. */
#define BODY_MAX 1024

void request_begin(struct request *request, struct site *site, struct MHD_Connection *mhd, const struct peer *peer,
                   const char *uri)
{
    request_end(request);
    *request = (struct request){.site = site, .mhd = mhd, .peer = peer, .bad_encoding = !percent_valid(uri)};
}

void request_end(struct request *request)
{
    check_free(request->check);
    refusal_delay_free(request->penalty);
    rates_wait_free(request->wait);
    compression_leave(request);
    events_document_leave(request);
    feed_free(request->feed);
    if (request->response && !request->borrowed)
        MHD_destroy_response(request->response);
    *request = (struct request){0};
}

static enum MHD_Result on_framing(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct framing *framing = userdata;

    (void)kind;
    framing_header(framing, name, value);
    return MHD_YES;
}

bool request_refuse_framing(struct request *request, const char *version)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct framing framing;

    framing_begin(&framing, size ? version : NULL);
    MHD_get_connection_values(request->mhd, MHD_HEADER_KIND, on_framing, &framing);
    /* The method is where the head begins. */
    framing_end(&framing, size ? request->method + size->header_size : NULL);
    if (framing.what)
        reply_error(request, MHD_HTTP_BAD_REQUEST, "the headers are ambiguous: %s", framing.what);
    return framing.what != NULL;
}

bool request_refuse_body(struct request *request)
{
    const char *length = request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t size = 0;

    if (length && number_parse_u64(length, &size) < 0)
        size = UINT64_MAX;
    if (size <= BODY_MAX && !request_header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        return false;
    reply_error(request, MHD_HTTP_CONTENT_TOO_LARGE, "a request needs no body here, and at most %d bytes are taken",
                BODY_MAX);
    return true;
}

enum MHD_Result request_queue(struct request *request)
{
    if (!request->response)
        return MHD_NO;
    enum MHD_Result result = MHD_queue_response(request->mhd, request->status, request->response);
    if (!request->borrowed)
        MHD_destroy_response(request->response);
    request->response = NULL;
    return result;
}

bool request_waits(const struct request *request)
{
    return request->check || request->penalty || request->wait || request->packing || request->edition ||
           feed_is_suspended(request->feed);
}

/* Inside a foreign event loop, libmicrohttpd does not make itself heard after a resumption. */
void request_resume(struct request *request)
{
    MHD_resume_connection(request->mhd);
    request->wake(request->wake_userdata);
}

bool request_is_api(const struct request *request)
{
    return request->path && str_starts(request->path, "/api/");
}

static enum MHD_Result on_claim(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    standing_claim(userdata, name, value ? value : "");
    return MHD_YES;
}

/* Where passwords are asked for, a client that has come here has a right one. */
bool request_is_authenticated(const struct request *request)
{
    return request->verdict == VERDICT_RIGHT || request->certified;
}

enum standing request_standing(struct request *request)
{
    const struct trust *trust = &request->site->trust;
    char machine[HOST_NAME_MAX + 1] = "";
    struct host_names names = {.machine = machine, .others = trust->hosts, .n_others = trust->n_hosts};
    struct standing_claims claims = {0};

    if (gethostname(machine, sizeof(machine) - 1) < 0)
        machine[0] = '\0';
    MHD_get_connection_values(request->mhd, MHD_HEADER_KIND, on_claim, &claims);
    return standing_of(request_is_authenticated(request), request->peer, &claims, &names);
}

const char *request_header(struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND, name);
}

struct parameters {
    const char *const *known;
    take_parameter take;
    void *userdata;
    struct error *error;
    int result;
};

static int unknown_parameter(const struct parameters *parameters, const char *name)
{
    struct suggest suggest = {.wrong = name};
    char text[256];

    for (size_t i = 0; parameters->known && parameters->known[i]; i++)
        suggest_consider(&suggest, parameters->known[i]);
    return error_set(parameters->error, -EINVAL, "unknown parameter \"%.64s\"%s", name,
                     suggest_format(&suggest, text, sizeof(text)));
}

static bool is_known(const struct parameters *parameters, const char *name)
{
    for (size_t i = 0; parameters->known && parameters->known[i]; i++)
        if (str_equal(parameters->known[i], name))
            return true;
    return false;
}

static enum MHD_Result on_parameter(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct parameters *parameters = userdata;

    (void)kind;
    value = value ? value : "";
    if (utf8_valid_prefix(name, strlen(name)) < strlen(name) || utf8_valid_prefix(value, strlen(value)) < strlen(value))
        parameters->result = error_set(parameters->error, -EINVAL, "parameter \"%.64s\" is not UTF-8", name);
    else if (!is_known(parameters, name))
        parameters->result = unknown_parameter(parameters, name);
    else
        parameters->result =
            parameters->take ? parameters->take(parameters->userdata, name, value, parameters->error) : 0;
    return parameters->result < 0 ? MHD_NO : MHD_YES;
}

int request_parameters(struct request *request, const char *const *known, take_parameter take, void *userdata,
                       struct error *error)
{
    struct parameters parameters = {.known = known, .take = take, .userdata = userdata, .error = error};

    MHD_get_connection_values(request->mhd, MHD_GET_ARGUMENT_KIND, on_parameter, &parameters);
    return parameters.result;
}

struct negotiation {
    struct offer *offers;
    size_t n;
    bool accept;
    struct codings codings;
};

static enum MHD_Result on_header(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct negotiation *negotiation = userdata;

    (void)kind;
    if (!value || !*value)
        return MHD_YES;
    if (strcasecmp(name, MHD_HTTP_HEADER_ACCEPT) == 0) {
        negotiation->accept = true;
        for (size_t i = 0; i < negotiation->n; i++)
            offer_consider(&negotiation->offers[i], value);
    } else if (strcasecmp(name, MHD_HTTP_HEADER_ACCEPT_ENCODING) == 0) {
        codings_consider(&negotiation->codings, value);
    }
    return MHD_YES;
}

bool request_negotiate(struct request *request, struct offer *offers, size_t n)
{
    struct negotiation negotiation = {.offers = offers, .n = n, .codings = CODINGS_NONE};

    MHD_get_connection_values(request->mhd, MHD_HEADER_KIND, on_header, &negotiation);
    for (size_t i = 0; i < n && !negotiation.accept; i++)
        offers[i].quality = QUALITY_MAX;
    return codings_want_gzip(&negotiation.codings);
}
