/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A format of state files (cgroups/state-files.h), as it gives the names of containers: one const table entry and its
 * static functions, in one file each. Pure.
 */
#ifndef CGROUPS_STATE_FORMATS_H
#define CGROUPS_STATE_FORMATS_H

#include <jansson.h>

#include "cgroups/names.h"

/* The id is 64 hexadecimal digits. A result other than 0 ends the reading. It may change `names`. */
typedef int (*name_found)(void *userdata, const char *id, struct names *names);

struct name_format {
    /*
     * Calls `found` for each container of the document. `id` is that of the file where it is of one container. -EBADMSG
     * where the document is of another kind; -ENOMEM.
     */
    int (*read)(const json_t *document, const char *id, name_found found, void *userdata);
};

extern const struct name_format name_format_docker;
extern const struct name_format name_format_storage;
extern const struct name_format name_format_bundle;

/* A member of an object whose text is a name. */
struct name_field {
    const char *key;
    enum name_kind kind;
};

/* Takes each name that `object` has, if it is an object; a later field replaces an earlier one. -ENOMEM. */
int name_format_take(const json_t *object, const struct name_field *fields, size_t n, struct names *names);
/* Whether a member of `object` is this text. */
bool name_format_has(const json_t *object, const char *key, const char *text);

#endif
