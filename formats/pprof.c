/* SPDX-License-Identifier: Apache-2.0 */
/* The format of pprof: a profile of all that was sampled, written at the end, compressed. */
#include "base/cleanup.h"
#include "base/gzip.h"
#include "formats/pprof-messages.h"
#include "formats/summing.h"

static int pprof_check(struct error *error)
{
    pprof_pack pack;
    return pprof_load(&pack, error);
}

static int write_profile(struct summing *summing, const struct writer_end *end, struct buffer *out)
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
    struct summing *summing = state;

    profile_finish(summing->profile);
    if (write_profile(summing, end, out) < 0)
        out->failed = true;
}

const struct writer writer_pprof = {
    .check = pprof_check,
    .begin = summing_begin,
    .record = summing_record,
    .round = summing_round,
    .settled = summing_settled,
    .bytes = summing_bytes,
    .end = pprof_end,
    .free = summing_free,
};
