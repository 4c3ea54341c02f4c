/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to record: a client's request, as given in the URL's query string, and the options made from it.
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
    struct event_list events;   /* the first event that exists on a CPU is its leader, which triggers the samples */
    uint64_t frequency, period; /* sampling rate in Hz, or events per sample; one of the two is 0 */
    bool callchain;             /* samples have callchains */
    bool read;                  /* samples have the values of all events (PERF_SAMPLE_READ) */
    bool user_only;             /* kernel mode is excluded, because this process may not sample it */
    bool overwritten;           /* the kernel overwrites old samples, so process records go to other rings */
    bool off_cpu;               /* each sample is a wait (bpf/off-cpu.bpf.c), sampled on whole CPUs */
    uint64_t threshold_ns;      /* waits shorter than this are left out; only used with `off_cpu` */
    unsigned states;            /* mask of enum off_cpu_state, only used with `off_cpu`; 0 for all states */
    bool cgroups;               /* samples have the id of the task's cgroup (Linux 5.7) */
    size_t ring_pages;          /* number of data pages in each ring */
    struct cpuset cpus;         /* CPUs to sample whenever they are online */
    uint32_t pid;               /* PID of the process to sample, or 0 for all processes */
    char *cgroup;               /* path of a cgroup from the root of the hierarchy, or NULL for all cgroups */
    int cgroup_fd;              /* descriptor of the cgroup's directory, or -1 for all cgroups */
    uint64_t cgroup_inode;
    /*
     * The sorted ids (cgroup_id_key()) of the cgroup and its descendants, if samples of whole CPUs are selected by
     * cgroup; else NULL.
     */
    uint64_t *cgroup_ids;
    size_t n_cgroup_ids;
};

/*
 * Frees the content of the options. Empty options, which are zeroed except for a `cgroup_fd` of -1, are accepted as
 * well.
 */
void record_options_done(struct record_options *options);
bool record_options_equal(const struct record_options *a, const struct record_options *b);

/*
 * Returns the PID of the process whose threads each have their own events, or 0 if the events sample whole CPUs or a
 * cgroup.
 */
static inline uint32_t record_options_process(const struct record_options *options)
{
    return options->off_cpu ? 0 : options->pid;
}

/* The group to open on one CPU. */
struct record_group {
    size_t n; /* number of events in the group; 0 if this CPU has none of the options' events */
    struct perf_event_attr attrs[GROUP_MEMBERS_MAX];
    const char *texts[GROUP_MEMBERS_MAX]; /* probe texts, as in struct sys_group; borrowed from the options */
    uint8_t events[GROUP_MEMBERS_MAX];    /* index in options.events of each event of the group */
    const struct pmu *pmu;                /* PMU of the group's leader */
    size_t ring_pages;                    /* number of data pages in the leader's ring */
};
/* Makes the group for a CPU. Returns the errors from attr_build() with a message. */
int record_options_bind(const struct record_options *options, struct sys *sys, const struct machine *machine,
                        unsigned cpu, struct record_group *ret, struct error *error);
/*
 * Returns whether process records (names, mappings) are needed even from CPUs that the options do not sample, because a
 * process that was started on such a CPU can move to a sampled CPU.
 */
bool record_options_tracks(const struct record_options *options);
/*
 * For a CPU that is only tracked, makes a group of one dummy event, which never samples. The dummy event's records have
 * the same layout as the leader's, and its ring is small.
 */
void record_options_bind_tracking(const struct record_options *options, struct record_group *ret);

/* Sets the error message "there is no process PID". Returns -ENOENT. */
int record_options_no_process(uint32_t pid, struct error *error);
/*
 * Sets an error message that explains why the kernel refused, with `code` (-errno), to open the events on `cpu`. `pmu`,
 * the leader's PMU, may be NULL. Returns the error for the client: -EINVAL if this machine lacks something that the
 * request asks for, -ENOENT if the process or cgroup is gone, -EOPNOTSUPP if the sampler was enabled too late or a
 * library or key is missing (-ENOPKG, -ENOKEY), else `code`.
 */
int record_options_refused(const struct record_options *options, const struct machine *machine, const struct pmu *pmu,
                           unsigned cpu, int code, struct error *error);

/*
 * Checks whether a client may name the event. Returns -EACCES with a message for probes, breakpoints, events of PMUs
 * that trace, and tracepoints that sampler.tracepoints does not list. A probe that is not at the start of an
 * instruction corrupts the probed program, and the other refused events reveal more than samples do. Returns 0 for all
 * other events, even for events that this machine does not have. Pure.
 */
int client_event_check(const struct config_sampler *config, const struct machine *machine, const struct event *event,
                       struct error *error);

/* A client's request, which owns its strings. A zeroed request asks for default values. */
struct record_request {
    double seconds;             /* duration of the stream; 0 for the writer's default */
    double last;                /* if not 0, asks for samples of this many past seconds */
    char *event;                /* list of events, or NULL for the configured event */
    uint64_t frequency, period; /* sampling rate in Hz, or events per sample; 0 for the configured rate */
    char *cpus;                 /* CPU list such as "0-3,8", or NULL for all CPUs */
    char *cgroup; /* path of a cgroup from the root of the hierarchy, or a pattern, or NULL for all cgroups */
    char *names[N_NAME_KEYS]; /* name patterns for the owners of cgroups (containers, units), or NULL for any */
    uint32_t pid;             /* PID of the process to sample, or 0 for all processes */
    uint64_t max;             /* maximum number of records; 0 for no limit */
    bool read;                /* each sample has the values of all events of its group */
    double threshold;         /* shortest wait in seconds that the event off-cpu samples; 0 for the default, 1 ms */
    unsigned states;          /* mask of enum off_cpu_state, as in struct record_options */
    enum trust trust;         /* how far the client is trusted, for sampler_admit() */
    enum first_frame by;      /* what the first frame of each folded stack stands for */
    bool own;                 /* the request comes from this process, so client_event_check() is skipped */
};

/*
 * Query parameters accepted by formats that write each record (NDJSON, perf.data), by pprof, and by folded stacks.
 * NULL-terminated.
 */
extern const char *const stream_record_parameters[], *const stream_profile_parameters[],
                                                         *const stream_folded_parameters[];
/* Sets one parameter of the query. Returns -EINVAL with a message if the name or value is invalid, or -ENOMEM. */
int record_request_set(struct record_request *request, const char *name, const char *value, struct error *error);
void record_request_done(struct record_request *request);
/* Returns whether the request names the event off-cpu, which cannot be configured as the default event. */
bool record_request_is_off_cpu(const struct record_request *request);
/*
 * Returns whether the request selects cgroups by a pattern or by names, so that cgroup_lookup_find() must find them.
 * The strings of *ret_selector are borrowed from the request.
 */
bool record_request_selects_cgroups(const struct record_request *request, struct cgroup_selector *ret_selector);

/*
 * Makes the options from a request. Finds out what the kernel permits by opening the events and closing them again.
 * Returns these errors with a message: -EINVAL (no such event or CPU, a frequency over the limit, ...), -ENOENT (no
 * such cgroup or process), -EACCES (client_event_check()), -ENOMEM, errors from record_options_refused().
 */
int record_options_make(struct sys *sys, const struct machine *machine, const struct config_sampler *config,
                        const struct record_request *request, struct record_options *ret, struct error *error);
/*
 * Makes the options select samples by cgroup: by the cgroups in `paths`, or by the options' own cgroup if `paths` is
 * empty. Does nothing if the options have no cgroup either. `lookup`, which knows removed cgroups, may be NULL if there
 * are no paths. `what` names the feature that needs cgroups in samples, for the error message. Returns these errors
 * with a message: -EOPNOTSUPP if samples do not contain the cgroup (before Linux 5.7), -ENOMEM, errors from readdir(3).
 */
int record_options_choose_cgroups(struct record_options *options, struct sys *sys, const struct cgroup_lookup *lookup,
                                  char *const *paths, size_t n_paths, const char *what, struct error *error);
/*
 * Makes the options for a request for past samples, which were taken with the options `taken`: the request selects
 * CPUs, and a process or cgroup, among these samples. The process may have exited. Returns these errors with a message:
 * -EINVAL if the request has a parameter that only applies to future samples, -ENOENT (no such cgroup), -ENOMEM.
 */
int record_options_of_past(const struct record_options *taken, struct sys *sys, const struct machine *machine,
                           const struct record_request *request, struct record_options *ret, struct error *error);

#endif
