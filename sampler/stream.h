/* SPDX-License-Identifier: Apache-2.0 */
/* A client's stream of samples: it is opened, its bytes are taken as they come, and it is freed. */
#ifndef SAMPLER_STREAM_H
#define SAMPLER_STREAM_H

#include <sys/types.h>

#include "sampler/sampler.h"

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
