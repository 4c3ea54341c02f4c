/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes that a writer has written and the client has not taken yet. A client that is too slow loses whole records:
 * samples first, then also the records by which samples are read (names, mappings).
 */
#ifndef SAMPLER_BACKLOG_H
#define SAMPLER_BACKLOG_H

#include <sys/types.h>

#include "base/buffer.h"

struct backlog {
    struct buffer bytes; /* writers append to it */
    size_t taken;        /* bytes at its start that the client has taken */
    bool slow;           /* samples are dropped, until the client has taken half of what may wait */
    bool complete;       /* nothing more will be appended */
    bool waiting;        /* the client has taken everything, and waits for `ready` */
    void (*ready)(void *userdata);
    void *userdata;
};

void backlog_done(struct backlog *backlog);
/* Whether a record must be dropped since about `limit` bytes wait. `sample`: it is a sample. */
bool backlog_refuses(struct backlog *backlog, size_t limit, bool sample);
/* Calls `ready` if the client waits and there is something for it: bytes, or the end. */
void backlog_notify(struct backlog *backlog);
/*
 * Copies up to `size` bytes to the client: the number of bytes, 0 if there are none now; -ENODATA at
 * the end, -ENOMEM where it is cut short since bytes of it found no memory.
 */
ssize_t backlog_take(struct backlog *backlog, char *bytes, size_t size);

#endif
