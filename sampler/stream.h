/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the HTTP side sees of the sampler: a client asks for a stream, takes its bytes as they come, and goes.
 */
#ifndef SAMPLER_STREAM_H
#define SAMPLER_STREAM_H

#include <sys/types.h>

#include "base/error.h"
#include "config/standing.h"

enum stream_format { STREAM_NDJSON, STREAM_PERF_DATA, STREAM_PPROF, STREAM_FOLDED };

/* What a client asks for; zeroed, it asks for the defaults. Texts are owned. */
struct stream_request {
    enum stream_format format;
    double seconds;             /* 0: the format's default */
    char *event;                /* NULL: as configured */
    uint64_t frequency, period; /* Hz, or events; 0: as configured */
    char *cpus;                 /* a list; NULL: all */
    char *cgroup;               /* a path from the root of the cgroups; NULL: none */
    uint32_t pid;               /* 0: all */
    uint64_t max;               /* records; 0: no limit */
    bool read;                  /* the values of the group in each sample */
    enum standing standing;     /* of the client: see sampler_admit() */
};

/* The parameters of formats that show each record (NDJSON, perf.data), and of those that show a whole; NULL at the end.
 */
extern const char *const stream_record_parameters[], *const stream_profile_parameters[];
/* One parameter as the query has it; -EINVAL with a sentence. */
int stream_request_set(struct stream_request *request, const char *name, const char *value, struct error *error);
void stream_request_done(struct stream_request *request);

const char *stream_content_type(enum stream_format format);

struct sampler;
struct stream;

/*
 * Whether a client of this standing may have samples at all. -EOPNOTSUPP (the sampler is not enabled), -EACCES, -EBUSY
 * (the daemon is ending), with a sentence.
 */
int sampler_admit(const struct sampler *sampler, enum standing standing, struct error *error);

/*
 * Opens what is asked for, or joins who asked for the same. `ready` is called from the event loop when bytes wait after
 * stream_read() had none. With a sentence: -EINVAL (a bad event, a frequency over the limit...), -ENOENT (no such
 * cgroup or process), -EACCES, -EPERM (the kernel refuses; locked memory), -EBUSY (max_clients), -ENOSYS (an optional
 * library is missing), -EOPNOTSUPP (the sampler is not enabled).
 */
int stream_open(struct sampler *sampler, const struct stream_request *request, void (*ready)(void *userdata),
                void *userdata, struct stream **ret, struct error *error);
/* Takes up to `size` bytes: how many; 0 where there are none now; -ENODATA at the end. */
ssize_t stream_read(struct stream *stream, char *bytes, size_t size);
/* Ends it, at any time. */
struct stream *stream_free(struct stream *stream);

#endif
