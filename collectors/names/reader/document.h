/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a state file, any bytes: the names of the containers in it. Pure. */
#ifndef COLLECTORS_NAMES_READER_DOCUMENT_H
#define COLLECTORS_NAMES_READER_DOCUMENT_H

#include "collectors/names/reader/format.h"
#include "perf/files/state-file.h"

/*
 * Calls `found` for each container; each has at least a runtime. -EBADMSG where the content is not what the place has;
 * -ENOMEM; the result of `found` that is not 0.
 */
int name_document_read(const struct state_request *request, const char *content, size_t size, name_found found,
                       void *userdata);

#endif
