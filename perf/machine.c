/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/machine.h"

#include <limits.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"
#include "perf/perf-event.h"

/* --- Hotplug messages --- */

#define CPU_PATH "@/devices/system/cpu/cpu"
#define KERNEL_GROUP 1
/* In bytes. The kernel's own messages have at most 2 KiB (UEVENT_BUFFER_SIZE). */
#define MESSAGE_MAX 8192

static const struct {
    const char *action;
    enum uevent_change change;
} actions[] = {
    {"online", UEVENT_ONLINE},
    {"add", UEVENT_ONLINE},
    {"offline", UEVENT_OFFLINE},
    {"remove", UEVENT_OFFLINE},
};

int uevent_parse(const char *message, size_t size, enum uevent_change *ret_change, unsigned *ret_cpu)
{
    size_t end = strnlen(message, size);
    const char *path = memmem(message, end, CPU_PATH, strlen(CPU_PATH));
    uint64_t cpu;

    if (!path || end == size)
        return -ENOENT;
    const char *number = path + strlen(CPU_PATH);
    if (number_parse_u64(number, &cpu) < 0 || cpu > UINT32_MAX)
        return -ENOENT;
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        size_t length = strlen(actions[i].action);
        if (length != (size_t)(path - message) || memcmp(message, actions[i].action, length) != 0)
            continue;
        *ret_change = actions[i].change;
        *ret_cpu = (unsigned)cpu;
        return 0;
    }
    return -ENOENT;
}

int uevent_open(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
    _cleanup_(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return steal_fd(&fd);
}

int uevent_receive(int fd, enum uevent_change *ret_change, unsigned *ret_cpu)
{
    char message[MESSAGE_MAX];

    for (;;) {
        struct sockaddr_nl sender = {0};
        struct iovec vector = {.iov_base = message, .iov_len = sizeof(message)};
        struct msghdr header = {
            .msg_name = &sender, .msg_namelen = sizeof(sender), .msg_iov = &vector, .msg_iovlen = 1};
        ssize_t n = recvmsg(fd, &header, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        /* Other processes may send to the multicast group as well; the kernel sends from port 0. */
        if (sender.nl_pid == 0 && uevent_parse(message, (size_t)n, ret_change, ret_cpu) == 0)
            return 0;
    }
}

/* --- Idle times --- */

void idle_times_done(struct idle_times *times)
{
    free(times->items);
    *times = (struct idle_times){0};
}

/* Parses "cpu0 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...", in ticks. */
static bool parse_cpu(const char *line, long ticks, struct idle_time *ret)
{
    unsigned long long idle, iowait, stolen = 0;
    unsigned cpu;

    if (sscanf(line, "cpu%5u %*u %*u %*u %20llu %20llu %*u %*u %20llu", &cpu, &idle, &iowait, &stolen) < 3)
        return false;
    *ret = (struct idle_time){cpu, ((double)idle + (double)iowait) / (double)ticks, (double)stolen / (double)ticks};
    return true;
}

int idle_times_parse(const char *text, long ticks, struct idle_times *ret)
{
    _cleanup_(idle_times_done) struct idle_times times = {0};
    struct idle_time time;

    for (const char *line = text; line && strncmp(line, "cpu", 3) == 0;) {
        if (line[3] != ' ' && parse_cpu(line, ticks, &time)) {
            if (array_grow(&times.items, times.n) < 0)
                return -ENOMEM;
            times.items[times.n++] = time;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (times.n == 0)
        return -EBADMSG;
    *ret = times;
    times = (struct idle_times){0};
    return 0;
}

int idle_times_load(struct sys *sys, struct idle_times *ret)
{
    _cleanup_(closep) int fd = sys_open_file(sys, "/proc/stat", 0);
    _cleanup_(freep) char *text = NULL;

    if (fd < 0)
        return fd;
    int r = file_read_fd(fd, STAT_MAX, &text, NULL);
    return r < 0 ? r : idle_times_parse(text, sysconf(_SC_CLK_TCK), ret);
}

/* --- Machine --- */

#define DEVICES "/sys/bus/event_source/devices"
/* Maximum size of the tracepoint list, in bytes. It takes 62 KB on Linux 6.18, more with more modules. */
#define TRACEPOINTS_MAX ((size_t)4 << 20)

DEFINE_CLEANUP(struct machine *, machine_free);
DEFINE_CLEANUP(struct pmu *, pmu_free);

static int machine_load_cpus(struct sys *sys, struct machine *machine, struct error *error)
{
    static const char online[] = "/sys/devices/system/cpu/online";
    _cleanup_(freep) char *text = NULL, *possible = NULL;

    int r = sys_read_file(sys, online, &text);
    if (r < 0)
        return error_set(error, r, "cannot read %s: %s%s", online, strerror(-r),
                         r == -ENOENT ? "; is /sys mounted?" : "");
    r = cpuset_parse(text, &machine->online, error);
    if (r < 0) {
        error_prefix(error, "%s cannot be understood, \"%.64s\"", online, text);
        return r;
    }
    if (cpuset_count(&machine->online) == 0)
        return error_set(error, -EINVAL, "%s is empty, but at least one CPU must be online", online);
    r = sys_read_file(sys, "/sys/devices/system/cpu/possible", &possible);
    /*
     * The list of online CPUs is no substitute for the list of possible ones: a CPU that goes offline would lose its
     * totals.
     */
    if (r == 0)
        r = cpuset_parse(possible, &machine->possible, NULL);
    if (r == 0 && cpuset_count(&machine->possible) == 0)
        r = -ENODATA;
    return r < 0
               ? error_set(error, r, "cannot read /sys/devices/system/cpu/possible: %s; is /sys mounted?", strerror(-r))
               : 0;
}

static int machine_add_pmu(struct machine *machine, struct pmu **pmu)
{
    if (array_grow(&machine->pmus, machine->n_pmus) < 0)
        return -ENOMEM;
    machine->pmus[machine->n_pmus++] = steal(*pmu);
    return 0;
}

/* Adds a PMU that sysfs does not list. */
static int machine_add_synthetic(struct machine *machine, const struct pmu *like, const struct cpuset *cpus)
{
    _cleanup_(pmu_freep) struct pmu *pmu = calloc(1, sizeof(*pmu));

    if (!pmu)
        return -ENOMEM;
    *pmu = (struct pmu){.type = like->type, .scope = like->scope, .absent = like->absent, .threshold_max = UINT64_MAX};
    pmu->name = strdup(like->name);
    if (!pmu->name || cpuset_copy(cpus, &pmu->cpus) < 0)
        return -ENOMEM;
    return machine_add_pmu(machine, &pmu);
}

/*
 * If a container hides the list of PMUs or denies access to it, the machine has no PMUs. Any other error of reading the
 * list may be temporary and is returned.
 */
static int load_pmus(struct sys *sys, struct machine *machine)
{
    char **names;
    size_t n;

    int r = sys_list_directory(sys, DEVICES, &names, &n);
    if (r < 0)
        return r == -ENOENT || r == -EACCES ? 0 : r;
    machine->lists_pmus = true;
    for (size_t i = 0; i < n && r == 0; i++) {
        _cleanup_(pmu_freep) struct pmu *pmu = NULL;
        struct error error;
        r = pmu_load(sys, names[i], &machine->online, &pmu, &error);
        if (r == 0)
            r = machine_add_pmu(machine, &pmu);
        else if (r != -ENOMEM)
            r = defects_add(&machine->defects, names[i], error.message);
    }
    strings_free(names, n);
    return r;
}

static int compare_pmus(const void *a, const void *b)
{
    return strcmp((*(struct pmu *const *)a)->name, (*(struct pmu *const *)b)->name);
}

/*
 * Whether a generic event can name this PMU by its type in config. To find out, a disabled event is opened on the
 * calling process, which needs the least privilege. Kernels that do not support the PMU's type in config return ENOENT
 * or EINVAL.
 */
static bool takes_extended_type(struct sys *sys, const struct pmu *pmu)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_HARDWARE,
        .config = (uint64_t)pmu->type << PERF_PMU_TYPE_SHIFT | PERF_COUNT_HW_CPU_CYCLES,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = sys_perf_event_open(sys, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

    if (fd < 0)
        return false;
    sys_close(sys, fd);
    return true;
}

/* With one kind of CPU a plain generic event is unambiguous, so nothing needs to be tried. */
static void probe_extended_types(struct sys *sys, struct machine *machine)
{
    size_t n = 0;

    for (size_t i = 0; i < machine->n_pmus; i++)
        n += machine->pmus[i]->scope == PMU_CORE && !machine->pmus[i]->absent;
    for (size_t i = 0; n > 1 && i < machine->n_pmus; i++)
        if (machine->pmus[i]->scope == PMU_CORE && !machine->pmus[i]->absent)
            machine->pmus[i]->extended = takes_extended_type(sys, machine->pmus[i]);
}

/* Adds the PMUs "software" and "tracepoint" if sysfs does not show them, since every kernel has both. */
static int complete_pmus(struct machine *machine)
{
    static const struct pmu always[] = {
        {.name = (char *)"software", .type = PERF_TYPE_SOFTWARE, .scope = PMU_ANY},
        {.name = (char *)"tracepoint", .type = PERF_TYPE_TRACEPOINT, .scope = PMU_ANY},
    };

    for (size_t i = 0; i < ARRAY_SIZE(always); i++)
        if (!machine_find_pmu(machine, always[i].name) &&
            machine_add_synthetic(machine, &always[i], &machine->online) < 0)
            return -ENOMEM;
    qsort(machine->pmus, machine->n_pmus, sizeof(machine->pmus[0]), compare_pmus);
    return 0;
}

/* Adds the placeholder PMU for the CPUs that no core PMU covers. */
static int add_absent(struct machine *machine)
{
    static const struct pmu absent = {.name = (char *)"cpu", .type = PERF_TYPE_RAW, .scope = PMU_CORE, .absent = true};
    _cleanup_(cpuset_done) struct cpuset rest = {0};

    if (cpuset_copy(&machine->possible, &rest) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (machine->pmus[i]->scope == PMU_CORE)
            cpuset_subtract(&rest, &machine->pmus[i]->cpus);
    return cpuset_count(&rest) ? machine_add_synthetic(machine, &absent, &rest) : 0;
}

static int load_kernel(struct sys *sys, struct machine *machine)
{
    _cleanup_(freep) char *paranoid = NULL, *watchdog = NULL;
    char *end;

    machine->paranoid = INT_MIN;
    if (sys_read_file(sys, "/proc/sys/kernel/perf_event_paranoid", &paranoid) == 0) {
        errno = 0;
        long value = strtol(paranoid, &end, 10);
        if (end != paranoid && !*end && !errno && value > INT_MIN && value <= INT_MAX)
            machine->paranoid = (int)value;
    }
    bool watched = sys_read_file(sys, "/proc/sys/kernel/nmi_watchdog", &watchdog) == 0 && str_equal(watchdog, "1");
    for (size_t i = 0; i < machine->n_pmus; i++)
        machine->pmus[i]->watched = watched && machine->pmus[i]->scope == PMU_CORE;
    if (sys_read_file(sys, "/proc/sys/kernel/osrelease", &machine->release) < 0)
        machine->release = strdup("");
    return machine->release ? 0 : -ENOMEM;
}

/* Whether tracefs is mounted, even if it is not readable. */
static bool has_tracefs(struct sys *sys, const char *events)
{
    char **names;
    size_t n;

    int r = sys_list_directory(sys, events, &names, &n);
    if (r == 0)
        strings_free(names, n);
    return r == 0 || r == -EACCES;
}

const char *machine_find_tracefs(struct sys *sys)
{
    static const char tracing[] = "/sys/kernel/tracing", older[] = "/sys/kernel/debug/tracing";

    if (has_tracefs(sys, "/sys/kernel/tracing/events"))
        return tracing;
    if (has_tracefs(sys, "/sys/kernel/debug/tracing/events"))
        return older;
    if (sys_mount_tracefs(sys, tracing) == 0 && has_tracefs(sys, "/sys/kernel/tracing/events"))
        return tracing;
    return NULL;
}

int machine_load(struct sys *sys, struct machine **ret, struct error *error)
{
    _cleanup_(machine_freep) struct machine *machine = calloc(1, sizeof(*machine));

    if (!machine)
        return error_oom(error);
    machine->references = 1;
    int r = machine_load_cpus(sys, machine, error);
    if (r < 0)
        return r;
    r = load_pmus(sys, machine);
    if (r < 0 && r != -ENOMEM)
        return error_of_file(error, r, "read", DEVICES);
    if (r < 0 || complete_pmus(machine) < 0 || add_absent(machine) < 0 || load_kernel(sys, machine) < 0)
        return error_oom(error);
    probe_extended_types(sys, machine);
    machine->tracefs = machine_find_tracefs(sys);
    *ret = steal(machine);
    return 0;
}

int machine_load_again(struct sys *sys, const struct machine *before, struct machine **ret, struct error *error)
{
    _cleanup_(machine_freep) struct machine *machine = NULL;
    int r = machine_load(sys, &machine, error);

    if (r < 0)
        return r;
    if (before->lists_pmus && !machine->lists_pmus)
        return error_set(error, -ENOENT, DEVICES " has disappeared; is /sys mounted?");
    *ret = steal(machine);
    return 0;
}

struct machine *machine_ref(struct machine *machine)
{
    machine->references++;
    return machine;
}

struct machine *machine_free(struct machine *machine)
{
    if (!machine || --machine->references > 0)
        return NULL;
    for (size_t i = 0; i < machine->n_pmus; i++)
        pmu_free(machine->pmus[i]);
    free(machine->pmus);
    defects_done(&machine->defects);
    cpuset_done(&machine->possible);
    cpuset_done(&machine->online);
    free(machine->release);
    free(machine);
    return NULL;
}

const struct pmu *machine_find_pmu(const struct machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (str_equal(machine->pmus[i]->name, name))
            return machine->pmus[i];
    return NULL;
}

const struct pmu *machine_core_pmu(const struct machine *machine, unsigned cpu)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (machine->pmus[i]->scope == PMU_CORE && cpuset_has(&machine->pmus[i]->cpus, cpu))
            return machine->pmus[i];
    return NULL;
}

int machine_list_tracepoints(struct sys *sys, const struct machine *machine, char **ret_text)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/available_events", machine->tracefs);
    _cleanup_(closep) int fd = sys_open_file(sys, path, 0);
    return fd < 0 ? fd : file_read_fd(fd, TRACEPOINTS_MAX, ret_text, NULL);
}

int machine_is_outdated(struct sys *sys, const struct machine *machine)
{
    _cleanup_(cpuset_done) struct cpuset online = {0};
    _cleanup_(freep) char *text = NULL;

    int r = sys_read_file(sys, "/sys/devices/system/cpu/online", &text);
    if (r == 0)
        r = cpuset_parse(text, &online, NULL);
    if (r < 0)
        return r;
    return !cpuset_equal(&online, &machine->online);
}
