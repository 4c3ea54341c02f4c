/* SPDX-License-Identifier: Apache-2.0 */
/* The format of pprof: a profile of all that was sampled, written at the end, compressed. */
#include "base/cleanup.h"
#include "base/gzip.h"
#include "formats/pprof-messages.h"
#include "formats/profile-writer.h"
#include "formats/writers.h"

static int pprof_check(struct error *error)
{
    pprof_pack pack;
    return pprof_load(&pack, error);
}

static int write_profile(struct profile_writer *summing, const struct writer_end *end, struct buffer *out)
{
    _cleanup_(buffer_done) struct buffer messages = {0};
    pprof_pack pack;

    int r = pprof_load(&pack, NULL);
    if (r == 0)
        r = pprof_messages_write(pack, summing->profile, summing->source, end, &messages);
    if (r == 0)
        r = gzip_compress(&messages);
    if (r == 0)
        buffer_append(out, messages.data, messages.size);
    return r;
}

static void pprof_end(void *state, const struct writer_end *end, struct buffer *out)
{
    struct profile_writer *summing = state;

    profile_finish(summing->profile);
    if (write_profile(summing, end, out) < 0)
        out->failed = true;
}

const struct writer writer_pprof = {
    .seconds = 30,
    .check = pprof_check,
    .begin = profile_writer_begin,
    .record = profile_writer_record,
    .notice = profile_writer_notice,
    .settle = profile_writer_settle,
    .bytes = profile_writer_bytes,
    .end = pprof_end,
    .free = profile_writer_free,
};
