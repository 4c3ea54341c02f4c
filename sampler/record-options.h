/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to record: a client's request from the query of its URL, and the options that are made from it.
 *
 * The options are a request completed by the configuration and checked against the machine: which events sample, how,
 * and where. Clients with equal options share one capture (sampler/capture.h).
 */
#ifndef SAMPLER_RECORD_OPTIONS_H
#define SAMPLER_RECORD_OPTIONS_H

#include "base/error.h"
#include "cgroups/lookup.h"
#include "config/config.h"
#include "config/trust.h"
#include "perf/group.h"
#include "sampler/writer.h"

struct record_options {
    struct event_list events;   /* on each CPU, the first of these events that exists there is the leader, which
                                 * samples */
    uint64_t frequency, period; /* Hz, or events per sample; one of them is 0 */
    bool callchain;             /* samples have callchains */
    bool read;                  /* samples have the values of all events (PERF_SAMPLE_READ) */
    bool user_only;             /* kernel mode is excluded, because this process may not sample it */
    bool overwritten;           /* the kernel overwrites old samples; records of processes are in other rings */
    bool off_cpu;               /* each sample is a wait (bpf/off-cpu.bpf.c), sampled on whole CPUs */
    uint64_t threshold_ns;      /* shorter waits are left out; like `states`, only used with `off_cpu` */
    unsigned states;            /* a bit for each enum off_cpu_state; 0: all */
    bool cgroups;               /* samples have the id of the task's cgroup (Linux 5.7) */
    size_t ring_pages;          /* pages of data of each ring */
    struct cpuset cpus;         /* CPUs that are sampled while they are online */
    uint32_t pid;               /* 0: all processes */
    char *cgroup;               /* a path from the root of the cgroups; NULL: all */
    int cgroup_fd;              /* the directory of the cgroup; -1: all */
    uint64_t cgroup_inode;
    /*
     * If samples of whole CPUs are selected by cgroup: the sorted ids of the cgroup and of those below it
     * (cgroup_id_key()); else NULL.
     */
    uint64_t *cgroup_ids;
    size_t n_cgroup_ids;
};

/* Also accepts empty options, which are zeroed except for a `cgroup_fd` of -1. */
void record_options_done(struct record_options *options);
bool record_options_equal(const struct record_options *a, const struct record_options *b);

/* Returns the process whose threads have their own events; 0: none. */
static inline uint32_t record_options_process(const struct record_options *options)
{
    return options->off_cpu ? 0 : options->pid;
}

/* The group to open on one CPU. */
struct record_group {
    size_t n; /* 0: this CPU has none of the options' events */
    struct perf_event_attr attrs[GROUP_MEMBERS_MAX];
    const char *texts[GROUP_MEMBERS_MAX]; /* texts of probes, see struct sys_group; borrowed from the options */
    uint8_t events[GROUP_MEMBERS_MAX];    /* the index of each member in the options' events */
    const struct pmu *pmu;                /* PMU of the leader */
    size_t ring_pages;                    /* data pages of the leader's ring */
};
/* Makes the group for a CPU. Returns the errors of attr_build() with a sentence. */
int record_options_bind(const struct record_options *options, struct sys *sys, const struct machine *machine,
                        unsigned cpu, struct record_group *ret, struct error *error);
/*
 * Whether the options need the records of processes (names, mappings) also from CPUs that they do not sample:
 * processes that were started there can move to a sampled CPU.
 */
bool record_options_tracks(const struct record_options *options);
/*
 * Makes the group for a CPU that is only tracked: one dummy event, which never samples. Its records have the layout of
 * the leader's, and its ring is small.
 */
void record_options_bind_tracking(const struct record_options *options, struct record_group *ret);

/* Sets "there is no process PID". Returns -ENOENT. */
int record_options_no_process(uint32_t pid, struct error *error);
/*
 * Fills in a sentence that says why the kernel refused, with `code` (-errno), to open the options on `cpu`. `pmu` may
 * be NULL. Returns the error for the client: -EINVAL if this machine does not have what the request asks for, -ENOENT
 * if the process or cgroup is gone, -EOPNOTSUPP if the sampler was enabled too late or a library or key is missing
 * (-ENOPKG, -ENOKEY), else `code`.
 */
int record_options_refused(const struct record_options *options, const struct machine *machine, const struct pmu *pmu,
                           unsigned cpu, int code, struct error *error);

/*
 * Checks whether a client may name the event. Returns -EACCES with a sentence for probes, breakpoints, events of PMUs
 * that trace, and tracepoints that sampler.tracepoints does not list: a probe that is not at the start of an
 * instruction corrupts the program, and the others show more than samples do. Returns 0 for all other events, also for
 * events that this machine does not have. Pure.
 */
int client_event_check(const struct config_sampler *config, const struct machine *machine, const struct event *event,
                       struct error *error);

/* A client's request. Zeroed, it asks for the defaults. Strings are owned. */
struct record_request {
    double seconds;             /* 0: the writer's default */
    double last;                /* if not 0: asks for the last seconds, instead of the seconds to come */
    char *event;                /* a list of events; NULL: as configured */
    uint64_t frequency, period; /* Hz, or events per sample; 0: as configured */
    char *cpus;                 /* a CPU list such as "0-3,8"; NULL: all */
    char *cgroup;               /* a path from the root of the cgroups, or a pattern; NULL: all */
    char *names[N_NAME_KEYS];   /* patterns of names of what runs in the cgroup; NULL: any */
    uint32_t pid;               /* 0: all processes */
    uint64_t max;               /* limit of the number of records; 0: no limit */
    bool read;                  /* each sample has the values of all events of its group */
    double threshold;           /* seconds of the shortest wait, with the event off-cpu; 0: the default, 1 ms */
    unsigned states;            /* see struct record_options */
    enum trust trust;           /* trust of the client, see sampler_admit() */
    enum first_frame by;        /* first frame of folded stacks */
    bool own;                   /* the request is this process's own, so client_event_check() is skipped */
};

/*
 * Names of the parameters for formats that write each record (NDJSON, perf.data), for pprof, and for folded stacks.
 * NULL-terminated.
 */
extern const char *const stream_record_parameters[], *const stream_profile_parameters[],
                                                         *const stream_folded_parameters[];
/* Sets one parameter of the query. Returns -EINVAL with a sentence if the name or value is invalid, or -ENOMEM. */
int record_request_set(struct record_request *request, const char *name, const char *value, struct error *error);
void record_request_done(struct record_request *request);
/* Returns whether the request names the event off-cpu, which only a client's request can name. */
bool record_request_is_off_cpu(const struct record_request *request);
/*
 * Returns whether the request names its cgroup by more than a path, so that cgroup_lookup_find() must find it. The
 * strings of *ret_wish are borrowed from the request.
 */
bool record_request_wishes(const struct record_request *request, struct cgroup_wish *ret_wish);

/*
 * Makes the options from a request. Opens and closes events to find out what the kernel permits. Returns with a
 * sentence: -EINVAL (no such event or CPU, a frequency over the limit, ...), -ENOENT (no such cgroup or process),
 * -EACCES (client_event_check()), -ENOMEM, errors of record_options_refused().
 */
int record_options_make(struct sys *sys, const struct machine *machine, const struct config_sampler *config,
                        const struct record_request *request, struct record_options *ret, struct error *error);
/*
 * Selects samples by cgroup: those in `paths`, or in the options' own cgroup if there are no paths. Does nothing if
 * there is neither. `lookup` (NULL if there are no paths) knows removed cgroups. `what` is the feature that needs the
 * cgroup of a sample, for the error message. Returns with a sentence: -EOPNOTSUPP if it does not (before Linux 5.7),
 * -ENOMEM, errors of readdir(3).
 */
int record_options_choose_cgroups(struct record_options *options, struct sys *sys, const struct cgroup_lookup *lookup,
                                  char *const *paths, size_t n_paths, const char *what, struct error *error);
/*
 * Makes the options of a request for samples that were already taken with the options `taken`: the request selects
 * CPUs, and a process or cgroup, among these samples. The process may have ended. Returns with a sentence: -EINVAL if
 * the request has a parameter that only applies to future samples, -ENOENT (no such cgroup), -ENOMEM.
 */
int record_options_of_past(const struct record_options *taken, struct sys *sys, const struct machine *machine,
                           const struct record_request *request, struct record_options *ret, struct error *error);

#endif
