/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hindsight samples continuously, so that a client can ask for a profile of the past.
 *
 * Each CPU has a sample ring, in which the kernel overwrites the oldest samples; the daemon does not wake up to read
 * these rings. Process records, which are needed to resolve names, go to a second, small ring on each CPU. The daemon
 * reads these rings when a quarter of any of them is full, at most ten times a second, and keeps the process records in
 * separate memory.
 *
 * Hindsight may be used only in the thread of the event loop.
 */
#ifndef SAMPLER_HINDSIGHT_H
#define SAMPLER_HINDSIGHT_H

#include "config/config.h"
#include "sampler/capture.h"

/* Number of events, and thus of descriptors, that hindsight opens on each CPU. */
#define HINDSIGHT_EVENTS 2

/*
 * Returns the number of data pages in each CPU's sample ring. The actual number is lower if not enough memory can be
 * locked.
 */
size_t hindsight_ring_pages(const struct config_sampler *config, unsigned n_cpus);
/*
 * Returns an estimate of how many seconds of samples a ring of `pages` data pages holds for a busy CPU, if each sample
 * has 20 callers.
 */
double hindsight_ring_seconds(const struct config_sampler *config, size_t pages);

struct hindsight;

/*
 * Opens the rings of all online CPUs. `symbols` and `cgroups` must outlive the hindsight object. Rings are made smaller
 * until they fit within the limit for locked memory. Returns the errors from record_options_make() and rings_open()
 * with a message.
 */
int hindsight_open(struct sys *sys, sd_event *event, const struct machine *machine, struct symbols *symbols,
                   struct cgroup_lookup *cgroups, const struct config_sampler *config, struct hindsight **ret,
                   struct error *error);
struct hindsight *hindsight_free(struct hindsight *hindsight);

/*
 * Like capture_cpus_changed(). Opens and closes rings after CPUs have come online or gone offline. The samples of CPUs
 * that have gone offline are lost.
 */
void hindsight_cpus_changed(struct hindsight *hindsight, const struct machine *machine,
                            const struct cpuset *went_offline);
/* Stops or resumes sampling. Returns -errno of the first event that cannot be enabled. */
int hindsight_pause(struct hindsight *hindsight, bool paused);

/*
 * Makes a capture of the last `request->last` seconds, or of fewer if the samples of some CPU do not reach that far
 * back. `paths`, if not NULL, lists the cgroups to select, instead of the cgroup in the request. Returns these errors
 * with a message: -EINVAL if the request asks for something that was not sampled, the errors from
 * record_options_of_past(), -EOPNOTSUPP if the request names a cgroup but samples do not contain the cgroup (before
 * Linux 5.7), -EBUSY if no CPU of the request has a ring buffer, -ENOMEM.
 */
int hindsight_look_back(struct hindsight *hindsight, const struct machine *machine,
                        const struct record_request *request, char *const *paths, size_t n_paths, struct capture **ret,
                        struct error *error);

#endif
