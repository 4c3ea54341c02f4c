/* SPDX-License-Identifier: Apache-2.0 */
#include "http/request.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#define QUALITY_MAX 1000 /* the q-value 1, in units of 1/1000 */

/* --- negotiation --- */

/* A part of a header's text. */
struct piece {
    const char *text;
    size_t size;
};

static struct piece piece_trim(struct piece piece)
{
    while (piece.size && (piece.text[0] == ' ' || piece.text[0] == '\t')) {
        piece.text++;
        piece.size--;
    }
    while (piece.size && (piece.text[piece.size - 1] == ' ' || piece.text[piece.size - 1] == '\t'))
        piece.size--;
    return piece;
}

/*
 * Moves the text before the next unquoted `separator` from the front of `rest` to `ret`. Returns false at the end of
 * the text.
 */
static bool piece_next(struct piece *rest, char separator, struct piece *ret)
{
    bool quoted = false;
    size_t i;

    if (!rest->text)
        return false;
    for (i = 0; i < rest->size && (quoted || rest->text[i] != separator); i++) {
        if (rest->text[i] == '"')
            quoted = !quoted;
        else if (quoted && rest->text[i] == '\\' && i + 1 < rest->size)
            i++;
    }
    *ret = piece_trim((struct piece){rest->text, i});
    *rest = i < rest->size ? (struct piece){rest->text + i + 1, rest->size - i - 1} : (struct piece){0};
    return true;
}

static bool piece_is(struct piece piece, const char *text)
{
    return piece.size == strlen(text) && strncasecmp(piece.text, text, piece.size) == 0;
}

static struct piece piece_unquote(struct piece piece)
{
    if (piece.size >= 2 && piece.text[0] == '"' && piece.text[piece.size - 1] == '"')
        return (struct piece){piece.text + 1, piece.size - 2};
    return piece;
}

/* Parses a q-value, such as "0", "1", "0.123" or "1.000". Returns -1 for anything else. */
static int piece_quality(struct piece piece)
{
    int quality = 0, unit = QUALITY_MAX;

    if (piece.size == 0 || piece.size > 5 || (piece.text[0] != '0' && piece.text[0] != '1'))
        return -1;
    if (piece.size > 1 && piece.text[1] != '.')
        return -1;
    for (size_t i = 0; i < piece.size; i++) {
        if (i == 1)
            continue;
        if (!isdigit((unsigned char)piece.text[i]))
            return -1;
        quality += (piece.text[i] - '0') * unit;
        unit /= 10;
    }
    return quality <= QUALITY_MAX ? quality : -1;
}

/* The parameters of a media range that are evaluated; others are ignored. */
struct media_parameters {
    int quality; /* q-value; -1 if malformed */
    struct piece version;
};

static struct media_parameters parse_parameters(struct piece rest)
{
    struct media_parameters parameters = {.quality = QUALITY_MAX};
    struct piece parameter, name;

    while (piece_next(&rest, ';', &parameter)) {
        struct piece value = parameter;
        if (!piece_next(&value, '=', &name) || !value.text)
            continue;
        value = piece_unquote(piece_trim(value));
        if (piece_is(name, "q"))
            parameters.quality = piece_quality(value);
        else if (piece_is(name, "version"))
            parameters.version = value;
    }
    return parameters;
}

/* Returns how specifically the media range matches the offer, from 1 upwards, or 0 if it does not match. */
static unsigned offer_match(const struct offer *offer, struct piece range, struct piece version)
{
    struct piece type, subtype = range;

    if (!piece_next(&subtype, '/', &type) || !subtype.text)
        return 0;
    subtype = piece_trim(subtype);
    if (piece_is(type, "*") && piece_is(subtype, "*"))
        return 1;
    if (!piece_is(type, offer->type))
        return 0;
    if (piece_is(subtype, "*"))
        return 2;
    if (!piece_is(subtype, offer->subtype))
        return 0;
    if (!version.text || !offer->version)
        return 3;
    return piece_is(version, offer->version) ? 4 : 0;
}

void offer_consider(struct offer *offer, const char *accept)
{
    struct piece rest = {accept, strlen(accept)}, element, range;

    while (piece_next(&rest, ',', &element)) {
        if (!piece_next(&element, ';', &range))
            continue;
        struct media_parameters parameters = parse_parameters(element);
        unsigned specificity = offer_match(offer, range, parameters.version);
        if (parameters.quality < 0 || specificity <= offer->specificity)
            continue;
        offer->specificity = specificity;
        offer->quality = (unsigned)parameters.quality;
    }
}

void codings_consider(struct codings *codings, const char *accept_encoding)
{
    struct piece rest = {accept_encoding, strlen(accept_encoding)}, element, name;

    while (piece_next(&rest, ',', &element)) {
        if (!piece_next(&element, ';', &name))
            continue;
        int quality = parse_parameters(element).quality;
        if (quality < 0)
            continue;
        if (piece_is(name, "gzip") || piece_is(name, "x-gzip"))
            codings->gzip = quality;
        else if (piece_is(name, "identity"))
            codings->identity = quality;
        else if (piece_is(name, "*"))
            codings->any = quality;
    }
}

bool codings_want_gzip(const struct codings *codings)
{
    int gzip = codings->gzip >= 0 ? codings->gzip : codings->any;

    return gzip > 0 && gzip >= codings->identity;
}

/* --- request --- */

/* The percent-encoding has to be checked here, because libmicrohttpd does not check it. */
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
    free(request->parameters);
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

/* Schedules a run of libmicrohttpd, because it does not tell an external event loop about resumed connections. */
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

bool request_is_authenticated(const struct request *request)
{
    return request->result == PASSWORD_RIGHT || request->certified;
}

const char *request_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND, name);
}

struct query {
    struct request *request;
    const char *const *known;
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

static int query_add(struct query *query, const char *name, const char *value)
{
    struct request *request = query->request;

    if (utf8_valid_prefix(name, strlen(name)) < strlen(name) || utf8_valid_prefix(value, strlen(value)) < strlen(value))
        return error_set(query->error, -EINVAL, "parameter \"%.64s\" is not UTF-8", name);
    if (!query_takes(query, name))
        return query_refuse_unknown(query, name);
    if (array_grow(&request->parameters, request->n_parameters) < 0)
        return error_oom(query->error);
    request->parameters[request->n_parameters++] = (struct query_parameter){name, value};
    return 0;
}

static enum MHD_Result on_parameter(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct query *query = userdata;

    (void)kind;
    query->result = query_add(query, name, value ? value : "");
    return query->result < 0 ? MHD_NO : MHD_YES;
}

int request_parse_query(struct request *request, const char *const *known, struct error *error)
{
    struct query query = {.request = request, .known = known, .error = error};

    request->n_parameters = 0;
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
