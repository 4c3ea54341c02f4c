/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/record-options.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "bpf/off-cpu.h"
#include "cgroups/cgroupfs.h"
#include "perf/event-parse.h"
#include "perf/event.h"
#include "perf/reason.h"

/* Maximum number of data pages in the ring of a CPU that is only tracked. */
#define TRACKING_PAGES 8

/* --- options --- */

void record_options_done(struct record_options *options)
{
    event_list_done(&options->events);
    cpuset_done(&options->cpus);
    free(options->cgroup);
    closep(&options->cgroup_fd);
    free(options->cgroup_ids);
    *options = (struct record_options){.cgroup_fd = -1};
}

static bool events_equal(const struct event_list *a, const struct event_list *b)
{
    bool equal = a->n == b->n;

    for (size_t i = 0; i < a->n && equal; i++)
        equal = str_equal(a->events[i].text, b->events[i].text) && a->events[i].modifiers == b->events[i].modifiers &&
                a->events[i].precise == b->events[i].precise;
    return equal;
}

bool record_options_equal(const struct record_options *a, const struct record_options *b)
{
    return events_equal(&a->events, &b->events) && a->frequency == b->frequency && a->period == b->period &&
           a->callchain == b->callchain && a->read == b->read && a->user_only == b->user_only &&
           a->ring_pages == b->ring_pages && cpuset_equal(&a->cpus, &b->cpus) && a->pid == b->pid &&
           !a->cgroup == !b->cgroup && a->cgroup_inode == b->cgroup_inode && a->off_cpu == b->off_cpu &&
           a->threshold_ns == b->threshold_ns && a->states == b->states && !a->cgroup_ids == !b->cgroup_ids &&
           a->n_cgroup_ids == b->n_cgroup_ids &&
           (a->n_cgroup_ids == 0 || memcmp(a->cgroup_ids, b->cgroup_ids, a->n_cgroup_ids * sizeof(uint64_t)) == 0);
}

/*
 * Sets the attr fields that only the leader has. The kernel wakes up a process in poll(2) when a quarter of the ring is
 * full.
 */
static void attr_make_leader(const struct record_options *options, size_t ring_pages, struct perf_event_attr *attr)
{
    attr->freq = options->frequency != 0;
    attr->sample_period = options->frequency ? options->frequency : options->period;
    attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_PERIOD | (options->callchain ? PERF_SAMPLE_CALLCHAIN : 0) |
                        (options->read ? PERF_SAMPLE_READ : 0) | (options->cgroups ? PERF_SAMPLE_CGROUP : 0) |
                        (options->off_cpu ? PERF_SAMPLE_RAW : 0);
    attr->disabled = 1;
    attr->sample_id_all = 1;
    attr->watermark = 1;
    attr->wakeup_watermark = (uint32_t)(ring_pages * (size_t)sysconf(_SC_PAGESIZE) / 4);
}

/* Requests process records, from which names are resolved. */
static void attr_track_processes(const struct record_options *options, struct perf_event_attr *attr)
{
    attr->mmap = attr->mmap2 = 1;
    attr->comm = attr->comm_exec = 1;
    attr->task = 1;
    attr->ksymbol = !options->user_only;
    attr->cgroup = options->cgroups;
}

/*
 * Sets the attr fields that all events have. Linux before 6.12 refuses `inherit` with PERF_SAMPLE_READ, so if `read` is
 * set, threads that start later are not sampled.
 */
static void attr_make_member(const struct record_options *options, struct perf_event_attr *attr)
{
    attr->size = sizeof(*attr);
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->exclude_kernel |= options->user_only;
    attr->exclude_callchain_kernel = options->user_only;
    attr->inherit = record_options_process(options) && !options->read;
    if (options->read)
        attr->read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

int record_options_bind(const struct record_options *options, struct sys *sys, const struct machine *machine,
                        unsigned cpu, struct record_group *ret, struct error *error)
{
    struct attr attr;
    size_t limit = options->read ? GROUP_MEMBERS_MAX : 1;

    ret->n = 0;
    ret->ring_pages = options->ring_pages;
    for (size_t i = 0; i < options->events.n && ret->n < limit; i++) {
        const struct pmu *pmu = attr_pmu(machine, &options->events.events[i], cpu);
        if (!pmu)
            continue;
        int r = attr_build(sys, machine, &options->events.events[i], pmu, &attr, error);
        if (r < 0)
            return r;
        attr_make_member(options, &attr.kernel);
        if (ret->n == 0) {
            attr_make_leader(options, options->ring_pages, &attr.kernel);
            if (!options->overwritten)
                attr_track_processes(options, &attr.kernel);
            attr.kernel.write_backward = options->overwritten;
            ret->pmu = pmu;
        } else {
            /* precise_ip only matters for samples; pinned and exclusive are set on the leader for the whole group. */
            attr.kernel.precise_ip = 0;
            attr.kernel.pinned = attr.kernel.exclusive = 0;
        }
        ret->events[ret->n] = (uint8_t)i;
        ret->texts[ret->n] = attr.text;
        ret->attrs[ret->n++] = attr.kernel;
    }
    return 0;
}

/* The events for a process or a cgroup are opened only on the sampled CPUs. */
bool record_options_tracks(const struct record_options *options)
{
    return !record_options_process(options) && !options->cgroup && !options->overwritten;
}

void record_options_bind_tracking(const struct record_options *options, struct record_group *ret)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
    size_t pages = cpuset_count(&options->cpus) ? MIN(options->ring_pages, TRACKING_PAGES) : options->ring_pages;

    attr_make_member(options, &attr);
    attr_make_leader(options, pages, &attr);
    attr_track_processes(options, &attr);
    attr.freq = 0;
    attr.sample_period = 1; /* never reached, because a dummy event never occurs */
    *ret = (struct record_group){.n = 1, .attrs = {attr}, .ring_pages = pages};
}

/* Returns whether the options' cgroup is gone. A cgroup is gone if its directory no longer has any files. */
static bool cgroup_is_gone(const struct record_options *options)
{
    return options->cgroup && faccessat(options->cgroup_fd, "cgroup.procs", F_OK, 0) < 0 && errno == ENOENT;
}

int record_options_no_process(uint32_t pid, struct error *error)
{
    return error_set(error, -ENOENT, "there is no process %" PRIu32, pid);
}

int record_options_refused(const struct record_options *options, const struct machine *machine, const struct pmu *pmu,
                           unsigned cpu, int code, struct error *error)
{
    char reason[480];

    if (code == -ESRCH && options->pid)
        return record_options_no_process(options->pid, error);
    if (code == -ENOENT && cgroup_is_gone(options))
        return error_set(error, -ENOENT, "the cgroup %.256s no longer exists", options->cgroup);
    /*
     * In a hierarchy without controllers, perf_event_open(2) does not know the cgroups. A software event exists on
     * every machine, so ENOENT for a software event does not mean that the event is missing.
     */
    if (code == -ENOENT && options->cgroup && !(pmu && pmu->absent))
        return error_set(error, -EINVAL,
                         "cpu %u %s: %sperf does not know this cgroup (ENOENT): enable a controller, such as "
                         "+pids, in the cgroup.subtree_control of its parent",
                         cpu, options->events.events[0].text,
                         pmu && pmu->type == PERF_TYPE_SOFTWARE ? "" : "this PMU has no such event, or ");
    if (code == -EUNATCH) /* error from an opener that was started with the sampler disabled (opener/protocol.h) */
        return error_set(error, -EOPNOTSUPP, REASON_SAMPLER_LATE);
    if ((code == -EOPNOTSUPP || code == -EINVAL) && pmu && !pmu->absent && options->events.events[0].precise) {
        return error_set(error, -EINVAL, "cpu %u %s: the PMU cannot sample that precisely (%s); ask for fewer p", cpu,
                         options->events.events[0].text, reason_name(code));
    }
    reason_format(machine, pmu, code, reason, sizeof(reason));
    error_set(error, code, "cpu %u %s: %s", cpu, options->events.events[0].text, reason);
    switch (code) {
    case -ENOENT: /* the event does not exist; clients would take -ENOENT for a missing process or cgroup */
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

/* --- events of clients --- */

static bool is_listed(const struct config_sampler *config, const struct event *event)
{
    size_t system = strlen(event->system);

    for (size_t i = 0; i < config->n_tracepoints; i++) {
        const char *listed = config->tracepoints[i];
        if (strncmp(listed, event->system, system) == 0 && listed[system] == ':' &&
            str_equal(listed + system + 1, event->name))
            return true;
    }
    return false;
}

/* Returns whether all PMUs that have the event do nothing besides counting (PMU_COUNTING). */
static bool only_counts(const struct machine *machine, const struct event *event)
{
    if (event->kind == EVENT_PMU && pmu_kind(event->pmu) != PMU_COUNTING)
        return false;
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (pmu_kind(machine->pmus[i]->name) != PMU_COUNTING && attr_names_pmu(machine, event, machine->pmus[i]))
            return false;
    return true;
}

int client_event_check(const struct config_sampler *config, const struct machine *machine, const struct event *event,
                       struct error *error)
{
    if (event->kind == EVENT_TRACEPOINT)
        return is_listed(config, event) ? 0
                                        : error_set(error, -EACCES,
                                                    "event: \"%s\" is not allowed: clients may name only the "
                                                    "tracepoints of sampler.tracepoints in the configuration",
                                                    event->text);
    if (event->kind != EVENT_BREAKPOINT && only_counts(machine, event))
        return 0;
    return error_set(
        error, -EACCES,
        "event: \"%s\" is not allowed: only the configuration may name probes, breakpoints and tracing PMUs",
        event->text);
}

/* --- request --- */

/* Upper limit for process IDs: PID_MAX_LIMIT on 64-bit kernels (include/linux/threads.h). */
#define CGROUPS_MAX 65536
#define PID_LIMIT (4 * 1024 * 1024)
#define TEXT_MAX 8192

struct parameter {
    const char *name;
    int (*parse)(const struct parameter *parameter, const char *value, void *field, struct error *error);
    size_t offset; /* offset of the parameter's field in struct record_request */
    uint64_t max;  /* largest value that the parameter may have */
};

static int parse_u64(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    uint64_t number;
    int r = number_parse_u64(value, &number);

    if (r < 0 || number == 0 || number > parameter->max)
        return error_set(error, -EINVAL, "expected a whole number from 1 to %" PRIu64 ", found \"%.64s\"",
                         parameter->max, value);
    *(uint64_t *)field = number;
    return 0;
}

static int parse_pid(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    uint64_t pid = 0;
    int r = parse_u64(parameter, value, &pid, error);

    if (r == 0)
        *(uint32_t *)field = (uint32_t)pid;
    return r;
}

static int parse_seconds(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    uint64_t ns;

    (void)parameter;
    if (number_parse_seconds(value, &ns) < 0 || ns < NSEC_PER_MSEC)
        return error_set(error, -EINVAL, "expected seconds, at least 0.001, or a duration such as 5m, found \"%.64s\"",
                         value);
    *(double *)field = (double)ns / (double)NSEC_PER_SEC;
    return 0;
}

static int parse_threshold(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    uint64_t ns;

    (void)parameter;
    if (number_parse_seconds(value, &ns) < 0 || ns == 0)
        return error_set(error, -EINVAL, "expected seconds above 0, or a duration such as 10ms, found \"%.64s\"",
                         value);
    *(double *)field = (double)ns / (double)NSEC_PER_SEC;
    return 0;
}

static int parse_state(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    static const struct {
        const char *name;
        unsigned states;
    } known[] = {
        {"runnable", 1U << OFF_CPU_RUNNABLE},
        {"sleeping", 1U << OFF_CPU_SLEEPING},
        {"uninterruptible", 1U << OFF_CPU_UNINTERRUPTIBLE},
        {"stopped", 1U << OFF_CPU_STOPPED},
        {"blocked", 1U << OFF_CPU_SLEEPING | 1U << OFF_CPU_UNINTERRUPTIBLE | 1U << OFF_CPU_STOPPED},
    };

    (void)parameter;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (str_equal(value, known[i].name)) {
            *(unsigned *)field = known[i].states;
            return 0;
        }
    return error_set(error, -EINVAL,
                     "expected runnable, blocked, sleeping, uninterruptible or stopped, found \"%.64s\"", value);
}

static int parse_flag(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    (void)parameter;
    if (!str_equal(value, "0") && !str_equal(value, "1"))
        return error_set(error, -EINVAL, "expected 0 or 1, found \"%.64s\"", value);
    *(bool *)field = value[0] == '1';
    return 0;
}

static int parse_by(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    static const char *const names[] = {
        [BY_PROCESS] = "process", [BY_THREAD] = "thread", [BY_CGROUP] = "cgroup", [BY_CONTAINER] = "container"};

    (void)parameter;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_equal(value, names[i])) {
            *(enum first_frame *)field = (enum first_frame)i;
            return 0;
        }
    return error_set(error, -EINVAL, "expected process, thread, cgroup or container, found \"%.64s\"", value);
}

static int parse_text(const struct parameter *parameter, const char *value, void *field, struct error *error)
{
    size_t size = strlen(value);
    char **text = field;

    (void)parameter;
    if (size == 0 || size > TEXT_MAX)
        return error_set(error, -EINVAL, "the value is %s", size ? "too long" : "empty");
    char *copy = strdup(value);
    if (!copy)
        return error_oom(error);
    free(*text);
    *text = copy;
    return 0;
}

#define FIELD(field) offsetof(struct record_request, field)

static const struct parameter parameters[] = {
    {"seconds", parse_seconds, FIELD(seconds), 0},
    {"last", parse_seconds, FIELD(last), 0},
    {"event", parse_text, FIELD(event), 0},
    {"frequency", parse_u64, FIELD(frequency), INT64_MAX},
    {"period", parse_u64, FIELD(period), INT64_MAX},
    {"cpu", parse_text, FIELD(cpus), 0},
    {"cgroup", parse_text, FIELD(cgroup), 0},
    {"unit", parse_text, FIELD(names[NAME_UNIT]), 0},
    {"slice", parse_text, FIELD(names[NAME_SLICE]), 0},
    {"container_id", parse_text, FIELD(names[NAME_CONTAINER_ID]), 0},
    {"container", parse_text, FIELD(names[NAME_CONTAINER]), 0},
    {"image", parse_text, FIELD(names[NAME_IMAGE]), 0},
    {"pod", parse_text, FIELD(names[NAME_POD]), 0},
    {"namespace", parse_text, FIELD(names[NAME_NAMESPACE]), 0},
    {"compose_project", parse_text, FIELD(names[NAME_COMPOSE_PROJECT]), 0},
    {"compose_service", parse_text, FIELD(names[NAME_COMPOSE_SERVICE]), 0},
    {"runtime", parse_text, FIELD(names[NAME_RUNTIME]), 0},
    {"pid", parse_pid, FIELD(pid), PID_LIMIT},
    {"max", parse_u64, FIELD(max), INT64_MAX},
    {"read", parse_flag, FIELD(read), 0},
    {"threshold", parse_threshold, FIELD(threshold), 0},
    {"state", parse_state, FIELD(states), 0},
    {"by", parse_by, FIELD(by), 0},
};

/* Query parameters that all formats accept. */
#define COMMON_PARAMETERS                                                                                              \
    "seconds", "last", "event", "frequency", "period", "cpu", "cgroup", "unit", "slice", "container_id", "container",  \
        "image", "pod", "namespace", "compose_project", "compose_service", "runtime", "pid", "threshold", "state"

const char *const stream_record_parameters[] = {COMMON_PARAMETERS, "max", "read", NULL};
const char *const stream_profile_parameters[] = {COMMON_PARAMETERS, NULL};
const char *const stream_folded_parameters[] = {COMMON_PARAMETERS, "by", NULL};

int record_request_set(struct record_request *request, const char *name, const char *value, struct error *error)
{
    const struct parameter *parameter = parameters;

    while (parameter < parameters + ARRAY_SIZE(parameters) && !str_equal(parameter->name, name))
        parameter++;
    if (parameter == parameters + ARRAY_SIZE(parameters))
        return error_set(error, -EINVAL, "unknown parameter \"%.64s\"", name);
    int r = parameter->parse(parameter, value, (char *)request + parameter->offset, error);
    if (r == -EINVAL)
        error_prefix(error, "parameter \"%s\"", name);
    return r;
}

void record_request_done(struct record_request *request)
{
    free(request->event);
    free(request->cpus);
    free(request->cgroup);
    for (size_t i = 0; i < N_NAME_KEYS; i++)
        free(request->names[i]);
    *request = (struct record_request){0};
}

#define OFF_CPU "off-cpu"

bool record_request_is_off_cpu(const struct record_request *request)
{
    return request->event && str_equal(request->event, OFF_CPU);
}

bool record_request_selects_cgroups(const struct record_request *request, struct cgroup_selector *ret_selector)
{
    const char *cgroup = request->cgroup;
    struct cgroup_selector selector = {0};

    for (size_t i = 0; i < N_NAME_KEYS; i++)
        selector.names[i] = request->names[i];
    if (cgroup_selector_is_empty(&selector) && (!cgroup || (cgroup[0] == '/' && !strpbrk(cgroup, "*?["))))
        return false;
    selector.cgroup = cgroup;
    *ret_selector = selector;
    return true;
}

/* --- from a request to its options --- */

#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"

/*
 * Sets the sampling rate: a rate in the terms of the client's event takes precedence over the client's parameters,
 * which take precedence over the configured rate. The configured rate already takes the terms of the configured event
 * into account (config/config.c).
 */
static int record_options_set_rate(struct record_options *options, struct sys *sys, const struct config_sampler *config,
                                   const struct record_request *request, struct error *error)
{
    const struct event *event = &options->events.events[0];
    bool own = request->event && (event->period || event->frequency);
    uint64_t frequency = own ? event->frequency : request->frequency, period = own ? event->period : request->period;
    _cleanup_(freep) char *text = NULL;
    uint64_t limit = UINT64_MAX;

    if (sys_read_file(sys, MAX_RATE, &text) == 0 && number_parse_u64(text, &limit) < 0)
        limit = UINT64_MAX;
    if (request->frequency && request->period)
        return error_set(error, -EINVAL, "frequency and period exclude each other");
    if (own && (request->frequency || request->period))
        return error_set(
            error, -EINVAL,
            "parameter \"event\": \"%.256s\" already sets the rate in a term; leave out the parameter \"%s\"",
            event->text, request->period ? "period" : "frequency");
    if (frequency > limit)
        return error_set(error, -EINVAL,
                         "a frequency of %" PRIu64 " Hz is over the limit of %" PRIu64
                         ", kernel.perf_event_max_sample_rate; ask for less, or raise it",
                         frequency, limit);
    options->period = frequency ? 0 : period;
    options->frequency = frequency;
    if (options->period || options->frequency)
        return 0;
    /*
     * The kernel lowers the maximum sample rate if samples take too much time, so the configured frequency is reduced
     * to this maximum.
     */
    options->period = config->period;
    options->frequency = MIN(config->frequency, MAX(limit, 1));
    return 0;
}

static int record_options_set_cpus(struct record_options *options, const struct machine *machine,
                                   const struct record_request *request, struct error *error)
{
    _cleanup_(cpuset_done) struct cpuset rest = {0};

    if (!request->cpus)
        return cpuset_copy(&machine->possible, &options->cpus) < 0 ? error_oom(error) : 0;
    int r = cpuset_parse(request->cpus, &options->cpus, error);
    if (r < 0 && r != -ENOMEM)
        error_prefix(error, "parameter \"cpu\"");
    if (r < 0)
        return r == -ENOMEM ? r : -EINVAL;
    if (cpuset_copy(&options->cpus, &rest) < 0)
        return error_oom(error);
    cpuset_subtract(&rest, &machine->possible);
    if (cpuset_count(&options->cpus) == 0)
        return error_set(error, -EINVAL, "parameter \"cpu\": the list contains no CPU");
    if (cpuset_count(&rest) > 0) {
        _cleanup_(freep) char *unknown = cpuset_format(&rest);
        cpuset_refuse(&machine->possible, unknown ? unknown : "", error);
        error_prefix(error, "parameter \"cpu\"");
        return -EINVAL;
    }
    cpuset_subtract(&options->cpus, &rest);
    CPUSET_FOREACH (cpu, &options->cpus)
        if (cpuset_has(&machine->online, (unsigned)cpu))
            return 0;
    return error_set(error, -EINVAL, "parameter \"cpu\": CPU %s is offline", request->cpus);
}

static int record_options_set_process(struct record_options *options, const struct sys *sys,
                                      const struct record_request *request, struct error *error)
{
    char path[PATH_MAX];

    options->pid = request->pid;
    if (!options->pid)
        return 0;
    snprintf(path, sizeof(path), "%s/proc/%" PRIu32 "/task", sys->root, options->pid);
    if (access(path, F_OK) < 0 && errno == ENOENT) /* EPERM means that the process exists but is hidden in /proc */
        return record_options_no_process(options->pid, error);
    return 0;
}

/* Returns whether the path is absolute and cannot leave the cgroup hierarchy by "..". */
static bool path_is_plain(const char *path)
{
    size_t size = strlen(path);

    return path[0] == '/' && !strstr(path, "/../") && !(size >= 3 && str_equal(path + size - 3, "/.."));
}

static int record_options_set_cgroup(struct record_options *options, struct sys *sys,
                                     const struct record_request *request, struct error *error)
{
    _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
    _cleanup_(freep) char *path = NULL;
    struct stat status;

    if (!request->cgroup)
        return 0;
    if (request->pid)
        return error_set(error, -EINVAL, "pid and cgroup exclude each other");
    if (!path_is_plain(request->cgroup))
        return error_set(error, -EINVAL,
                         "\"%.256s\" is not a path from the root of the cgroup hierarchy, such as /system.slice",
                         request->cgroup);
    int r = hierarchy_find(sys, &hierarchy, error);
    if (r < 0)
        return r;
    options->cgroup = strdup(request->cgroup);
    if (!options->cgroup || asprintf(&path, "%s%s", hierarchy.path, request->cgroup) < 0)
        return error_oom(error);
    options->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (options->cgroup_fd < 0 || fstat(options->cgroup_fd, &status) < 0) {
        r = errno == ENOTDIR || errno == ENAMETOOLONG ? -ENOENT : -errno;
        return r == -ENOENT
                   ? error_set(error, r, "there is no cgroup %.256s below %.128s", request->cgroup, hierarchy.path)
                   : error_set(error, r, "cgroup %.256s: %s", request->cgroup, strerror(-r));
    }
    options->cgroup_inode = status.st_ino;
    return 0;
}

static int add_id(void *userdata, uint64_t id)
{
    struct record_options *options = userdata;

    if (options->n_cgroup_ids >= CGROUPS_MAX)
        return 0;
    int r = array_grow(&options->cgroup_ids, options->n_cgroup_ids);
    if (r == 0)
        options->cgroup_ids[options->n_cgroup_ids++] = id;
    return r;
}

/*
 * Adds the cgroup ids, which are inode numbers, of the cgroup at `fd` and of all cgroups below that cgroup. Closes
 * `fd`.
 */
static int add_cgroups(int fd, struct record_options *options)
{
    struct stat status;
    const struct dirent *entry;
    int r = fstat(fd, &status) < 0 ? -errno : 0;
    DIR *directory = r < 0 ? NULL : fdopendir(fd);

    if (!directory) {
        close(fd);
        return r < 0 ? r : -ENOMEM;
    }
    r = add_id(options, cgroup_id_key(status.st_ino));
    while (r == 0 && (entry = readdir(directory))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int below = openat(dirfd(directory), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0) /* a failure means that the cgroup was removed in the meantime */
            r = add_cgroups(below, options);
    }
    closedir(directory);
    return r;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int refuse_cgroup(const char *path, int code, struct error *error)
{
    return error_set(error, code, "cgroup %.256s: %s", path, strerror(-code));
}

/* Adds the cgroups of `paths`, including cgroups that have been removed. */
static int add_paths(struct sys *sys, const struct cgroup_lookup *lookup, char *const *paths, size_t n,
                     struct record_options *options, struct error *error)
{
    _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
    int r = n ? hierarchy_find(sys, &hierarchy, error) : 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        _cleanup_(freep) char *path = NULL;
        if (asprintf(&path, "%s%s", hierarchy.path, paths[i]) < 0) {
            path = NULL;
            return error_oom(error);
        }
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = fd < 0 ? 0 : add_cgroups(fd, options);
        if (r == 0)
            r = cgroup_lookup_ids(lookup, paths[i], add_id, options);
        if (r < 0)
            refuse_cgroup(paths[i], r, error);
    }
    return r;
}

/* Closes the cgroup's directory, which is no longer needed because the rings sample whole CPUs. */
int record_options_choose_cgroups(struct record_options *options, struct sys *sys, const struct cgroup_lookup *lookup,
                                  char *const *paths, size_t n_paths, const char *what, struct error *error)
{
    if (options->cgroup_fd < 0 && n_paths == 0)
        return 0;
    if (!options->cgroups)
        return error_set(error, -EOPNOTSUPP, "parameter \"cgroup\": with %s, Linux 5.7 or later is required", what);
    int fd = steal_fd(&options->cgroup_fd);
    int r = fd < 0 ? 0 : add_cgroups(fd, options);
    if (r < 0)
        return refuse_cgroup(options->cgroup, r, error);
    r = add_paths(sys, lookup, paths, n_paths, options, error);
    if (r < 0)
        return r;
    /* allocates even an empty array, because NULL would select all cgroups */
    if (!options->cgroup_ids && array_grow(&options->cgroup_ids, 0) < 0)
        return error_oom(error);
    qsort(options->cgroup_ids, options->n_cgroup_ids, sizeof(*options->cgroup_ids), compare_ids);
    free(options->cgroup);
    options->cgroup = NULL;
    return 0;
}

static int record_options_parse_events(struct record_options *options, const char *text, struct error *error)
{
    event_list_done(&options->events);
    int r = event_list_parse_sampled(text, &options->events, error);

    if (r == -EINVAL)
        error_prefix(error, "parameter \"event\"");
    for (size_t i = 0; r == 0 && i < options->events.n; i++)
        options->read = options->read || (options->events.events[i].modifiers & EVENT_SAMPLE_READ);
    return r;
}

#define THRESHOLD_NS NSEC_PER_MSEC

/* Replaces the event off-cpu with "bpf-output", the kernel's event for output from BPF programs. */
static int record_options_set_off_cpu(struct record_options *options, const struct record_request *request,
                                      struct error *error)
{
    const char *refused = request->frequency ? "frequency" : request->period ? "period" : request->read ? "read" : NULL;

    if (refused)
        return error_set(error, -EINVAL, "parameter \"%s\": the event off-cpu samples each wait", refused);
    int r = record_options_parse_events(options, "bpf-output", error);
    char *text = r == 0 ? strdup(OFF_CPU) : NULL;
    if (!text)
        return r < 0 ? r : error_oom(error);
    free(options->events.events[0].text);
    options->events.events[0].text = text;
    options->off_cpu = true;
    options->period = 1;
    options->threshold_ns =
        request->threshold > 0 ? (uint64_t)(request->threshold * (double)NSEC_PER_SEC + 0.5) : THRESHOLD_NS;
    options->states = request->states;
    return 0;
}

static int record_options_check_events(const struct record_options *options, struct sys *sys,
                                       const struct machine *machine, struct error *error)
{
    for (size_t i = 0; i < options->events.n; i++) {
        int r = attr_check(sys, machine, &options->events.events[i], error);
        if (r == -ENOMEM || r == -EACCES || r == -EPERM)
            return r;
        if (r < 0)
            return -EINVAL;
    }
    return 0;
}

/* Opens the leader, the first event of the group. Returns its descriptor, or -errno. */
static int open_first(const struct record_options *options, struct sys *sys, const struct record_group *group, int cpu)
{
    const struct sys_group first = {
        .attrs = group->attrs,
        .texts = group->texts,
        .n = 1,
        .pid = record_options_process(options) ? (pid_t)options->pid : options->cgroup_fd,
        .cpu = cpu,
        .leader = -1,
        .flags = PERF_FLAG_FD_CLOEXEC | (options->cgroup ? PERF_FLAG_PID_CGROUP : 0),
    };
    int fd;

    sys_open_group(sys, &first, &fd);
    return fd;
}

/* Before Linux 5.7, and without CONFIG_CGROUP_PERF, samples do not contain the cgroup. */
static int open_first_or_without_cgroups(struct record_options *options, struct sys *sys, struct record_group *group,
                                         int cpu)
{
    int fd = open_first(options, sys, group, cpu), error = fd;

    if (fd != -EINVAL || !options->cgroups)
        return fd;
    group->attrs[0].sample_type &= ~(uint64_t)PERF_SAMPLE_CGROUP;
    group->attrs[0].cgroup = 0;
    fd = open_first(options, sys, group, cpu);
    options->cgroups = fd < 0;
    return fd < 0 ? error : fd;
}

/* Tries to open the leader on the first CPU of each PMU, because only the kernel knows what is permitted. */
static int probe_kernel(struct record_options *options, struct sys *sys, const struct machine *machine,
                        struct error *error)
{
    const struct pmu *last = NULL;
    struct record_group group;
    bool any = false;

    CPUSET_FOREACH (cpu, &options->cpus) {
        if (!cpuset_has(&machine->online, (unsigned)cpu))
            continue;
        int r = record_options_bind(options, sys, machine, (unsigned)cpu, &group, error);
        if (r < 0)
            return r;
        if (group.n == 0 || group.pmu == last)
            continue;
        last = group.pmu;
        any = true;
        int fd = open_first_or_without_cgroups(options, sys, &group, cpu);
        if (fd < 0)
            return record_options_refused(options, machine, group.pmu, (unsigned)cpu, fd, error);
        sys_close(sys, fd);
    }
    return any ? 0
               : error_set(error, -EINVAL,
                           "%s cannot sample: it counts for several CPUs at once, or for none of the requested CPUs",
                           options->events.events[0].text);
}

/* Returns whether the leader's modifiers permit samples of user space. */
static bool sees_user(const struct record_options *options)
{
    const unsigned rings = options->events.events[0].modifiers & (EVENT_USER | EVENT_KERNEL | EVENT_HYPERVISOR);

    return !rings || (rings & EVENT_USER);
}

/*
 * Checks whether the kernel permits the events. If the kernel returns -EACCES, tries again with kernel mode excluded
 * (kernel.perf_event_paranoid is 2).
 */
static int probe_or_user_only(struct record_options *options, struct sys *sys, const struct machine *machine,
                              struct error *error)
{
    struct error of_kernel;
    int r = probe_kernel(options, sys, machine, &of_kernel);

    if (r == -EACCES && sees_user(options)) {
        options->user_only = true;
        if (probe_kernel(options, sys, machine, NULL) == 0)
            return 0;
        options->user_only = false;
    }
    if (r < 0 && error)
        *error = of_kernel;
    return r;
}

/*
 * Checks the events to sample. `asked` is true if a client named the events. `automatic` is true if the event is
 * "auto", which means cycles, or cpu-clock if a CPU has no PMU or its PMU has no interrupt. The kernel may check
 * permissions before it looks for the event, so -EACCES for cycles reveals nothing about the PMU.
 */
static int record_options_check_or_fall_back(struct record_options *options, struct sys *sys,
                                             const struct machine *machine, const struct config_sampler *config,
                                             bool asked, bool automatic, struct error *error)
{
    int r = 0;

    for (size_t i = 0; asked && r == 0 && i < options->events.n; i++)
        r = client_event_check(config, machine, &options->events.events[i], error);
    if (r == 0 && !automatic)
        r = record_options_check_events(options, sys, machine, error);
    if (r == 0)
        r = probe_or_user_only(options, sys, machine, error);
    if ((r != -EINVAL && r != -EACCES) || !automatic)
        return r;
    r = record_options_parse_events(options, "cpu-clock", error);
    return r == 0 ? probe_or_user_only(options, sys, machine, error) : r;
}

int record_options_make(struct sys *sys, const struct machine *machine, const struct config_sampler *config,
                        const struct record_request *request, struct record_options *ret, struct error *error)
{
    _cleanup_(record_options_done) struct record_options options = {
        .callchain = config->callchain,
        .read = request->read,
        .cgroups = true,
        .ring_pages = config->ring_pages,
        .cgroup_fd = -1,
    };

    const char *text = request->event ? request->event : config->event;
    bool automatic = str_equal(text, "auto"), off_cpu = record_request_is_off_cpu(request);
    if (!off_cpu && (request->threshold > 0 || request->states))
        return error_set(error, -EINVAL, "parameter \"%s\": requires the event off-cpu",
                         request->states ? "state" : "threshold");
    int r = off_cpu ? record_options_set_off_cpu(&options, request, error)
                    : record_options_parse_events(&options, automatic ? "cycles" : text, error);
    if (r == 0 && !off_cpu)
        r = record_options_set_rate(&options, sys, config, request, error);
    if (r == 0)
        r = record_options_set_cpus(&options, machine, request, error);
    if (r == 0)
        r = record_options_set_process(&options, sys, request, error);
    if (r == 0)
        r = record_options_set_cgroup(&options, sys, request, error);
    if (r == 0)
        r = record_options_check_or_fall_back(&options, sys, machine, config, request->event && !request->own,
                                              automatic, error);
    if (r == 0 && off_cpu)
        r = record_options_choose_cgroups(&options, sys, NULL, NULL, 0, "the event off-cpu", error);
    if (r < 0)
        return r;
    *ret = options;
    options = (struct record_options){.cgroup_fd = -1};
    return 0;
}

int record_options_of_past(const struct record_options *taken, struct sys *sys, const struct machine *machine,
                           const struct record_request *request, struct record_options *ret, struct error *error)
{
    _cleanup_(record_options_done) struct record_options options = {
        .frequency = taken->frequency,
        .period = taken->period,
        .callchain = taken->callchain,
        .user_only = taken->user_only,
        .overwritten = true,
        .cgroups = taken->cgroups,
        .ring_pages = taken->ring_pages,
        .pid = request->pid,
        .cgroup_fd = -1,
    };
    const char *refused = request->seconds > 0 ? "seconds"
                          : request->event     ? "event"
                          : request->frequency ? "frequency"
                          : request->period    ? "period"
                          : request->read      ? "read"
                          : request->threshold ? "threshold"
                          : request->states    ? "state"
                                               : NULL;

    if (refused)
        return error_set(error, -EINVAL, "parameter \"%s\": \"last\" returns samples of %s that were already taken",
                         refused, taken->events.events[0].text);
    int r = record_options_parse_events(&options, taken->events.events[0].text, error);
    if (r == 0)
        r = record_options_set_cpus(&options, machine, request, error);
    if (r == 0)
        r = record_options_set_cgroup(&options, sys, request, error);
    if (r < 0)
        return r;
    *ret = options;
    options = (struct record_options){.cgroup_fd = -1};
    return 0;
}
