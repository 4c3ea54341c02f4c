/* SPDX-License-Identifier: Apache-2.0 */
/* Accept and Accept-Encoding: see accept.h. */
#include "http/accept.h"

#include <ctype.h>

/* A piece of a header's text. */
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

/* Cuts the piece before the next `separator` outside of quotes off the front of `rest`; false at the end. */
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

/* "0", "1", "0.123", "1.000"; -1 for anything else. */
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

/* The parameters that matter. */
struct media_parameters {
    int quality; /* -1 where malformed */
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

/* How specific a matching range is, from 1; 0 where it does not match. */
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
