/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: its clients, and the captures that run for them. Nothing is open while there is no client.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include "config/config.h"
#include "sampler/capture.h"
#include "sampler/record-options.h"

struct sampler;

/* The symboliser's processes are noted in `symboliser`, which must outlive the sampler, as must `sys`. */
int sampler_new(struct sys *sys, sd_event *event, struct child *symboliser, struct sampler **ret);
/* All streams must have been freed. */
struct sampler *sampler_free(struct sampler *sampler);

/*
 * `machine` and `config` are borrowed until the next call; `admits` is the lowest standing that may have samples. Ends
 * the streams that the new configuration would not allow, and those that depend on a setting that has changed: how to
 * sample, or the event and rate, where the client named none.
 */
void sampler_configure(struct sampler *sampler, const struct machine *machine, const struct config_sampler *config,
                       enum standing admits);
/* `machine` as above; `left` are the CPUs that have left since (may be NULL), also those that are back. */
void sampler_cpus_changed(struct sampler *sampler, const struct machine *machine, const struct cpuset *left);

/*
 * Stops taking samples, or takes them again, for all streams that there are and will be. Streams stay open. Returns
 * -errno of the first event that cannot be enabled.
 */
int sampler_pause(struct sampler *sampler, bool paused);

/*
 * Ends all streams, with the reason "shutdown", and opens no more. Returns whether there are any: then `ended` is
 * called from the event loop when the last one was freed.
 */
bool sampler_end(struct sampler *sampler, void (*ended)(void *userdata), void *userdata);
bool sampler_is_ending(const struct sampler *sampler);

/*
 * Whether a client of this standing may have samples. -EOPNOTSUPP (the sampler is not enabled), -EACCES, -EBUSY (the
 * daemon is ending), with a sentence.
 */
int sampler_admit(const struct sampler *sampler, enum standing standing, struct error *error);

/* For stream.c: a stream that runs. */
struct sampler_client {
    void *userdata;
    /* The stream must end, for this reason. */
    void (*end)(void *userdata, const char *reason);
    struct capture *capture; /* NULL after sampler_release_capture() */
    struct symbols *symbols;
    double seconds;           /* that it runs */
    bool own_event, own_rate; /* the request named them */
    enum standing standing;   /* of the request */
    bool waits_for_end;       /* no bytes wait before its end */
    size_t kept;              /* bytes that its writer keeps for the end */
    size_t waiting;           /* bytes of memory that hold what the client has not taken yet */
    LIST_ENTRY(sampler_client) entry;
};

/*
 * Gives the client a capture of what the request asks for. `seconds` stands where the request has none; 0: as many as
 * the configuration allows. Errors of stream_open(); `client` is untouched then.
 */
int sampler_join(struct sampler *sampler, const struct stream_request *request, double seconds,
                 struct sampler_client *client, struct error *error);
/* The client needs no more records: the rings may close. */
void sampler_release_capture(struct sampler *sampler, struct sampler_client *client);
/* The client is gone. */
void sampler_leave(struct sampler *sampler, struct sampler_client *client);

sd_event *sampler_event(const struct sampler *sampler);
struct sys *sampler_sys(const struct sampler *sampler);
/* The bytes that may wait for each client, given how many there are now. */
size_t sampler_bytes_per_client(const struct sampler *sampler);
/* Whether the writers of all clients together keep as much as they may. */
bool sampler_is_full(const struct sampler *sampler);
/* Limits the tables of symbols to the memory that the clients leave now. */
void sampler_limit_symbols(struct sampler *sampler);

#endif
