/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a state file: see document.h. */
#include "cgroups/document.h"

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

/* jansson reports a failed allocation in its scanner as a wrong token (2.14, load.c), so failures are noted here. */
static bool memory_was_short;

static void *malloc_noting(size_t size)
{
    void *memory = malloc(size);

    memory_was_short |= !memory;
    return memory;
}

int name_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                       void *userdata)
{
    const struct state_place *place = state_place(request->place);
    struct name_finding finding = {.place = place, .found = found, .userdata = userdata};

    if (!place)
        return -EBADMSG;
    if (size == 0 && !state_place_is_of_one(place)) /* a store without containers */
        return 0;
    memory_was_short = false;
    json_set_alloc_funcs(malloc_noting, free);
    /* Limits of resources are up to 2^64 - 1, which no integer of jansson holds. */
    _cleanup_(json_decrefp) json_t *document =
        json_loadb(content, size, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    if (!document)
        return memory_was_short ? -ENOMEM : -EBADMSG;
    return formats[place->format]->read(document, request->id, found_one, &finding);
}
