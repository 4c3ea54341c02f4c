/* SPDX-License-Identifier: Apache-2.0 */
/* A client's request for samples, from the query of its URL. */
#ifndef SAMPLER_STREAM_REQUEST_H
#define SAMPLER_STREAM_REQUEST_H

#include "base/error.h"
#include "config/standing.h"

/* Zeroed, it asks for the defaults. Texts are owned. */
struct stream_request {
    double seconds;             /* 0: the writer's default */
    char *event;                /* NULL: as configured */
    uint64_t frequency, period; /* Hz, or events; 0: as configured */
    char *cpus;                 /* a list; NULL: all */
    char *cgroup;               /* a path from the root of the cgroups; NULL: none */
    uint32_t pid;               /* 0: all */
    uint64_t max;               /* records; 0: no limit */
    bool read;                  /* each sample has the values of the group's events */
    enum standing standing;     /* of the client: see sampler_admit() */
};

/* The parameters of formats that show each record (NDJSON, perf.data), and of profiles. NULL-terminated. */
extern const char *const stream_record_parameters[], *const stream_profile_parameters[];
/* Sets one parameter of the query; -EINVAL with a sentence. */
int stream_request_set(struct stream_request *request, const char *name, const char *value, struct error *error);
void stream_request_done(struct stream_request *request);

#endif
