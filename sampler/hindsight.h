/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hindsight: samples that are taken all the time, for profiles of what already happened.
 *
 * The kernel overwrites the oldest samples in a ring for each CPU, and no process of ours wakes up for them. The
 * records of processes, which names need, go to a small ring beside it. They are taken when a quarter of one is full,
 * at most ten times a second, and are kept in memory of their own.
 *
 * To be used only in the thread of the event loop.
 */
#ifndef SAMPLER_HINDSIGHT_H
#define SAMPLER_HINDSIGHT_H

#include "config/config.h"
#include "sampler/capture.h"

/* Events, each with a descriptor, on each CPU. */
#define HINDSIGHT_EVENTS 2

/* The pages of data of each CPU's ring of samples, unless locked memory is short. */
size_t hindsight_ring_pages(const struct config_sampler *config, unsigned n_cpus);
/* The seconds that such a ring holds of a busy CPU, estimated with 20 callers for each sample. */
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

/* As capture_cpus_changed(): what CPUs that went offline have sampled is gone. */
void hindsight_cpus_changed(struct hindsight *hindsight, const struct machine *machine,
                            const struct cpuset *went_offline);
/* Stops or resumes sampling. Returns -errno of the first event that cannot be enabled. */
int hindsight_pause(struct hindsight *hindsight, bool paused);

/*
 * Makes a capture of the last `request->last` seconds, or of fewer: of the time from which on the samples of all CPUs
 * are there. If there are `paths`, these are the cgroups, in place of the request's. Returns with a sentence: -EINVAL
 * if the request asks for what was not sampled, the errors of record_options_of_past(), -EOPNOTSUPP if it names a
 * cgroup and the kernel does not tell cgroups (before Linux 5.7), -ENOMEM.
 */
int hindsight_look_back(struct hindsight *hindsight, const struct machine *machine,
                        const struct record_request *request, char *const *paths, size_t n_paths, struct capture **ret,
                        struct error *error);

#endif
