/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that wait for a client: see backlog.h. */
#include "sampler/backlog.h"

/* Memory that is kept for later bytes, while nothing waits. */
#define KEPT_BYTES ((size_t)1024 * 1024)

void backlog_done(struct backlog *backlog)
{
    buffer_done(&backlog->bytes);
    backlog->taken = 0;
}

bool backlog_refuses(struct backlog *backlog, size_t limit, bool sample)
{
    size_t waiting = backlog->bytes.size - backlog->taken;

    if (waiting >= limit)
        backlog->slow = true;
    else if (waiting < limit / 2)
        backlog->slow = false;
    return sample ? backlog->slow : waiting >= limit + limit / 4;
}

void backlog_notify(struct backlog *backlog)
{
    if (!backlog->waiting || (backlog->bytes.size == backlog->taken && !backlog->complete))
        return;
    backlog->waiting = false;
    backlog->ready(backlog->userdata);
}

/* Moves the rest to the front once more than half was taken. Frees memory that only a slow client needed. */
static void backlog_compact(struct backlog *backlog)
{
    size_t rest = backlog->bytes.size - backlog->taken;

    if (backlog->taken < rest)
        return;
    if (rest == 0 && backlog->bytes.capacity > KEPT_BYTES && !backlog->bytes.failed) {
        backlog_done(backlog);
        return;
    }
    memmove(backlog->bytes.data, backlog->bytes.data + backlog->taken, rest);
    backlog->bytes.size = rest;
    backlog->taken = 0;
}

ssize_t backlog_take(struct backlog *backlog, char *bytes, size_t size)
{
    size_t n = MIN(size, backlog->bytes.size - backlog->taken);

    if (n == 0 && backlog->complete)
        return backlog->bytes.failed ? -ENOMEM : -ENODATA;
    backlog->waiting = n == 0;
    if (n == 0)
        return 0;
    memcpy(bytes, backlog->bytes.data + backlog->taken, n);
    backlog->taken += n;
    backlog_compact(backlog);
    return (ssize_t)n;
}
