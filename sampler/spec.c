/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture samples: see spec.h. The fields of perf_event_attr are those of perf_event_open(2). */
#include "sampler/spec.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/event/parse.h"
#include "perf/hierarchy.h"
#include "perf/reason.h"
#include "sampler/client-event.h"

#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"

void spec_done(struct spec *spec)
{
    event_list_done(&spec->events);
    cpuset_done(&spec->cpus);
    free(spec->cgroup);
    closep(&spec->cgroup_fd);
    *spec = (struct spec){.cgroup_fd = -1};
}

static bool events_equal(const struct event_list *a, const struct event_list *b)
{
    bool equal = a->n == b->n;

    for (size_t i = 0; i < a->n && equal; i++)
        equal = str_equal(a->events[i].text, b->events[i].text) && a->events[i].modifiers == b->events[i].modifiers &&
                a->events[i].precise == b->events[i].precise;
    return equal;
}

bool spec_equal(const struct spec *a, const struct spec *b)
{
    return events_equal(&a->events, &b->events) && a->frequency == b->frequency && a->period == b->period &&
           a->callchain == b->callchain && a->read == b->read && a->blind == b->blind &&
           a->ring_pages == b->ring_pages && cpuset_equal(&a->cpus, &b->cpus) && a->pid == b->pid &&
           !a->cgroup == !b->cgroup && a->cgroup_inode == b->cgroup_inode;
}

/* How often */

static int set_rate(struct spec *spec, struct sys *sys, const struct config_sampler *config,
                    const struct stream_request *request, struct error *error)
{
    _cleanup_(freep) char *text = NULL;
    uint64_t limit = UINT64_MAX;

    if (sys_read_file(sys, MAX_RATE, &text) == 0 && number_parse_u64(text, &limit) < 0)
        limit = UINT64_MAX;
    if (request->frequency && request->period)
        return error_set(error, -EINVAL, "frequency and period exclude each other");
    if (request->frequency > limit)
        return error_set(error, -EINVAL,
                         "a frequency of %" PRIu64 " Hz is over the limit of %" PRIu64
                         ", kernel.perf_event_max_sample_rate; ask for less, or raise it",
                         request->frequency, limit);
    spec->period = request->frequency ? 0 : request->period;
    spec->frequency = request->frequency;
    if (spec->period || spec->frequency)
        return 0;
    /* The kernel lowers its limit where samples cost too much: what nobody asked for follows. */
    spec->period = config->period;
    spec->frequency = MIN(config->frequency, MAX(limit, 1));
    return 0;
}

/* Where */

static int set_cpus(struct spec *spec, const struct machine *machine, const struct stream_request *request,
                    struct error *error)
{
    _cleanup_(cpuset_done) struct cpuset rest = {0};

    if (!request->cpus)
        return cpuset_copy(&machine->possible, &spec->cpus) < 0 ? error_oom(error) : 0;
    int r = cpuset_parse(request->cpus, &spec->cpus, error);
    if (r < 0 && r != -ENOMEM)
        error_prefix(error, "cpu");
    if (r < 0)
        return r == -ENOMEM ? r : -EINVAL;
    if (cpuset_copy(&spec->cpus, &rest) < 0)
        return error_oom(error);
    cpuset_subtract(&rest, &machine->possible);
    if (cpuset_count(&spec->cpus) == 0)
        return error_set(error, -EINVAL, "cpu: the list names no CPU");
    if (cpuset_count(&rest) > 0)
        return error_set(error, -EINVAL, "there is no CPU %d on this machine", cpuset_next(&rest, -1));
    cpuset_subtract(&spec->cpus, &rest);
    CPUSET_FOREACH (cpu, &spec->cpus)
        if (cpuset_has(&machine->online, (unsigned)cpu))
            return 0;
    return error_set(error, -EINVAL, "CPU %s is offline", request->cpus);
}

static int set_process(struct spec *spec, const struct sys *sys, const struct stream_request *request,
                       struct error *error)
{
    char path[PATH_MAX];

    spec->pid = request->pid;
    if (!spec->pid)
        return 0;
    if (request->cgroup)
        return error_set(error, -EINVAL, "pid and cgroup exclude each other");
    snprintf(path, sizeof(path), "%s/proc/%" PRIu32 "/task", sys->root, spec->pid);
    if (access(path, F_OK) < 0 && errno == ENOENT) /* EPERM: it is hidden, and there */
        return error_set(error, -ENOENT, "there is no process %" PRIu32, spec->pid);
    return 0;
}

/* Whether the path stays below the root of the cgroups. */
static bool path_is_plain(const char *path)
{
    size_t size = strlen(path);

    return path[0] == '/' && !strstr(path, "/../") && !(size >= 3 && str_equal(path + size - 3, "/.."));
}

static int set_cgroup(struct spec *spec, struct sys *sys, const struct stream_request *request, struct error *error)
{
    _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
    _cleanup_(freep) char *path = NULL;
    struct stat status;

    if (!request->cgroup)
        return 0;
    if (!path_is_plain(request->cgroup))
        return error_set(error, -EINVAL, "\"%.256s\" is no path from the root of the cgroups, as /system.slice is",
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
        return r == -ENOENT ? error_set(error, r, "there is no cgroup %.256s", request->cgroup)
                            : error_set(error, r, "cgroup %.256s: %s", request->cgroup, strerror(-r));
    }
    spec->cgroup_inode = status.st_ino;
    return 0;
}

/* What */

static int parse_events(struct spec *spec, const char *text, struct error *error)
{
    event_list_done(&spec->events);
    int r = event_list_parse_sampled(text, &spec->events, error);

    if (r == -EINVAL)
        error_prefix(error, "event");
    return r;
}

static int check_events(const struct spec *spec, struct sys *sys, const struct machine *machine, struct error *error)
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

/* Of the event that samples; what the others share with it is in both. */
static void make_leader(const struct spec *spec, size_t ring_pages, struct perf_event_attr *attr)
{
    attr->freq = spec->frequency != 0;
    attr->sample_period = spec->frequency ? spec->frequency : spec->period;
    attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_PERIOD | (spec->callchain ? PERF_SAMPLE_CALLCHAIN : 0) |
                        (spec->read ? PERF_SAMPLE_READ : 0);
    attr->disabled = 1;
    attr->sample_id_all = 1;
    attr->mmap = attr->mmap2 = 1;
    attr->comm = attr->comm_exec = 1;
    attr->task = 1;
    attr->ksymbol = !spec->blind;
    attr->watermark = 1;
    attr->wakeup_watermark = (uint32_t)(ring_pages * (size_t)sysconf(_SC_PAGESIZE) / 4);
}

/* Of every event. Before Linux 6.12 what is inherited cannot be read in samples: threads to come are left out then. */
static void make_member(const struct spec *spec, struct perf_event_attr *attr)
{
    attr->size = sizeof(*attr);
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->exclude_kernel |= spec->blind;
    attr->exclude_callchain_kernel = spec->blind;
    attr->inherit = spec->pid && !spec->read;
    if (spec->read)
        attr->read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

int spec_bind(const struct spec *spec, struct sys *sys, const struct machine *machine, unsigned cpu,
              struct spec_group *ret, struct error *error)
{
    struct attr attr;
    size_t wanted = spec->read ? GROUP_MEMBERS_MAX : 1;

    ret->n = 0;
    ret->ring_pages = spec->ring_pages;
    for (size_t i = 0; i < spec->events.n && ret->n < wanted; i++) {
        const struct pmu *pmu = attr_pmu(machine, &spec->events.events[i], cpu);
        if (!pmu)
            continue;
        int r = attr_build(sys, machine, &spec->events.events[i], pmu, &attr, error);
        if (r < 0)
            return r;
        make_member(spec, &attr.kernel);
        if (ret->n == 0) {
            make_leader(spec, spec->ring_pages, &attr.kernel);
            ret->pmu = pmu;
        } else {
            /* Precise is said of samples, pinned and exclusive of whole groups. */
            attr.kernel.precise_ip = 0;
            attr.kernel.pinned = attr.kernel.exclusive = 0;
        }
        ret->events[ret->n] = (uint8_t)i;
        ret->texts[ret->n] = attr.text;
        ret->attrs[ret->n++] = attr.kernel;
    }
    return 0;
}

/* A process tells of itself on each CPU, and so do those of a cgroup. */
bool spec_tracks(const struct spec *spec)
{
    return !spec->pid && !spec->cgroup;
}

void spec_bind_tracking(const struct spec *spec, struct spec_group *ret)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
    size_t pages = MIN(spec->ring_pages, TRACKING_PAGES);

    make_member(spec, &attr);
    make_leader(spec, pages, &attr);
    attr.freq = 0;
    attr.sample_period = 1; /* of what never happens */
    *ret = (struct spec_group){.n = 1, .attrs = {attr}, .ring_pages = pages};
}

int spec_refused(const struct spec *spec, const struct machine *machine, const struct pmu *pmu, unsigned cpu, int code,
                 struct error *error)
{
    char reason[400];

    if (code == -ESRCH && spec->pid)
        return error_set(error, -ENOENT, "there is no process %" PRIu32, spec->pid);
    if (code == -EUNATCH) /* of the opener */
        return error_set(error, -EOPNOTSUPP, "the sampler was enabled after the start; restart perfcountd");
    if ((code == -EOPNOTSUPP || code == -EINVAL) && pmu && !pmu->absent && spec->events.events[0].precise) {
        return error_set(error, -EINVAL, "cpu %u %s: the PMU has no such precise samples (%s); ask for fewer p", cpu,
                         spec->events.events[0].text, reason_name(code));
    }
    reason_format(machine, pmu, code, reason, sizeof(reason));
    error_set(error, code, "cpu %u %s: %s", cpu, spec->events.events[0].text, reason);
    switch (code) {
    case -ENOENT: /* of an event, which is not what a client that asks for a process or cgroup is told by it */
    case -EOPNOTSUPP:
    case -ENODEV:
    case -ENXIO:
    case -E2BIG:
        return -EINVAL;
    case -ENOPKG:
    case -ENOKEY:
        return -EOPNOTSUPP;
    }
    return code;
}

/* What the kernel allows */

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
static int probe(const struct spec *spec, struct sys *sys, const struct machine *machine, struct error *error)
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
                           "%s cannot sample: it counts for several CPUs, or is of none that is asked for",
                           spec->events.events[0].text);
}

/* Whether what samples has anything to say of user space. */
static bool sees_user(const struct spec *spec)
{
    const unsigned rings = spec->events.events[0].modifiers & (EVENT_USER | EVENT_KERNEL | EVENT_HYPERVISOR);

    return !rings || (rings & EVENT_USER);
}

/* Who may not see the kernel may see the rest. */
static int probe_seeing(struct spec *spec, struct sys *sys, const struct machine *machine, struct error *error)
{
    struct error seeing;
    int r = probe(spec, sys, machine, &seeing);

    if (r == -EACCES && sees_user(spec)) {
        spec->blind = true;
        if (probe(spec, sys, machine, NULL) == 0)
            return 0;
        spec->blind = false;
    }
    if (r < 0 && error)
        *error = seeing;
    return r;
}

/* Cycles, unless there is a CPU that has no PMU or one whose PMU does not interrupt. */
static int choose_events(struct spec *spec, struct sys *sys, const struct machine *machine,
                         const struct config_sampler *config, const char *of_client, struct error *error)
{
    const char *text = of_client ? of_client : config->event;
    bool automatic = str_equal(text, "auto");
    int r = parse_events(spec, automatic ? "cycles" : text, error);

    for (size_t i = 0; of_client && r == 0 && i < spec->events.n; i++)
        r = client_event_check(config, machine, &spec->events.events[i], error);
    if (r == 0 && !automatic)
        r = check_events(spec, sys, machine, error);
    if (r == 0)
        r = probe_seeing(spec, sys, machine, error);
    if (r != -EINVAL || !automatic)
        return r;
    r = parse_events(spec, "cpu-clock", error);
    return r < 0 ? r : probe_seeing(spec, sys, machine, error);
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

    int r = set_rate(&spec, sys, config, request, error);
    if (r == 0)
        r = set_cpus(&spec, machine, request, error);
    if (r == 0)
        r = set_process(&spec, sys, request, error);
    if (r == 0)
        r = set_cgroup(&spec, sys, request, error);
    if (r == 0)
        r = choose_events(&spec, sys, machine, config, request->event, error);
    if (r < 0)
        return r;
    *ret = spec;
    spec = (struct spec){.cgroup_fd = -1};
    return 0;
}
