/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to a spec: see spec-make.h. */
#include "sampler/spec-make.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "cgroups/cgroupfs.h"
#include "perf/event-parse.h"
#include "sampler/client-event.h"

#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"

/* Rate */

/* The event's own rate, the client's, or the configured one, which is also that of the configured event. */
static int spec_set_rate(struct spec *spec, struct sys *sys, const struct config_sampler *config,
                         const struct stream_request *request, struct error *error)
{
    const struct event *event = &spec->events.events[0];
    bool own = request->event && (event->period || event->frequency);
    uint64_t frequency = own ? event->frequency : request->frequency, period = own ? event->period : request->period;
    _cleanup_(freep) char *text = NULL;
    uint64_t limit = UINT64_MAX;

    if (sys_read_file(sys, MAX_RATE, &text) == 0 && number_parse_u64(text, &limit) < 0)
        limit = UINT64_MAX;
    if (request->frequency && request->period)
        return error_set(error, -EINVAL, "frequency and period exclude each other");
    if (own && (request->frequency || request->period))
        return error_set(error, -EINVAL,
                         "parameter \"event\": \"%.256s\" has its rate in its terms; leave out the parameter \"%s\"",
                         event->text, request->period ? "period" : "frequency");
    if (frequency > limit)
        return error_set(error, -EINVAL,
                         "a frequency of %" PRIu64 " Hz is over the limit of %" PRIu64
                         ", kernel.perf_event_max_sample_rate; ask for less, or raise it",
                         frequency, limit);
    spec->period = frequency ? 0 : period;
    spec->frequency = frequency;
    if (spec->period || spec->frequency)
        return 0;
    /* The kernel lowers its limit if samples cost too much: the configured frequency follows it. */
    spec->period = config->period;
    spec->frequency = MIN(config->frequency, MAX(limit, 1));
    return 0;
}

/* CPUs, process, cgroup */

static int spec_set_cpus(struct spec *spec, const struct machine *machine, const struct stream_request *request,
                         struct error *error)
{
    _cleanup_(cpuset_done) struct cpuset rest = {0};

    if (!request->cpus)
        return cpuset_copy(&machine->possible, &spec->cpus) < 0 ? error_oom(error) : 0;
    int r = cpuset_parse(request->cpus, &spec->cpus, error);
    if (r < 0 && r != -ENOMEM)
        error_prefix(error, "parameter \"cpu\"");
    if (r < 0)
        return r == -ENOMEM ? r : -EINVAL;
    if (cpuset_copy(&spec->cpus, &rest) < 0)
        return error_oom(error);
    cpuset_subtract(&rest, &machine->possible);
    if (cpuset_count(&spec->cpus) == 0)
        return error_set(error, -EINVAL, "parameter \"cpu\": the list names no CPU");
    if (cpuset_count(&rest) > 0) {
        _cleanup_(freep) char *possible = cpuset_format(&machine->possible);
        return error_set(error, -EINVAL, "parameter \"cpu\": there is no CPU %d on this machine, only %.256s",
                         cpuset_next(&rest, -1), possible ? possible : "others");
    }
    cpuset_subtract(&spec->cpus, &rest);
    CPUSET_FOREACH (cpu, &spec->cpus)
        if (cpuset_has(&machine->online, (unsigned)cpu))
            return 0;
    return error_set(error, -EINVAL, "CPU %s is offline", request->cpus);
}

static int spec_set_process(struct spec *spec, const struct sys *sys, const struct stream_request *request,
                            struct error *error)
{
    char path[PATH_MAX];

    spec->pid = request->pid;
    if (!spec->pid)
        return 0;
    if (request->cgroup)
        return error_set(error, -EINVAL, "pid and cgroup exclude each other");
    snprintf(path, sizeof(path), "%s/proc/%" PRIu32 "/task", sys->root, spec->pid);
    if (access(path, F_OK) < 0 && errno == ENOENT) /* EPERM: it exists, hidden */
        return error_set(error, -ENOENT, "there is no process %" PRIu32, spec->pid);
    return 0;
}

/* Whether the path stays below the root of the cgroups. */
static bool path_is_plain(const char *path)
{
    size_t size = strlen(path);

    return path[0] == '/' && !strstr(path, "/../") && !(size >= 3 && str_equal(path + size - 3, "/.."));
}

static int spec_set_cgroup(struct spec *spec, struct sys *sys, const struct stream_request *request,
                           struct error *error)
{
    _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
    _cleanup_(freep) char *path = NULL;
    struct stat status;

    if (!request->cgroup)
        return 0;
    if (!path_is_plain(request->cgroup))
        return error_set(error, -EINVAL, "\"%.256s\" is not a path from the root of the cgroups, such as /system.slice",
                         request->cgroup);
    int r = hierarchy_find(sys, &hierarchy, error);
    if (r < 0)
        return r;
    spec->cgroup = strdup(request->cgroup);
    if (!spec->cgroup || asprintf(&path, "%s%s", hierarchy.path, request->cgroup) < 0)
        return error_oom(error);
    spec->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (spec->cgroup_fd < 0 || fstat(spec->cgroup_fd, &status) < 0) {
        r = errno == ENOTDIR || errno == ENAMETOOLONG ? -ENOENT : -errno;
        return r == -ENOENT
                   ? error_set(error, r, "there is no cgroup %.256s below %.128s", request->cgroup, hierarchy.path)
                   : error_set(error, r, "cgroup %.256s: %s", request->cgroup, strerror(-r));
    }
    spec->cgroup_inode = status.st_ino;
    return 0;
}

/* Events */

static int spec_parse_events(struct spec *spec, const char *text, struct error *error)
{
    event_list_done(&spec->events);
    int r = event_list_parse_sampled(text, &spec->events, error);

    if (r == -EINVAL)
        error_prefix(error, "parameter \"event\"");
    for (size_t i = 0; r == 0 && i < spec->events.n; i++)
        spec->read = spec->read || (spec->events.events[i].modifiers & EVENT_SAMPLE_READ);
    return r;
}

static int spec_check_events(const struct spec *spec, struct sys *sys, const struct machine *machine,
                             struct error *error)
{
    for (size_t i = 0; i < spec->events.n; i++) {
        int r = attr_check(sys, machine, &spec->events.events[i], error);
        if (r == -ENOMEM || r == -EACCES || r == -EPERM)
            return r;
        if (r < 0)
            return -EINVAL;
    }
    return 0;
}

/* Limits that only the kernel knows */

static int open_first(const struct spec *spec, struct sys *sys, const struct spec_group *group, int cpu)
{
    const struct sys_group first = {
        .attrs = group->attrs,
        .texts = group->texts,
        .n = 1,
        .pid = spec->pid ? (pid_t)spec->pid : spec->cgroup_fd,
        .cpu = cpu,
        .leader = -1,
        .flags = PERF_FLAG_FD_CLOEXEC | (spec->cgroup ? PERF_FLAG_PID_CGROUP : 0),
    };
    int fd;

    sys->open_group(sys, &first, &fd);
    return fd;
}

/* Opens the first event of each kind of CPU, and closes it. */
static int probe_kernel(const struct spec *spec, struct sys *sys, const struct machine *machine, struct error *error)
{
    const struct pmu *last = NULL;
    struct spec_group group;
    bool any = false;

    CPUSET_FOREACH (cpu, &spec->cpus) {
        if (!cpuset_has(&machine->online, (unsigned)cpu))
            continue;
        int r = spec_bind(spec, sys, machine, (unsigned)cpu, &group, error);
        if (r < 0)
            return r;
        if (group.n == 0 || group.pmu == last)
            continue;
        last = group.pmu;
        any = true;
        int fd = open_first(spec, sys, &group, cpu);
        if (fd < 0)
            return spec_refused(spec, machine, group.pmu, (unsigned)cpu, fd, error);
        sys->close(sys, fd);
    }
    return any ? 0
               : error_set(error, -EINVAL,
                           "%s cannot sample: it counts for several CPUs at once, or for none of the CPUs asked for",
                           spec->events.events[0].text);
}

/* Whether the leader may sample user space. */
static bool sees_user(const struct spec *spec)
{
    const unsigned rings = spec->events.events[0].modifiers & (EVENT_USER | EVENT_KERNEL | EVENT_HYPERVISOR);

    return !rings || (rings & EVENT_USER);
}

/* A process that may not sample the kernel may still sample user space. */
static int probe_or_user_only(struct spec *spec, struct sys *sys, const struct machine *machine, struct error *error)
{
    struct error of_kernel;
    int r = probe_kernel(spec, sys, machine, &of_kernel);

    if (r == -EACCES && sees_user(spec)) {
        spec->user_only = true;
        if (probe_kernel(spec, sys, machine, NULL) == 0)
            return 0;
        spec->user_only = false;
    }
    if (r < 0 && error)
        *error = of_kernel;
    return r;
}

/* "auto" is cycles, or the CPU clock if a CPU has no PMU, or one that does not interrupt. */
static int spec_check_or_fall_back(struct spec *spec, struct sys *sys, const struct machine *machine,
                                   const struct config_sampler *config, bool asked, bool automatic, struct error *error)
{
    int r = 0;

    for (size_t i = 0; asked && r == 0 && i < spec->events.n; i++)
        r = client_event_check(config, machine, &spec->events.events[i], error);
    if (r == 0 && !automatic)
        r = spec_check_events(spec, sys, machine, error);
    if (r == 0)
        r = probe_or_user_only(spec, sys, machine, error);
    if (r != -EINVAL || !automatic)
        return r;
    r = spec_parse_events(spec, "cpu-clock", error);
    return r < 0 ? r : probe_or_user_only(spec, sys, machine, error);
}

int spec_make(struct sys *sys, const struct machine *machine, const struct config_sampler *config,
              const struct stream_request *request, struct spec *ret, struct error *error)
{
    _cleanup_(spec_done) struct spec spec = {
        .callchain = config->callchain,
        .read = request->read,
        .ring_pages = config->ring_pages,
        .cgroup_fd = -1,
    };

    const char *text = request->event ? request->event : config->event;
    bool automatic = str_equal(text, "auto");
    int r = spec_parse_events(&spec, automatic ? "cycles" : text, error);
    if (r == 0)
        r = spec_set_rate(&spec, sys, config, request, error);
    if (r == 0)
        r = spec_set_cpus(&spec, machine, request, error);
    if (r == 0)
        r = spec_set_process(&spec, sys, request, error);
    if (r == 0)
        r = spec_set_cgroup(&spec, sys, request, error);
    if (r == 0)
        r = spec_check_or_fall_back(&spec, sys, machine, config, request->event, automatic, error);
    if (r < 0)
        return r;
    *ret = spec;
    spec = (struct spec){.cgroup_fd = -1};
    return 0;
}
