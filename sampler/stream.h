/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream passes samples to one client: the records of a capture (sampler/capture.h) are written by a format's writer
 * (sampler/writer.h), and wait as bytes until the client takes them.
 *
 * A client that is too slow loses whole records: samples first, then also the records of processes (names, mappings)
 * that are needed to resolve samples.
 */
#ifndef SAMPLER_STREAM_H
#define SAMPLER_STREAM_H

#include <sys/types.h>

#include "base/buffer.h"
#include "sampler/sampler.h"
#include "symbols/symbols.h"

/* The bytes that a writer has written and the client has not taken yet. */
struct output_queue {
    struct buffer bytes; /* the writer appends to it */
    size_t taken;        /* bytes at its start that the client has taken */
    bool slow;           /* samples are dropped until less than half of the limit waits */
    bool complete;       /* nothing more will be appended */
    bool waiting;        /* the client has taken everything and waits for `ready` */
    void (*ready)(void *userdata);
    void *userdata;
};

void output_queue_done(struct output_queue *output_queue);
/*
 * Copies up to `size` bytes to the client. Returns their number, 0 if there are none at the moment, -ENODATA at the
 * end, or -ENOMEM at the end if output was lost for lack of memory.
 */
ssize_t output_queue_take(struct output_queue *output_queue, char *bytes, size_t size);

struct stream;

/*
 * Opens a stream; streams with equal requests share a capture. `ready` is called when there are bytes, or the stream
 * has ended, after stream_read() returned 0. Returns with a sentence: -EINVAL (an invalid event, a frequency over the
 * limit,
 * ...), -ENOENT (no such cgroup or process), -EACCES or -EPERM (the kernel refuses; too much locked memory), -EBUSY
 * (max_clients is reached, or the daemon is shutting down), -EOPNOTSUPP (the sampler is not enabled), -ENOMEM, and
 * other errors of perf_event_open(2).
 */
int stream_open(struct sampler *sampler, const struct record_request *request, const struct writer *writer,
                void (*ready)(void *userdata), void *userdata, struct stream **ret, struct error *error);
/* Copies up to `size` bytes to the client. Returns as output_queue_take(). */
ssize_t stream_read(struct stream *stream, char *bytes, size_t size);
/* Ends the stream early, once the records up to now are written. `reason` is that of struct writer_end. */
void stream_stop(struct stream *stream, const char *reason);
/* Returns the duration in seconds of a stream of the past, known when it is opened; 0 for others. */
double stream_past_seconds(const struct stream *stream);
/* NULL until the stream has begun; it contains the events from then on. Borrowed until stream_free(). */
const struct writer_source *stream_source(const struct stream *stream);
/* How the stream ended; complete once stream_read() has returned -ENODATA. Borrowed until stream_free(). */
const struct writer_end *stream_end(const struct stream *stream);
/* May be called at any time. */
struct stream *stream_free(struct stream *stream);

#endif
