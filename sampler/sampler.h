/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: which captures run, for which clients. Nothing is open while there is no client.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include "config/config.h"
#include "sampler/capture.h"

struct sampler;

int sampler_new(struct sys *sys, sd_event *event, struct sampler **ret);
/* All streams must have been freed. */
struct sampler *sampler_free(struct sampler *sampler);

/*
 * Both are borrowed until the next call; `admits` is the lowest standing that may have samples. Streams end that the
 * new configuration would not allow, and those that rest on something that is another now: how it samples, or the event
 * and rate of who did not name them.
 */
void sampler_configure(struct sampler *sampler, const struct machine *machine, const struct config_sampler *config,
                       enum standing admits);
/* As sampler_configure(), with the CPUs that have left since (may be NULL), also those that are back. */
void sampler_cpus_changed(struct sampler *sampler, const struct machine *machine, const struct cpuset *left);

/*
 * From now on no samples are taken, or are again, for all streams that there are and will be. Streams stay open. -errno
 * of the first event that cannot be enabled.
 */
int sampler_pause(struct sampler *sampler, bool paused);

/*
 * Ends all streams, with the reason "shutdown", and opens no more. Whether there are any: then `ended` is called from
 * the event loop when the last one was freed.
 */
bool sampler_end(struct sampler *sampler, void (*ended)(void *userdata), void *userdata);
bool sampler_is_ending(const struct sampler *sampler);

/*
 * Whether a client of this standing may have samples. -EOPNOTSUPP (the sampler is not enabled), -EACCES, -EBUSY (the
 * daemon is ending), with a sentence.
 */
int sampler_admit(const struct sampler *sampler, enum standing standing, struct error *error);

/* For streams (stream.c): one that runs. */
struct sampler_client {
    void *userdata;
    /* It is to end, for this reason. */
    void (*end)(void *userdata, const char *reason);
    struct capture *capture; /* NULL: it has let go of it */
    struct symbols *symbols;
    double seconds;           /* that it runs */
    bool own_event, own_rate; /* named by the request */
    enum standing standing;   /* of the request */
    bool waits_for_end;       /* no bytes wait before its end */
    size_t kept;              /* bytes, by its writer, for the end */
    size_t waiting;           /* bytes that hold what it has not taken yet */
    struct sampler_client *next;
};

/*
 * Gives the client a capture of what is asked for, with `seconds` where the request has none (0: as long as may be).
 * Errors of stream_open(); `client` is untouched then.
 */
int sampler_join(struct sampler *sampler, const struct stream_request *request, double seconds,
                 struct sampler_client *client, struct error *error);
/* Needs no more records, so that the rings may close. */
void sampler_let_go(struct sampler *sampler, struct sampler_client *client);
void sampler_leave(struct sampler *sampler, struct sampler_client *client);

sd_event *sampler_event(const struct sampler *sampler);
uint64_t sampler_now(const struct sampler *sampler, clockid_t clock);
/* How many bytes may wait for one client, with as many as there are now. */
size_t sampler_bytes_per_client(const struct sampler *sampler);
/* Whether the writers of all clients keep as much as they may together. */
bool sampler_keeps_enough(const struct sampler *sampler);
/* Tables of symbols make room for what the clients take now. */
void sampler_make_room(struct sampler *sampler);

#endif
