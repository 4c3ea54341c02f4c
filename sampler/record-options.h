/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec of a capture: its events, how and where they sample. Clients whose specs are equal share one capture.
 *
 * The events that a client may name: those that count, and the tracepoints that the configuration lists. Pure.
 *
 * A client's request for samples, from the query of its URL.
 *
 * From a client's request to a spec: completed by the configuration, and checked against the machine.
 */
#ifndef SAMPLER_RECORD_OPTIONS_H
#define SAMPLER_RECORD_OPTIONS_H

#include "base/error.h"
#include "config/config.h"
#include "config/standing.h"
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
bool spec_tracks(const struct spec *spec);
void spec_bind_tracking(const struct spec *spec, struct spec_group *ret);

/*
 * Fills in a sentence that says why the kernel refused (`code`, -errno) to open the spec on `cpu`. Returns the error
 * for the client: `code`, or -EINVAL if the request asks for something that this machine does not have.
 */
int spec_refused(const struct spec *spec, const struct machine *machine, const struct pmu *pmu, unsigned cpu, int code,
                 struct error *error);

/*
 * -EACCES with a sentence for a probe, a breakpoint, an event of a PMU that traces, and a tracepoint that
 * sampler.tracepoints does not list: a probe that is not at the start of an instruction changes the program, and the
 * others show more than samples do. 0 otherwise, also for events that this machine does not have.
 */
int client_event_check(const struct config_sampler *config, const struct machine *machine, const struct event *event,
                       struct error *error);

/* Zeroed, it asks for the defaults. Texts are owned. */
struct stream_request {
    double seconds;             /* 0: the writer's default */
    char *event;                /* NULL: as configured */
    uint64_t frequency, period; /* Hz, or events; 0: as configured */
    char *cpus;                 /* a list; NULL: all */
    char *cgroup;               /* a path from the root of the cgroups; NULL: none */
    uint32_t pid;               /* 0: all */
    uint64_t max;               /* records; 0: no limit */
    bool read;                  /* each sample has the values of the group's events */
    enum standing standing;     /* of the client: see sampler_admit() */
};

/* The parameters of formats that show each record (NDJSON, perf.data), and of profiles. NULL-terminated. */
extern const char *const stream_record_parameters[], *const stream_profile_parameters[];
/* Sets one parameter of the query; -EINVAL with a sentence. */
int stream_request_set(struct stream_request *request, const char *name, const char *value, struct error *error);
void stream_request_done(struct stream_request *request);

/*
 * Opens and closes an event, since only the kernel knows what it allows. With a sentence: -EINVAL (no such event or
 * CPU, a frequency over the limit...), -ENOENT (no such cgroup or process), errors of spec_refused().
 */
int spec_make(struct sys *sys, const struct machine *machine, const struct config_sampler *config,
              const struct stream_request *request, struct spec *ret, struct error *error);

#endif
