/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler manages clients and the captures (sampler/capture.h) that run for these clients. Without clients, only
 * hindsight's events are open.
 *
 * The sampler limits the number of clients and the memory that all clients use together. The sampler may be used only
 * in the thread of the event loop.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include "config/config.h"
#include "sampler/capture.h"
#include "sampler/hindsight.h"
#include "sampler/record-options.h"

struct sampler;

/*
 * Makes a sampler. `symboliser` is passed to symboliser_set_child(). `bpf` is used to sample off-CPU time, and may be
 * NULL. `sys`, `symboliser` and `bpf` must outlive the sampler.
 */
int sampler_new(struct sys *sys, sd_event *event, struct child *symboliser, const struct bpf_calls *bpf,
                struct sampler **ret);
/* Frees the sampler. All streams must have been freed before the sampler. */
struct sampler *sampler_free(struct sampler *sampler);

/*
 * Applies the configuration; must be called before the first client joins and after each reload. `machine` and `config`
 * are borrowed until the next call; `admits` is the lowest trust level whose clients may receive samples. Ends streams
 * with the reason "reload" if the new configuration does not allow them, or if they depend on a setting that has
 * changed: callchains, the size of the rings, or the event or rate if the client's request did not specify these. Opens
 * or closes hindsight, as configured; sampler_no_hindsight() explains why hindsight could not be opened.
 */
void sampler_configure(struct sampler *sampler, const struct machine *machine, const struct config_sampler *config,
                       enum trust admits);
/*
 * Sets the function that finds cgroup names; must be called before the first client joins. Without such a function,
 * cgroups only have the names that appear in their paths.
 */
void sampler_set_namer(struct sampler *sampler, cgroup_namer namer, void *userdata);
/* Returns a sentence that explains why hindsight cannot be opened, or NULL if hindsight is open or not enabled. */
const char *sampler_no_hindsight(const struct sampler *sampler);
/*
 * Opens and closes rings after CPUs went offline or came online. `machine` is borrowed until the next call that passes
 * a machine. `went_offline` (may be NULL) lists the CPUs that have gone offline since the last call, including those
 * that are online again.
 */
void sampler_cpus_changed(struct sampler *sampler, const struct machine *machine, const struct cpuset *went_offline);

/*
 * Pauses or resumes sampling for all present and future streams, which stay open. Returns -errno of the first event
 * that cannot be enabled.
 */
int sampler_pause(struct sampler *sampler, bool paused);

/*
 * Ends all streams with the reason "shutdown" and refuses new streams. Returns whether any clients are left; in that
 * case, `ended` is called when the last stream has been freed.
 */
bool sampler_end(struct sampler *sampler, void (*ended)(void *userdata), void *userdata);
bool sampler_is_ending(const struct sampler *sampler);

/*
 * Checks whether a client with this trust level may receive samples. Returns these errors with a message: -EOPNOTSUPP
 * if the sampler is not enabled, -EACCES if the trust is too low, -EBUSY if the daemon is shutting down.
 */
int sampler_admit(const struct sampler *sampler, enum trust trust, struct error *error);

/* A client with a running stream. Only sampler/stream.c uses this struct and the functions below. */
struct sampler_client {
    void *userdata;
    /* Tells the stream to end, and gives the reason. */
    void (*end)(void *userdata, const char *reason);
    struct capture *capture; /* capture of the client, or NULL after sampler_release_capture() */
    struct symbols *symbols;
    struct cgroup_lookup *cgroups;
    double seconds;           /* duration of the stream */
    bool own_event, own_rate; /* the request specified the event or rate, so the configured value does not matter */
    enum trust trust;         /* how far the client is trusted */
    bool waits_for_end;       /* the format writes all of its output at the end of the stream */
    size_t kept;              /* memory that the writer holds until the end, in bytes */
    size_t waiting;           /* memory for output that the client has not taken yet, in bytes */
    LIST_ENTRY(sampler_client) entry;
};

/*
 * Adds a client, and finds a running capture with the options of its request or opens a new capture. `seconds` is the
 * default duration if the request specifies no duration; 0 stands for sampler.max_seconds. Returns the errors from
 * stream_open(), and then leaves `client` unchanged.
 */
int sampler_join(struct sampler *sampler, const struct record_request *request, double seconds,
                 struct sampler_client *client, struct error *error);
/*
 * Must be called when the client has unsubscribed and needs no more records. A capture without clients is closed soon
 * afterwards.
 */
void sampler_release_capture(struct sampler *sampler, struct sampler_client *client);
/* Removes a client. If no clients are left after sampler_end(), calls the callback `ended`. */
void sampler_leave(struct sampler *sampler, struct sampler_client *client);

sd_event *sampler_event(const struct sampler *sampler);
struct sys *sampler_sys(const struct sampler *sampler);
/* Returns how many bytes of output may wait for each client, which depends on the number of clients. */
size_t sampler_bytes_per_client(const struct sampler *sampler);
/* Returns whether the writers of all clients together have reached their memory limit. */
bool sampler_is_full(const struct sampler *sampler);
/* Limits the memory of symbol tables to the part of sampler.memory that the current clients do not use. */
void sampler_limit_symbols(struct sampler *sampler);

#endif
