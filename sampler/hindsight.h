/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hindsight: samples are taken all the time, so that a client can ask for a profile of the past.
 *
 * Each CPU has a ring of samples, in which the kernel overwrites the oldest ones; the daemon does not wake up for them.
 * The records of processes, which names need, go to a second, small ring. They are read when a quarter of such a ring
 * is full, at most ten times a second, and are kept in separate memory.
 *
 * To be used only in the thread of the event loop.
 */
#ifndef SAMPLER_HINDSIGHT_H
#define SAMPLER_HINDSIGHT_H

#include "config/config.h"
#include "sampler/capture.h"

/* Number of events on each CPU; each has a descriptor. */
#define HINDSIGHT_EVENTS 2

/* Returns the data pages of each CPU's ring of samples, unless locked memory is short. */
size_t hindsight_ring_pages(const struct config_sampler *config, unsigned n_cpus);
/* Returns how many seconds such a ring holds for a busy CPU, estimated with 20 callers for each sample. */
double hindsight_ring_seconds(const struct config_sampler *config, size_t pages);

struct hindsight;

/*
 * Opens the rings of all online CPUs. `symbols` and `cgroups` must outlive it. Rings are made smaller until they fit
 * into the limit of locked memory. Returns the errors of record_options_make() and rings_open() with a sentence.
 */
int hindsight_open(struct sys *sys, sd_event *event, const struct machine *machine, struct symbols *symbols,
                   struct cgroup_lookup *cgroups, const struct config_sampler *config, struct hindsight **ret,
                   struct error *error);
struct hindsight *hindsight_free(struct hindsight *hindsight);

/* Like capture_cpus_changed(). The samples of CPUs that went offline are lost. */
void hindsight_cpus_changed(struct hindsight *hindsight, const struct machine *machine,
                            const struct cpuset *went_offline);
/* Stops or resumes sampling. Returns -errno of the first event that cannot be enabled. */
int hindsight_pause(struct hindsight *hindsight, bool paused);

/*
 * Makes a capture of the last `request->last` seconds, or of fewer if the samples of some CPU do not reach that far
 * back. `paths`, if any, are the cgroups to select, instead of the request's. Returns with a sentence: -EINVAL if the
 * request asks for something that was not sampled, the errors of record_options_of_past(), -EOPNOTSUPP if it names a
 * cgroup and the kernel does not tell cgroups (before Linux 5.7), -ENOMEM.
 */
int hindsight_look_back(struct hindsight *hindsight, const struct machine *machine,
                        const struct record_request *request, char *const *paths, size_t n_paths, struct capture **ret,
                        struct error *error);

#endif
