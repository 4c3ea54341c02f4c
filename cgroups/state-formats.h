/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the names of containers in a state file (cgroups/state-files.h) of any format. The content of a file may be any
 * bytes. A format is a const table entry and its static functions. This module makes no system calls.
 */
#ifndef CGROUPS_STATE_FORMATS_H
#define CGROUPS_STATE_FORMATS_H

#include <jansson.h>

#include "cgroups/names.h"
#include "cgroups/state-files.h"

/*
 * Called with a container: `id` has 64 hexadecimal digits. The function may change `names`. A nonzero result ends the
 * reading.
 */
typedef int (*name_found)(void *userdata, const char *id, struct names *names);

struct state_parser {
    /*
     * Calls `found` for each container of the document. `id` is the container's id if the file describes one container.
     * Returns -EBADMSG if the document has another format, -ENOMEM, or the nonzero result of `found`.
     */
    int (*read)(const json_t *document, const char *id, name_found found, void *userdata);
};

extern const struct state_parser state_parser_docker;
extern const struct state_parser state_parser_storage;
extern const struct state_parser state_parser_bundle;

/*
 * Calls `found` for each container; its names include at least the runtime. Returns -EBADMSG if the content does not
 * have the format of the place, -ENOMEM, or the nonzero result of `found`.
 */
int state_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                        void *userdata);

#endif
