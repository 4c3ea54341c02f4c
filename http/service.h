/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon as the HTTP server sees it: a table of functions. The server knows counters only through the snapshot, so
 * tests can serve their own.
 *
 * All functions are called in the event loop's thread, unless noted otherwise.
 */
#ifndef HTTP_SERVICE_H
#define HTTP_SERVICE_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/util.h"
#include "collectors/snapshot.h"

struct sampler;
struct histories;

/* The documents under /api/v1/ that are made for each request. */
enum api_document {
    DOCUMENT_PMUS,
    DOCUMENT_METRICS,
    DOCUMENT_CGROUPS,
    DOCUMENT_FINDINGS,
    DOCUMENT_STATUS,
    DOCUMENT_CONFIG
};

/* Whether counting is paused, so that others can use the PMUs. */
struct service_pause {
    bool paused;
    unsigned seconds; /* seconds until counting resumes by itself, rounded up */
    double until;     /* the time at which it resumes, in seconds since the epoch */
};

/* A document that is written in a worker thread. */
struct deferred_document {
    /* Called in the worker thread. Reads only immutable data, and writes only to `content`. */
    void (*write)(struct deferred_document *deferred, struct buffer *content);
    /* Called in the event loop's thread. */
    void (*free)(struct deferred_document *deferred);
};

struct service {
    void *userdata;
    /* Opens the files of the web configuration. If its function is NULL, files are opened normally. */
    struct file_opener files;
    /*
     * Returns a snapshot in which the collectors in `mask` were read at most min_interval ago or, if `fresh` is true,
     * just now. Never returns NULL; the series of a collector that fails keep their previous values. A mask of 0 reads
     * nothing, and serves to get the collectors' names. Borrowed until the next iteration of the event loop.
     */
    const struct snapshot *(*read)(void *userdata, uint32_t mask, bool fresh);
    /* Returns the recorded histories (collectors/history.h); NULL if nothing is recorded. */
    const struct histories *(*histories)(void *userdata);
    /* The caller owns the result. Returns NULL when out of memory. */
    json_t *(*document)(void *userdata, enum api_document which);
    /* A number that changes whenever the catalogue of events changes. */
    uint64_t (*events_generation)(void *userdata);
    /* Returns a deferred document of the current catalogue, or NULL when out of memory. */
    struct deferred_document *(*defer_events)(void *userdata);
    /*
     * Reloads the configuration. Returns -EINVAL with the configuration's error; the previous configuration stays in
     * effect.
     */
    int (*reload)(void *userdata, struct error *error);
    /* Whether a first reading was taken. */
    bool (*ready)(void *userdata);
    uint64_t (*now)(void *userdata); /* CLOCK_MONOTONIC, in nanoseconds */
    /* Opens streams of samples. Never NULL. */
    struct sampler *(*sampler)(void *userdata);
    /* Logs a sentence about a problem that an operator has to fix. If NULL, such problems are not reported. */
    void (*complain)(void *userdata, const char *sentence);
    /*
     * Pauses counting for `seconds` from now, replacing a pause that is in effect. 0 resumes counting. Returns -errno
     * with a sentence in the error.
     */
    int (*pause)(void *userdata, unsigned seconds, struct error *error);
    struct service_pause (*paused)(void *userdata);
};

static inline uint64_t service_now(const struct service *service)
{
    return service->now(service->userdata);
}

/*
 * Limits of connections. A deadline covers the whole step that it names: a client that sends one byte per second does
 * not extend it.
 */
struct server_limits {
    unsigned connections, connections_per_address;
    size_t memory_per_connection; /* in bytes; the request line and headers must fit */
    uint64_t request_ns;          /* time from accepting a client to the end of the first request's headers */
    uint64_t keepalive_ns;        /* time from one response to the end of the next request's headers */
    uint64_t response_ns;         /* time until the client has received the response */
};

#endif
