/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's interface for the HTTP server: a table of functions. The server gets counters only through snapshots, so
 * tests can serve their own.
 *
 * All functions of this interface are called in the event loop's thread, unless noted otherwise.
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

/* The documents under /api/v1/ that are written afresh for each request. */
enum api_document {
    DOCUMENT_PMUS,
    DOCUMENT_METRICS,
    DOCUMENT_CGROUPS,
    DOCUMENT_FINDINGS,
    DOCUMENT_STATUS,
    DOCUMENT_CONFIG
};

/* The state of a pause in counting, during which others can use the PMUs. */
struct service_pause {
    bool paused;
    unsigned seconds; /* seconds until counting resumes, rounded up */
    double until;     /* time at which counting resumes, in seconds since the epoch */
};

/* A document that is written in a worker thread. */
struct deferred_document {
    /* Called in the worker thread, so it must only read immutable data, and only write to `content`. */
    void (*write)(struct deferred_document *deferred, struct buffer *content);
    /* Called in the event loop's thread. */
    void (*free)(struct deferred_document *deferred);
};

struct service {
    void *userdata;
    /* Opens the files of the web configuration. If the function in this struct is NULL, files are opened normally. */
    struct file_opener files;
    /*
     * Returns a snapshot in which the collectors in `mask` were read at most min_interval ago or, if `fresh` is true,
     * just now. Never returns NULL; the series of a failing collector keep their previous values. A mask of 0 reads
     * nothing, which is enough to get the collectors' names. The snapshot is borrowed until the next iteration of the
     * event loop.
     */
    const struct snapshot *(*read)(void *userdata, uint32_t mask, bool fresh);
    /* Returns the recorded histories (collectors/history.h), or NULL if nothing is recorded. */
    const struct histories *(*histories)(void *userdata);
    /* Returns a document, which the caller owns, or NULL when out of memory. */
    json_t *(*document)(void *userdata, enum api_document which);
    /* Returns a number that changes whenever the catalogue of events changes. */
    uint64_t (*events_generation)(void *userdata);
    /* Returns a deferred document of the current catalogue of events, or NULL when out of memory. */
    struct deferred_document *(*defer_events)(void *userdata);
    /*
     * Reloads the configuration. If the configuration contains an error, returns -EINVAL with a message, and the
     * previous configuration stays in effect.
     */
    int (*reload)(void *userdata, struct error *error);
    /* Returns whether the collectors have been read at least once. */
    bool (*ready)(void *userdata);
    uint64_t (*now)(void *userdata); /* returns CLOCK_MONOTONIC in nanoseconds */
    /* Returns the sampler, which opens streams of samples. Never returns NULL. */
    struct sampler *(*sampler)(void *userdata);
    /*
     * Logs a sentence about a problem that an operator has to fix. If the function is NULL, such problems are not
     * reported.
     */
    void (*complain)(void *userdata, const char *sentence);
    /*
     * Pauses counting for `seconds` from now, replacing a pause that is in effect. If `seconds` is 0, counting is
     * resumed. On failure, returns -errno and sets `error`.
     */
    int (*pause)(void *userdata, unsigned seconds, struct error *error);
    struct service_pause (*paused)(void *userdata);
};

static inline uint64_t service_now(const struct service *service)
{
    return service->now(service->userdata);
}

/*
 * Limits on connections. Each time limit applies to a whole step, so a client gains no time by sending one byte per
 * second.
 */
struct server_limits {
    unsigned connections, connections_per_address;
    size_t memory_per_connection; /* bytes; the request line and the headers must fit into this memory */
    uint64_t request_ns;          /* from accepting a client to the end of the first request's headers */
    uint64_t keepalive_ns;        /* from one response to the end of the next request's headers */
    uint64_t response_ns;         /* time until the client has received the response */
};

#endif
