/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as the messages of pprof, not compressed. */
#ifndef SAMPLER_PPROF_MESSAGES_H
#define SAMPLER_PPROF_MESSAGES_H

#include "sampler/pprof-schema.h"
#include "sampler/profile.h"
#include "sampler/writer.h"

/* Appends it. -ENOMEM. */
int pprof_messages_write(pprof_pack pack, struct profile *profile, const struct writer_source *source,
                         const struct writer_end *end, struct buffer *out);

#endif
