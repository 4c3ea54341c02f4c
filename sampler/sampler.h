/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: its clients and the captures (sampler/capture.h) that run for them. Without clients, only the events of
 * hindsight are open.
 *
 * It limits the number of clients and the memory that all clients take together. To be used only in the thread of the
 * event loop.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include "config/config.h"
#include "sampler/capture.h"
#include "sampler/hindsight.h"
#include "sampler/record-options.h"

struct sampler;

/*
 * `symboliser`: see symboliser_set_child(). `bpf` is for off-CPU time, and may be NULL. `sys`, `symboliser` and `bpf`
 * must outlive the sampler.
 */
int sampler_new(struct sys *sys, sd_event *event, struct child *symboliser, const struct bpf_calls *bpf,
                struct sampler **ret);
/* All streams must have been freed before. */
struct sampler *sampler_free(struct sampler *sampler);

/*
 * To be called before the first client and after each reload. `machine` and `config` are borrowed until the next call;
 * `admits` is the lowest trust that may receive samples. Ends, with the reason "reload", the streams that the new
 * configuration does not allow and those that depend on a changed setting: callchains, the size of the rings, or the
 * event or rate if the client did not name its own. Opens hindsight, or closes it; sampler_no_hindsight() says whether
 * that succeeded.
 */
void sampler_configure(struct sampler *sampler, const struct machine *machine, const struct config_sampler *config,
                       enum trust admits);
/*
 * Sets the function that finds the names of cgroups. To be called before the first client; without it, only the names
 * in paths are known.
 */
void sampler_set_namer(struct sampler *sampler, cgroup_namer namer, void *userdata);
/* A sentence that says why hindsight cannot be opened; NULL if it is open, or not enabled. */
const char *sampler_no_hindsight(const struct sampler *sampler);
/*
 * Opens and closes CPUs after a hotplug. `machine` is borrowed as above. `went_offline` (may be NULL) are the CPUs that
 * have gone offline since the last call, including those that are online again.
 */
void sampler_cpus_changed(struct sampler *sampler, const struct machine *machine, const struct cpuset *went_offline);

/*
 * Stops or resumes sampling for all present and future streams. Streams stay open. Returns -errno of the first event
 * that cannot be enabled.
 */
int sampler_pause(struct sampler *sampler, bool paused);

/*
 * Ends all streams with the reason "shutdown" and refuses new ones. Returns whether there are clients left: then
 * `ended` is called when the last stream has been freed.
 */
bool sampler_end(struct sampler *sampler, void (*ended)(void *userdata), void *userdata);
bool sampler_is_ending(const struct sampler *sampler);

/*
 * Checks whether a client of this trust may have samples. Returns with a sentence: -EOPNOTSUPP if the sampler is not
 * enabled, -EACCES if the trust is too low, -EBUSY if the daemon is shutting down.
 */
int sampler_admit(const struct sampler *sampler, enum trust trust, struct error *error);

/* A running stream. Only sampler/stream.c uses this and the functions below. */
struct sampler_client {
    void *userdata;
    /* Tells the stream to end, with the reason. */
    void (*end)(void *userdata, const char *reason);
    struct capture *capture; /* NULL after sampler_release_capture() */
    struct symbols *symbols;
    struct cgroup_lookup *cgroups;
    double seconds;           /* duration of the stream */
    bool own_event, own_rate; /* the request named them, so they do not depend on the configuration */
    enum trust trust;         /* trust of the client that made the request */
    bool waits_for_end;       /* the format writes no bytes before its end */
    size_t kept;              /* bytes of memory that the writer holds for the end */
    size_t waiting;           /* bytes of memory for output that the client has not taken yet */
    LIST_ENTRY(sampler_client) entry;
};

/*
 * Adds a client, and gives it a capture for its request: one that is running with equal options, or a new one.
 * `seconds` is the default duration if the request has none; 0: sampler.max_seconds. Returns the errors of
 * stream_open(); then `client` is untouched.
 */
int sampler_join(struct sampler *sampler, const struct record_request *request, double seconds,
                 struct sampler_client *client, struct error *error);
/* To be called when the client has unsubscribed and needs no more records. An unused capture is closed soon after. */
void sampler_release_capture(struct sampler *sampler, struct sampler_client *client);
/* Removes a client. May call the `ended` of sampler_end(). */
void sampler_leave(struct sampler *sampler, struct sampler_client *client);

sd_event *sampler_event(const struct sampler *sampler);
struct sys *sampler_sys(const struct sampler *sampler);
/* Returns how many bytes of output may wait for each client, given the current number of clients. */
size_t sampler_bytes_per_client(const struct sampler *sampler);
/* Whether the writers of all clients together hold as much memory as they may. */
bool sampler_is_full(const struct sampler *sampler);
/* Limits the memory of symbol tables to what the current clients leave. */
void sampler_limit_symbols(struct sampler *sampler);

#endif
