/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A format of state files (cgroups/state-files.h), as it gives the names of containers: one const table entry and its
 * static functions, in one file each. Pure.
 *
 * The content of a state file, any bytes: the names of the containers in it. Pure.
 */
#ifndef CGROUPS_STATE_FORMATS_H
#define CGROUPS_STATE_FORMATS_H

#include <jansson.h>

#include "cgroups/names.h"
#include "cgroups/state-files.h"

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

/*
 * Calls `found` for each container; each has at least a runtime. -EBADMSG where the content is not what the place has;
 * -ENOMEM; the result of `found` that is not 0.
 */
int name_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                       void *userdata);

#endif
