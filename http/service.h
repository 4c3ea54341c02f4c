/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon as the HTTP server sees it: a table of functions, so that the server knows nothing of counters but the
 * snapshot, and a test can serve any.
 *
 * Limits of connections: numbers, bytes, nanoseconds.
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

/* The documents under /api/v1/ that are made on request. */
enum service_document { DOCUMENT_PMUS, DOCUMENT_METRICS, DOCUMENT_CGROUPS, DOCUMENT_STATUS, DOCUMENT_CONFIG };

/* Counting that is paused, so that others can use the PMUs. */
struct service_pause {
    bool paused;
    unsigned seconds; /* until it goes on by itself, rounded up */
    double until;     /* the same, since the epoch */
};

/* A document that is written beside the event loop. */
struct draft {
    /* In another thread: reads what does not change, and touches nothing but `content`. */
    void (*write)(struct draft *draft, struct buffer *content);
    /* In the event loop. */
    void (*free)(struct draft *draft);
};

struct service {
    void *userdata;
    /* Opens the files of the web configuration; without a function they are opened as usual. */
    struct file_opener files;
    /*
     * A snapshot whose collectors in `mask` were read at most min_interval ago, or, if `fresh`, just now. Never NULL; a
     * collector that failed has its series as they were. A mask of 0 reads nothing: it only asks for the names of the
     * collectors. Borrowed until the event loop runs again.
     */
    const struct snapshot *(*read)(void *userdata, uint32_t mask, bool fresh);
    /* NULL when out of memory; the caller owns it. */
    json_t *(*document)(void *userdata, enum service_document which);
    /* The catalogue of events: while this number stays the same, so does the catalogue. */
    uint64_t (*events_generation)(void *userdata);
    /* The catalogue as it is now; NULL when out of memory. */
    struct draft *(*draft_events)(void *userdata);
    /* -EINVAL with the configuration error, and the old configuration goes on. */
    int (*reload)(void *userdata, struct error *error);
    /* Whether there was a first reading. */
    bool (*ready)(void *userdata);
    uint64_t (*now)(void *userdata); /* CLOCK_MONOTONIC, nanoseconds */
    /* Opens streams; never NULL. */
    struct sampler *(*sampler)(void *userdata);
    /* Reports what an operator has to fix: a sentence for the log. NULL: it is not reported. */
    void (*complain)(void *userdata, const char *sentence);
    /* Pauses for that many seconds from now, also where it is paused already; 0 goes on at once. -errno with a
     * sentence.
     */
    int (*pause)(void *userdata, unsigned seconds, struct error *error);
    struct service_pause (*paused)(void *userdata);
};

static inline uint64_t service_now(const struct service *service)
{
    return service->now(service->userdata);
}

/* A deadline is for the whole of what it names: a client that sends a byte a second does not extend it. */
struct server_limits {
    unsigned connections, connections_per_address;
    size_t memory_per_connection; /* request line and headers must fit */
    uint64_t request_ns;          /* from accepting to the end of the first request's headers */
    uint64_t keepalive_ns;        /* from one response to the end of the next request's headers */
    uint64_t response_ns;         /* to take the response */
};

#endif
