/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as the messages of pprof, not compressed. */
#ifndef FORMATS_PPROF_MESSAGES_H
#define FORMATS_PPROF_MESSAGES_H

#include "formats/pprof-schema.h"
#include "formats/profile.h"
#include "sampler/writer.h"

/* Appends it. -ENOMEM. */
int pprof_messages_write(pprof_pack pack, struct profile *profile, const struct writer_source *source,
                         const struct writer_end *end, struct buffer *out);

#endif
