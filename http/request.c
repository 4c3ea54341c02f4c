/* SPDX-License-Identifier: Apache-2.0 */
/* One request: see request.h. */
#include "http/request.h"

#include <ctype.h>
#include <limits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/unknown.h"
#include "base/utf8.h"

/* libmicrohttpd lets everything pass. */
bool request_uri_is_valid(const char *uri)
{
    while ((uri = strchr(uri, '%'))) {
        if (!isxdigit((unsigned char)uri[1]) || !isxdigit((unsigned char)uri[2]))
            return false;
        if (uri[1] == '0' && uri[2] == '0')
            return false;
        uri += 3;
    }
    return true;
}

void request_begin(struct request *request, struct site *site, struct MHD_Connection *mhd, const struct peer *peer,
                   const char *uri)
{
    request_end(request);
    *request = (struct request){.site = site, .mhd = mhd, .peer = peer, .bad_encoding = !request_uri_is_valid(uri)};
}

void request_end(struct request *request)
{
    if (request->suspension.cancel)
        request->suspension.cancel(request);
    if (request->response && !request->borrowed)
        MHD_destroy_response(request->response);
    *request = (struct request){0};
}

void request_on_end(struct request *request, void (*cancel)(struct request *request), void *userdata)
{
    request->suspension.cancel = cancel;
    request->suspension.userdata = userdata;
    request->suspension.cut_short = NULL;
}

void request_suspend(struct request *request, void (*cancel)(struct request *request), void *userdata)
{
    request_on_end(request, cancel, userdata);
    if (!request->suspension.active)
        MHD_suspend_connection(request->mhd);
    request->suspension.active = true;
}

static void request_leave_list(struct request *request)
{
    LIST_REMOVE(request, suspension.entry);
}

void request_suspend_in(struct request *request, struct waiting_requests *list)
{
    request_suspend(request, request_leave_list, NULL);
    LIST_INSERT_HEAD(list, request, suspension.entry);
}

struct request *waiting_requests_take(struct waiting_requests *list)
{
    struct request *request = LIST_FIRST(list);

    if (request) {
        request_leave_list(request);
        request_on_end(request, NULL, NULL);
    }
    return request;
}

/* Inside a foreign event loop, libmicrohttpd does not make itself heard after a resumption. */
void request_resume(struct request *request)
{
    request->suspension = (struct suspension){0};
    MHD_resume_connection(request->mhd);
    request->wake(request->wake_userdata);
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

bool request_is_api(const struct request *request)
{
    return request->path && str_starts(request->path, "/api/");
}

static enum MHD_Result request_on_claim(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    standing_claim(userdata, name, value ? value : "");
    return MHD_YES;
}

bool request_is_authenticated(const struct request *request)
{
    return request->verdict == VERDICT_RIGHT || request->certified;
}

enum standing request_standing(struct request *request)
{
    const struct standing_rules *rules = &request->site->standing_rules;
    char machine[HOST_NAME_MAX + 1] = "";
    struct host_names names = {.machine = machine, .others = rules->hosts, .n_others = rules->n_hosts};
    struct standing_claims claims = {0};

    if (gethostname(machine, sizeof(machine) - 1) < 0)
        machine[0] = '\0';
    MHD_get_connection_values(request->mhd, MHD_HEADER_KIND, request_on_claim, &claims);
    return standing_of(request_is_authenticated(request), request->peer, &claims, &names);
}

const char *request_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND, name);
}

struct query {
    const char *const *known;
    take_parameter take;
    void *userdata;
    struct error *error;
    int result;
};

static int query_refuse_unknown(const struct query *query, const char *name)
{
    _cleanup_(unknown_done) struct unknown unknown = {.suggest.wrong = name};

    if (!query->known)
        return error_set(query->error, -EINVAL, "unknown parameter \"%.64s\"; there are none here", name);
    for (size_t i = 0; query->known[i]; i++)
        unknown_consider(&unknown, query->known[i]);
    return unknown_error(&unknown, query->error, "unknown parameter \"%.64s\"", name);
}

static bool query_takes(const struct query *query, const char *name)
{
    for (size_t i = 0; query->known && query->known[i]; i++)
        if (str_equal(query->known[i], name))
            return true;
    return false;
}

static enum MHD_Result on_parameter(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct query *query = userdata;

    (void)kind;
    value = value ? value : "";
    if (utf8_valid_prefix(name, strlen(name)) < strlen(name) || utf8_valid_prefix(value, strlen(value)) < strlen(value))
        query->result = error_set(query->error, -EINVAL, "parameter \"%.64s\" is not UTF-8", name);
    else if (!query_takes(query, name))
        query->result = query_refuse_unknown(query, name);
    else
        query->result = query->take ? query->take(query->userdata, name, value, query->error) : 0;
    return query->result < 0 ? MHD_NO : MHD_YES;
}

int request_parameters(struct request *request, const char *const *known, take_parameter take, void *userdata,
                       struct error *error)
{
    struct query query = {.known = known, .take = take, .userdata = userdata, .error = error};

    MHD_get_connection_values(request->mhd, MHD_GET_ARGUMENT_KIND, on_parameter, &query);
    return query.result;
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
