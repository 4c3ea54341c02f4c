/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream passes samples to one client. The writer of a format (sampler/writer.h) converts the records of a capture
 * (sampler/capture.h) to bytes, which wait until the client takes them.
 *
 * A client that is too slow loses whole records: first samples, and then even the process records (names, mappings)
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
    struct buffer bytes; /* buffer to which the writer appends */
    size_t taken;        /* number of bytes at the start of the buffer that the client has taken */
    bool slow;           /* samples are dropped until the waiting bytes fall below half of the limit */
    bool complete;       /* no more bytes will be appended */
    bool waiting;        /* the client has taken everything and waits for `ready` */
    void (*ready)(void *userdata);
    void *userdata;
};

void output_queue_done(struct output_queue *output_queue);
/*
 * Copies up to `size` bytes to the client. Returns the number of bytes copied, 0 if no bytes are available at the
 * moment, -ENODATA at the end, or -ENOMEM at the end if output was lost for lack of memory.
 */
ssize_t output_queue_take(struct output_queue *output_queue, char *bytes, size_t size);

struct stream;

/*
 * Opens a stream; streams with equal requests share a capture. After stream_read() has returned 0, `ready` is called
 * when there are bytes or the stream has ended. Returns these errors with a message: -EINVAL (an invalid event, a
 * frequency over the limit, ...), -ENOENT (no such cgroup or process), -EACCES or -EPERM (the kernel refuses; too much
 * locked memory), -EBUSY (max_clients is reached, or the daemon is shutting down), -EOPNOTSUPP (the sampler is not
 * enabled), -ENOMEM, and other errors from perf_event_open(2).
 */
int stream_open(struct sampler *sampler, const struct record_request *request, const struct writer *writer,
                void (*ready)(void *userdata), void *userdata, struct stream **ret, struct error *error);
/* Copies up to `size` bytes to the client. Returns the same as output_queue_take(). */
ssize_t stream_read(struct stream *stream, char *bytes, size_t size);
/* Ends the stream early, once the records up to now are written. `reason` is as in struct writer_end. */
void stream_stop(struct stream *stream, const char *reason);
/*
 * Returns the duration in seconds of a stream of past samples, which is known as soon as the stream is open; 0 for
 * other streams.
 */
double stream_past_seconds(const struct stream *stream);
/*
 * Returns the source of the stream, which contains the events, or NULL until the stream has begun. The source is
 * borrowed until stream_free().
 */
const struct writer_source *stream_source(const struct stream *stream);
/*
 * Returns how the stream ended. The result is only complete once stream_read() has returned -ENODATA, and is borrowed
 * until stream_free().
 */
const struct writer_end *stream_end(const struct stream *stream);
/* Frees the stream; may be called at any time, even before the stream has ended. */
struct stream *stream_free(struct stream *stream);

#endif
