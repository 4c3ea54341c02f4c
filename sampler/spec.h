/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a capture samples: a client's request, completed by the configuration and held against the machine.
 *
 * Clients whose specs are equal share one set of rings.
 */
#ifndef SAMPLER_SPEC_H
#define SAMPLER_SPEC_H

#include "config/config.h"
#include "perf/group.h"
#include "sampler/stream-request.h"

struct spec {
    struct event_list events;   /* the first of those that are of a CPU samples there */
    uint64_t frequency, period; /* one of them is 0 */
    bool callchain, read;       /* `read`: samples have the values of all events */
    bool blind;                 /* the kernel refuses to be sampled by this process: user space only */
    size_t ring_pages;
    struct cpuset cpus; /* on which to sample when they are online */
    uint32_t pid;       /* 0: all */
    char *cgroup;       /* a path from the root of the cgroups; NULL: all */
    int cgroup_fd;      /* its directory; -1 */
    uint64_t cgroup_inode;
};

/*
 * With a sentence: -EINVAL (no such event or CPU, a frequency over the limit...), -ENOENT (no such cgroup or process).
 * Opens and closes an event where only the kernel can tell what it allows.
 */
int spec_make(struct sys *sys, const struct machine *machine, const struct config_sampler *config,
              const struct stream_request *request, struct spec *ret, struct error *error);
void spec_done(struct spec *spec);
bool spec_equal(const struct spec *a, const struct spec *b);

/* The events to open on one CPU, as the kernel wants them: one group, the event that samples first. */
struct spec_group {
    size_t n; /* 0: none of them is of this CPU */
    struct perf_event_attr attrs[GROUP_MEMBERS_MAX];
    const char *texts[GROUP_MEMBERS_MAX]; /* of probes; borrowed from the spec */
    uint8_t events[GROUP_MEMBERS_MAX];    /* which each is, of the spec's */
    const struct pmu *pmu;                /* of the first */
    size_t ring_pages;                    /* that the ring of the first is to have */
};
int spec_bind(const struct spec *spec, struct sys *sys, const struct machine *machine, unsigned cpu,
              struct spec_group *ret, struct error *error);

/*
 * Processes come to the CPUs that are sampled from those that are not, where they began and ran what they run. Whether
 * the spec has that told, and the event for it there: its records are laid out as the others', and it never samples, so
 * its ring is a small one.
 */
#define TRACKING_PAGES 8
bool spec_tracks(const struct spec *spec);
void spec_bind_tracking(const struct spec *spec, struct spec_group *ret);

/* Why the kernel refused (-errno) to open it on `cpu`: the message; `error` as it was, or -EINVAL for what is asked. */
int spec_refused(const struct spec *spec, const struct machine *machine, const struct pmu *pmu, unsigned cpu, int code,
                 struct error *error);

#endif
