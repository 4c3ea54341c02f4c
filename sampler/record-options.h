/* SPDX-License-Identifier: Apache-2.0 */
/* The spec of a capture: its events, how and where they sample. Clients whose specs are equal share one capture. */
#ifndef SAMPLER_RECORD_OPTIONS_H
#define SAMPLER_RECORD_OPTIONS_H

#include "perf/group.h"

struct spec {
    struct event_list events;   /* on each CPU, the first of them that is of this CPU samples */
    uint64_t frequency, period; /* one of them is 0 */
    bool callchain;             /* samples have callchains */
    bool read;                  /* samples have the values of all events */
    bool user_only;             /* the kernel does not let this process sample the kernel */
    size_t ring_pages;
    struct cpuset cpus; /* that are sampled when they are online */
    uint32_t pid;       /* 0: all processes */
    char *cgroup;       /* a path from the root of the cgroups; NULL: all */
    int cgroup_fd;      /* its directory; -1 */
    uint64_t cgroup_inode;
};

/* Also of a spec that is zeroed but for `cgroup_fd` -1. */
void spec_done(struct spec *spec);
bool spec_equal(const struct spec *a, const struct spec *b);

/* The events to open on one CPU, as perf_event_open(2) takes them: one group, whose leader samples. */
struct spec_group {
    size_t n; /* 0: none of the spec's events is of this CPU */
    struct perf_event_attr attrs[GROUP_MEMBERS_MAX];
    const char *texts[GROUP_MEMBERS_MAX]; /* of probes; borrowed from the spec */
    uint8_t events[GROUP_MEMBERS_MAX];    /* the index of each among the spec's events */
    const struct pmu *pmu;                /* of the leader */
    size_t ring_pages;                    /* of the leader's ring */
};
/* Errors of attr_build(), with a sentence. */
int spec_bind(const struct spec *spec, struct sys *sys, const struct machine *machine, unsigned cpu,
              struct spec_group *ret, struct error *error);

/*
 * Processes move to the CPUs that are sampled from CPUs that are not, where they were started and mapped their files.
 * Whether the spec needs the records of those CPUs, and the event that gives them: its records have the same layout,
 * and it never samples, so its ring is small.
 */
#define TRACKING_PAGES 8
bool spec_tracks(const struct spec *spec);
void spec_bind_tracking(const struct spec *spec, struct spec_group *ret);

/*
 * Fills in a sentence that says why the kernel refused (`code`, -errno) to open the spec on `cpu`. Returns the error
 * for the client: `code`, or -EINVAL if the request asks for something that this machine does not have.
 */
int spec_refused(const struct spec *spec, const struct machine *machine, const struct pmu *pmu, unsigned cpu, int code,
                 struct error *error);

#endif
