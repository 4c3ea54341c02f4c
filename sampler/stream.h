/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes that a writer has written and the client has not taken yet. A client that is too slow loses whole records:
 * samples first, then also the records by which samples are read (names, mappings).
 *
 * Reads /proc again for a stream that missed records of processes (names, mappings): in a pause, or because they were
 * lost. One scan at a time.
 *
 * A client's stream of samples: it is opened, its bytes are taken as they come, and it is freed.
 */
#ifndef SAMPLER_STREAM_H
#define SAMPLER_STREAM_H

#include <sys/types.h>

#include "base/buffer.h"
#include "sampler/sampler.h"
#include "symbols/symbols.h"

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
/*
 * Copies up to `size` bytes to the client: the number of bytes, 0 if there are none now; -ENODATA at
 * the end, -ENOMEM where it is cut short since bytes of it found no memory.
 */
ssize_t backlog_take(struct backlog *backlog, char *bytes, size_t size);

/* Zeroed but for its first four members, nothing was missed. */
struct rescan {
    struct symbols *symbols;
    uint32_t pid;                 /* 0: of all processes */
    void (*done)(void *userdata); /* called when a scan has ended; calls rescan_end() */
    void *userdata;
    bool running;
    bool again;         /* a pause has ended since the scan began */
    bool lost;          /* records may have been lost since the last scan began */
    uint64_t malformed; /* records that could not be decoded; they count as lost */
    uint64_t last_ns;   /* when the last scan ended */
};

struct stream;

/*
 * Opens what the client asks for; clients that ask for the same share it. `ready` is called from the event loop when
 * there are bytes again after stream_read() had none. Errors with a sentence: -EINVAL (a bad event, a frequency over
 * the limit...), -ENOENT (no such cgroup or process), -EACCES, -EPERM (the kernel refuses; locked memory), -EBUSY
 * (max_clients), -EOPNOTSUPP (the sampler is not enabled).
 */
int stream_open(struct sampler *sampler, const struct stream_request *request, const struct writer *writer,
                void (*ready)(void *userdata), void *userdata, struct stream **ret, struct error *error);
/* Takes up to `size` bytes: the number of bytes, 0 if there are none now; else the end, as backlog_take() has it. */
ssize_t stream_read(struct stream *stream, char *bytes, size_t size);
/* At any time. */
struct stream *stream_free(struct stream *stream);

#endif
