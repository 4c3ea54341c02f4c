/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a state file, any bytes: the names of the containers in it. Pure. */
#ifndef CGROUPS_DOCUMENT_H
#define CGROUPS_DOCUMENT_H

#include "cgroups/state-files.h"
#include "cgroups/state-formats.h"

/*
 * Calls `found` for each container; each has at least a runtime. -EBADMSG where the content is not what the place has;
 * -ENOMEM; the result of `found` that is not 0.
 */
int name_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                       void *userdata);

#endif
