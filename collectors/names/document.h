/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a state file, any bytes: the names of the containers in it. Pure. */
#ifndef COLLECTORS_NAMES_DOCUMENT_H
#define COLLECTORS_NAMES_DOCUMENT_H

#include "collectors/names/format.h"
#include "perf/state-file.h"

/*
 * Calls `found` for each container; each has at least a runtime. -EBADMSG where the content is not what the place has;
 * -ENOMEM; what `found` returns, other than 0.
 */
int name_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                       void *userdata);

#endif
