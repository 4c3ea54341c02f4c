/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a state file: see document.h. */
#include "collectors/names/reader/document.h"

#include "base/cleanup.h"

static const struct name_format *const formats[N_STATE_FORMATS] = {
    [STATE_DOCKER] = &name_format_docker,
    [STATE_STORAGE] = &name_format_storage,
    [STATE_BUNDLE] = &name_format_bundle,
};

struct name_finding {
    const struct state_place *place;
    name_found found;
    void *userdata;
};

static int found_one(void *userdata, const char *id, struct names *names)
{
    const struct name_finding *finding = userdata;
    const char *runtime = finding->place->source;
    int r = names->texts[NAME_RUNTIME] ? 0 : names_set(names, NAME_RUNTIME, runtime, strlen(runtime));

    return r < 0 ? r : finding->found(finding->userdata, id, names);
}

/* Where it cannot allocate a part of its tree, jansson gives no error at all (2.14, load.c). */
static bool ran_out_of_memory(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);

    return code == json_error_out_of_memory || code == json_error_unknown;
}

int name_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                       void *userdata)
{
    const struct state_place *place = state_place(request->place);
    struct name_finding finding = {.place = place, .found = found, .userdata = userdata};
    json_error_t error;

    if (!place)
        return -EBADMSG;
    if (size == 0 && !state_place_is_of_one(place)) /* a store without containers */
        return 0;
    /* Limits of resources are up to 2^64 - 1, which no integer of jansson holds. */
    _cleanup_(json_decrefp) json_t *document =
        json_loadb(content, size, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &error);
    if (!document)
        return ran_out_of_memory(&error) ? -ENOMEM : -EBADMSG;
    return formats[place->format]->read(document, request->id, found_one, &finding);
}
