/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report.h"

#include <ctype.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/glob.h"
#include "base/text.h"
#include "cmd/plan.h"
#include "formats/availability.h"
#include "metrics/formula.h"
#include "perf/event-parse.h"
#include "perf/generic-events.h"
#include "perf/group.h"
#include "perf/pfm.h"
#include "perf/presets.h"
#include "perf/reason.h"
#include "process/child.h"
#include "process/privileges.h"

DEFINE_CLEANUP(struct group *, group_free);
DEFINE_CLEANUP(struct machine *, machine_free);

/* --- the machine --- */

static void write_file(const struct report *report, const char *name, const char *path, FILE *file)
{
    _cleanup_(freep) char *text = NULL;

    if (sys_read_file(report->sys, path, &text) == 0)
        fprintf(file, "%s: %s\n", name, text);
}

static bool exists(const struct report *report, const char *path)
{
    _cleanup_(closep) int fd = sys_open_file(report->sys, path, 0);

    return fd >= 0;
}

/*
 * Writes the versions of perfcountd, the compiler and the kernel, but not the host name, which uname(2) also returns.
 */
static void write_kernel(const struct report *report, const struct pmu *pmu, FILE *file)
{
    static const unsigned capabilities[] = {CAP_PERFMON, CAP_SYS_ADMIN, CAP_BPF, CAP_SYS_PTRACE, CAP_SYSLOG};
    struct utsname names;

    (void)pmu;
    fprintf(file, "perfcountd: %s\ncompiler: %s\n", PACKAGE_VERSION, __VERSION__);
    if (uname(&names) == 0)
        fprintf(file, "kernel: %s\nkernel version: %s\narchitecture: %s\n", names.release, names.version,
                names.machine);
    write_file(report, "board", "/proc/device-tree/model", file);
    write_file(report, "board", "/sys/class/dmi/id/product_name", file);
    write_file(report, "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", file);
    write_file(report, "nmi_watchdog", "/proc/sys/kernel/nmi_watchdog", file);
    fprintf(file, "BTF: %s\n", exists(report, "/sys/kernel/btf/vmlinux") ? "yes" : "no");
    fprintf(file, "cgroups: %s\n",
            exists(report, "/sys/fs/cgroup/cgroup.controllers")           ? "v2"
            : exists(report, "/sys/fs/cgroup/unified/cgroup.controllers") ? "v1 and v2"
            : exists(report, "/sys/fs/cgroup/perf_event")                 ? "v1"
                                                                          : "none");
    fprintf(file, "capabilities:");
    for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
        if (capabilities_own() >> capabilities[i] & 1)
            fprintf(file, " %s", capability_name(capabilities[i]));
    fputc('\n', file);
}

/* Keys of the /proc/cpuinfo lines to print. Other lines may contain serial numbers. */
static const char *const cpuinfo_lines[] = {"vendor_id", "cpu family", "model",    "model name", "stepping",
                                            "microcode", "isa",        "CPU part", "uarch"};

static void write_cpuinfo(const struct report *report, FILE *file)
{
    char text[4096];
    _cleanup_(closep) int fd = sys_open_file(report->sys, "/proc/cpuinfo", 0);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    text[MAX(size, 0)] = '\0';
    char *end = strstr(text, "\n\n"), *rest = text, *line;
    if (end)
        *end = '\0';
    while ((line = strsep(&rest, "\n"))) {
        size_t name = strcspn(line, "\t:");
        for (size_t i = 0; i < ARRAY_SIZE(cpuinfo_lines); i++)
            if (strlen(cpuinfo_lines[i]) == name && strncmp(line, cpuinfo_lines[i], name) == 0)
                fprintf(file, "%s%s\n", cpuinfo_lines[i], line + name + strspn(line + name, "\t"));
    }
}

/* Writes the model of each CPU, with consecutive CPUs of the same model on one line. */
static void write_cpus(const struct report *report, const struct pmu *pmu, FILE *file)
{
    _cleanup_(freep) char *online = cpuset_format(&report->machine->online), *last = NULL;

    (void)pmu;
    fprintf(file, "online: %s\n", online ? online : "?");
    for (int cpu = -1; (cpu = cpuset_next(&report->machine->online, cpu)) >= 0;) {
        char *midr = NULL;
        if (sys_read_filef(report->sys, &midr, "/sys/devices/system/cpu/cpu%d/regs/identification/midr_el1", cpu) < 0)
            continue;
        if (!last || !str_equal(midr, last))
            fprintf(file, "MIDR_EL1 from CPU %d: %s\n", cpu, midr);
        free(last);
        last = midr;
    }
    write_cpuinfo(report, file);
}

static void write_caps(const struct report *report, const struct pmu *pmu, FILE *file)
{
    char path[256], **names;
    size_t n;

    snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/caps", pmu->name);
    if (sys_list_directory(report->sys, path, &names, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        _cleanup_(freep) char *text = NULL;
        if (sys_read_filef(report->sys, &text, "%s/%s", path, names[i]) == 0)
            fprintf(file, "    %s: %s\n", names[i], text);
    }
    strings_free(names, n);
}

static void write_defects(const struct defects *defects, FILE *file)
{
    for (size_t i = 0; i < defects->n; i++)
        fprintf(file, "    cannot be used: %s: %s\n", defects->items[i].name, defects->items[i].reason);
}

static void write_pmus(const struct report *report, const struct pmu *unused, FILE *file)
{
    static const char *const scopes[] = {[PMU_CORE] = "core", [PMU_SYSTEM] = "system", [PMU_ANY] = "any CPU"};

    (void)unused;
    for (size_t i = 0; i < report->machine->n_pmus; i++) {
        const struct pmu *pmu = report->machine->pmus[i];
        _cleanup_(freep) char *cpus = cpuset_format(&pmu->cpus);
        unsigned counters;
        if (pmu->absent)
            fprintf(file, "no hardware PMU on CPU %s: " REASON_NO_PMU_REMEDY "\n", cpus ? cpus : "?");
        if (pmu->absent)
            continue;
        fprintf(file, "%s: type %u, %s, CPU %s", pmu->name, pmu->type, scopes[pmu->scope], cpus ? cpus : "?");
        if (group_probe_capacity(report->sys, pmu, &counters) == 0)
            fprintf(file, ", %u counters", counters);
        fputc('\n', file);
        write_caps(report, pmu, file);
        write_defects(&pmu->defects, file);
        for (size_t k = 0; k < pmu->n_events && pmu->scope != PMU_ANY; k++)
            fprintf(file, "%s%s%s", k ? " " : "    events: ", pmu->events[k].name, k + 1 < pmu->n_events ? "" : "\n");
    }
    write_defects(&report->machine->defects, file);
}

static void write_plan(const struct report *report, const struct pmu *pmu, FILE *file)
{
    (void)pmu;
    if (plan_print(file, report->options, false) != EXIT_SUCCESS)
        fputs("nothing is counted; standard error may say why\n", file);
}

/* --- the formulas --- */

static bool is_event(const char *name)
{
    return !str_equal(name, "slots") && !str_equal(name, "running_time") && !str_equal(name, "enabled_time");
}

/* Returns the index of the event that `name` stands for in a formula, or list->n if the list lacks it. */
static size_t find_event(const struct event_list *list, const char *name)
{
    size_t i = 0;

    while (i < list->n && !derived_names_event(name, list->events[i].metric))
        i++;
    return i;
}

static bool has_events(const struct event_list *list, const struct formula *formula)
{
    for (size_t i = 0; i < formula->n_names; i++)
        if (is_event(formula->names[i]) && find_event(list, formula->names[i]) == list->n)
            return false;
    return true;
}

/* Appends a formula's event as written in a preset, because not all drivers list their events in sysfs. */
static bool append_from_preset(const struct report *report, const struct pmu *pmu, const char *name,
                               struct buffer *text)
{
    for (size_t i = 0; i < n_presets; i++) {
        _cleanup_(event_list_done) struct event_list list = {0};
        const char *events = presets[i].variants[preset_choose(&presets[i], pmu)].events;
        if (presets[i].of_system != (pmu->scope == PMU_SYSTEM) || !events || event_list_parse(events, &list, NULL) < 0)
            continue;
        size_t k = find_event(&list, name);
        if (k == list.n || list.events[k].kind != EVENT_PMU || !attr_names_pmu(report->machine, &list.events[k], pmu) ||
            !preset_event_is_listed(&list.events[k], pmu))
            continue;
        buffer_append_text(text, list.events[k].text);
        return true;
    }
    return false;
}

struct pfm_search {
    const char *metric;
    char found[128];
};

static void compare_with_search(void *userdata, const char *name, const char *description)
{
    struct pfm_search *search = userdata;
    const char *colons = strstr(name, "::");
    _cleanup_(freep) char *metric = event_metric_name(colons ? colons + 2 : name);

    (void)description;
    if (!search->found[0] && metric && str_equal(metric, search->metric))
        snprintf(search->found, sizeof(search->found), "%s", name);
}

/* Appends a formula's event as named in libpfm4, which alone knows the model-specific events of Intel and AMD CPUs. */
static bool append_from_pfm(const struct pmu *pmu, const char *name, struct buffer *text)
{
    struct pfm_search search = {.metric = name};

    pfm_list(pmu, compare_with_search, &search);
    buffer_append_text(text, search.found);
    return search.found[0];
}

/*
 * Chooses the group that counts the events of a formula: a strict preset, whose events are only meaningful together, or
 * a group of just the formula's events. Returns -ENOENT if the PMU does not have all events of the formula, and stores
 * the missing events in `missing`.
 */
static int choose_events(const struct report *report, const struct pmu *pmu, const struct formula *formula,
                         struct event_list *ret, struct buffer *missing)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (size_t i = 0; i < n_presets; i++) {
        const char *events = presets[i].variants[preset_choose(&presets[i], pmu)].events;
        if (!presets[i].strict || pmu->scope == PMU_SYSTEM || !events || event_list_parse(events, ret, NULL) < 0)
            continue;
        if (has_events(ret, formula))
            return 0;
        event_list_done(ret);
        *ret = (struct event_list){0};
    }
    for (size_t i = 0; i < formula->n_names; i++) {
        const char *name = formula->names[i];
        char spelt[128];
        if (str_equal(name, "slots") ? pmu->slots > 0 : !is_event(name))
            continue;
        if (text.size > 0)
            buffer_append_char(&text, ',');
        if (is_event(name) && availability_spell(pmu, name, spelt, sizeof(spelt)))
            buffer_append_text(&text, spelt);
        else if (!is_event(name) ||
                 (!append_from_preset(report, pmu, name, &text) && !append_from_pfm(pmu, name, &text)))
            buffer_appendf(missing, "%s%s", missing->size ? ", " : "", name);
    }
    if (missing->size > 0)
        return -ENOENT;
    _cleanup_(freep) char *events = buffer_string(&text);
    int r = events ? event_list_parse(events, ret, NULL) : -ENOMEM;
    return r == 0 && !has_events(ret, formula) ? -EINVAL : r;
}

/*
 * What a group counted during the work. counts[i] is the count of event i in its unit, or NAN if the event was refused.
 */
struct counted {
    double counts[GROUP_MEMBERS_MAX];
    double enabled, running; /* in seconds */
};

static int count_events(const struct report *report, const struct pmu *pmu, int cpu, const struct event_list *list,
                        struct counted *ret, FILE *file)
{
    const struct group_target target = {.pid = -1, .cpu = cpu};
    _cleanup_(group_freep) struct group *group = NULL;
    struct attr attrs[GROUP_MEMBERS_MAX];
    int errors[GROUP_MEMBERS_MAX] = {0}, r = 0;
    struct group_reading reading;
    struct error error;

    for (size_t i = 0; r == 0 && i < list->n; i++) {
        r = attr_build(report->sys, report->machine, &list->events[i], pmu, &attrs[i], &error);
        if (r < 0)
            fprintf(file, "    %s: %s\n", list->events[i].text, error.message);
    }
    if (r < 0)
        return r;
    fflush(file);
    r = group_open_many(report->sys, attrs, list->n, false, &target, errors, &group);
    if (r == 0 && group && (r = group_enable(group)) == 0) {
        r = report->work(report->sys, (unsigned)cpu);
        if (r < 0)
            fprintf(file, "    no work could be done on this CPU: %s\n", strerror(-r));
        group_disable(group);
        r = group_read(group, &reading);
    }
    for (size_t i = 0, k = 0; i < list->n; i++) {
        char reason[512] = "not counted";
        bool counted = r == 0 && errors[i] == 0;
        ret->counts[i] = counted ? (double)reading.values[k++] * attrs[i].scale : NAN;
        if (errors[i] < 0 && i > 0 && errors[i] == errors[i - 1])
            snprintf(reason, sizeof(reason), "the same (%s)", reason_name(errors[i]));
        else if (errors[i] < 0)
            reason_format(report->machine, pmu, errors[i], reason, sizeof(reason));
        if (counted)
            fprintf(file, "    %s: %.15g%s%s\n", list->events[i].text, ret->counts[i], *attrs[i].unit ? " " : "",
                    attrs[i].unit);
        else
            fprintf(file, "    %s: %s\n", list->events[i].text, reason);
    }
    if (r == 0 && !group)
        return -ENODATA;
    if (r < 0) {
        fprintf(file, "    the group cannot be read: %s\n", strerror(-r));
        return r;
    }
    ret->enabled = (double)reading.enabled / 1e9;
    ret->running = (double)reading.running / 1e9;
    fprintf(file, "    enabled %.3f ms, running %.3f ms\n", ret->enabled * 1e3, ret->running * 1e3);
    return 0;
}

static double formula_result(const struct formula *formula, const struct pmu *pmu, const struct event_list *list,
                             const struct counted *counted)
{
    double operands[FORMULA_NAMES_MAX];

    for (size_t i = 0; i < formula->n_names; i++) {
        const char *name = formula->names[i];
        if (str_equal(name, "slots"))
            operands[i] = pmu->slots;
        else if (!is_event(name))
            operands[i] = str_equal(name, "running_time") ? counted->running : counted->enabled;
        else
            operands[i] = counted->running > 0 ? counted->counts[find_event(list, name)] / counted->running : NAN;
    }
    return formula_value(formula->steps, formula->n_steps, operands);
}

/* The largest plausible number of instructions per cycle, unless the core's number of issue slots is known. */
#define IPC_MAX 16

static bool is_possible(const struct derived_metric *metric, const struct pmu *pmu, double value)
{
    static const struct {
        const char *unit;
        double max;
    } units[] = {
        {"ratio", 1}, {"per 1000 instructions", 1000}, {"bytes per second", 1e13}, {"watts", 1e5}, {"hertz", 1e11}};

    if (str_starts(metric->name, "ipc"))
        return value > 0 && value <= (pmu->slots ? pmu->slots : IPC_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (str_equal(metric->unit, units[i].unit))
            return value >= 0 && value <= units[i].max;
    return value >= 0;
}

/* Counts the events of a formula and computes the metric. Returns false if the formula has no events. */
static bool test_formula(const struct report *report, const struct pmu *pmu, int cpu,
                         const struct derived_metric *metric, const struct derived_formula *row, FILE *file)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    _cleanup_(buffer_done) struct buffer missing = {0};
    struct formula formula;
    struct counted counted;

    if (formula_parse(row->text, &formula, NULL) < 0 || has_events(&list, &formula))
        return false;
    fprintf(file, "%s = %s%s\n", metric->name, row->text, row->seen ? "" : " (never seen on hardware)");
    int r = choose_events(report, pmu, &formula, &list, &missing);
    if (r == -ENOENT && missing.size > 0) {
        fprintf(file, "    not available on this PMU, which does not list %.*s\n", (int)missing.size, missing.data);
        return true;
    }
    double value = r == 0 && count_events(report, pmu, cpu, &list, &counted, file) == 0
                       ? formula_result(&formula, pmu, &list, &counted)
                       : NAN;
    if (isnan(value))
        fprintf(file, "    value: none\n");
    else
        fprintf(file, "    value: %.6g %s, %s\n", value, metric->unit,
                is_possible(metric, pmu, value) ? "plausible" : "IMPLAUSIBLE");
    return true;
}

static int first_online(const struct report *report, const struct pmu *pmu)
{
    int cpu = cpuset_next(&pmu->cpus, -1);

    while (cpu >= 0 && !cpuset_has(&report->machine->online, (unsigned)cpu))
        cpu = cpuset_next(&pmu->cpus, cpu);
    return cpu;
}

void report_test_formulas(const struct report *report, const struct pmu *pmu, FILE *file)
{
    unsigned target = pmu->scope == PMU_SYSTEM ? DERIVED_PMU : DERIVED_CPU;
    int cpu = first_online(report, pmu);
    const struct derived_metric *metric;
    bool any = false;

    if (cpu < 0) {
        fputs("none of its CPUs is online\n", file);
        return;
    }
    fprintf(file, "on CPU %d\n", cpu);
    pfm_load();
    for (size_t i = 0; (metric = derived_at(i)); i++)
        for (const struct derived_formula *row = metric->formulas; (metric->targets & target) && row->text; row++)
            if (!row->pmu || glob_match(row->pmu, pmu->name))
                any |= test_formula(report, pmu, cpu, metric, row, file);
    if (!any)
        fputs("no formula is known for this PMU\n", file);
}

/* Tests the events that need no hardware PMU, as a single group. */
static void test_software(const struct report *report, const struct pmu *pmu, FILE *file)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    _cleanup_(buffer_done) struct buffer text = {0};
    struct counted counted;

    for (size_t i = 0; i < n_generic_events; i++)
        if (generic_events[i].type == PERF_TYPE_SOFTWARE)
            buffer_appendf(&text, "%s%s", text.size ? "," : "", generic_events[i].name);
    _cleanup_(freep) char *events = buffer_string(&text);
    int cpu = first_online(report, pmu);
    if (events && cpu >= 0 && event_list_parse(events, &list, NULL) == 0) {
        fprintf(file, "on CPU %d\n", cpu);
        count_events(report, pmu, cpu, &list, &counted, file);
    }
}

/* --- sections --- */

typedef void (*section_writer)(const struct report *report, const struct pmu *pmu, FILE *file);

/*
 * Copies the output of the child process until the child has exited. Returns false if the child wrote nothing for too
 * long.
 */
static bool copy_section(const struct report *report, int fd, FILE *file)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    char text[4096];

    for (;;) {
        int r = poll(&polled, 1, (int)report->patience_s * 1000);
        ssize_t n = r > 0 ? read(fd, text, sizeof(text)) : r;
        if (n == 0)
            return r > 0;
        if (n < 0 && errno != EINTR)
            return true;
        fwrite(text, 1, (size_t)MAX(n, 0), file);
    }
}

_Noreturn static void write_in_child(const struct report *report, section_writer write, const struct pmu *pmu,
                                     pid_t parent, int fd)
{
    /* The child process is not renamed, because that would overwrite the arguments, to which the options point. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    FILE *file = getppid() == parent ? fdopen(fd, "w") : NULL;
    if (!file)
        _exit(EXIT_FAILURE);
    write(report, pmu, file);
    _exit(fflush(file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void write_section(const struct report *report, section_writer write, const struct pmu *pmu, FILE *file)
{
    struct child child = CHILD_NONE;
    pid_t parent = getpid(), pid;
    int fds[2], status = 0;
    char end[128];

    if (pipe2(fds, O_CLOEXEC) < 0) {
        fprintf(file, "this section is missing: %s\n", strerror(errno));
        return;
    }
    child.pid = pid = fork();
    if (child.pid == 0)
        write_in_child(report, write, pmu, parent, fds[1]);
    if (child.pid < 0)
        fprintf(file, "this section is missing: %s\n", strerror(errno));
    close(fds[1]);
    if (child.pid > 0 && !copy_section(report, fds[0], file))
        fprintf(file, "this section stopped here: it wrote nothing more for %u seconds\n", report->patience_s);
    else if (child.pid > 0 && child_wait(&child, NSEC_PER_SEC, &status) && status != 0) {
        child_describe_end(pid, status, end, sizeof(end));
        fprintf(file, "this section stopped here: %s\n", end);
    }
    if (child.pid > 0)
        child_end(&child, &status);
    close(fds[0]);
}

static void write_sections(const struct report *report, FILE *file)
{
    const struct pmu *software = machine_find_pmu(report->machine, "software");

    fputs("## perfcountd report 1\n\n", file);
    write_section(report, write_kernel, NULL, file);
    fputs("\n## CPUs\n\n", file);
    write_section(report, write_cpus, NULL, file);
    fputs("\n## PMUs\n\n", file);
    write_section(report, write_pmus, NULL, file);
    if (report->options) {
        fputs("\n## plan\n\n", file);
        write_section(report, write_plan, NULL, file);
    }
    for (size_t i = 0; i < report->machine->n_pmus; i++) {
        const struct pmu *pmu = report->machine->pmus[i];
        if (pmu->absent || pmu->scope == PMU_ANY)
            continue;
        fprintf(file, "\n## self-test of %s\n\n", pmu->name);
        write_section(report, report_test_formulas, pmu, file);
    }
    if (software) {
        fputs("\n## self-test of software\n\n", file);
        write_section(report, test_software, software, file);
    }
    fputs("\n## end\n", file);
}

/* --- secrets --- */

/* Returns whether the path belongs to the kernel or to perfcountd's API, and is therefore the same on every machine. */
static bool is_public(const char *path, size_t length)
{
    static const char *const trees[] = {"/sys/bus/",  "/sys/devices/",  "/sys/kernel/",
                                        "/proc/sys/", "/proc/kallsyms", "/api/"};
    static const char *const hierarchies[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/perf_event"};

    for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
        if (str_starts(path, trees[i]))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++)
        if (strlen(hierarchies[i]) == length && strncmp(path, hierarchies[i], length) == 0)
            return true;
    return false;
}

/*
 * Returns whether a path starts at the position `at`. A slash after a word is a division or a part of an event, as in
 * "instructions / cycles" or "power/energy-pkg/".
 */
static bool starts_path(const char *text, const char *at)
{
    bool follows = at > text && (isalnum((unsigned char)at[-1]) || strchr("_-./)", at[-1]));

    return at[0] == '/' && !follows && (isgraph((unsigned char)at[1]) && !strchr(",}/", at[1]));
}

/* Copies the text without machine-specific paths and unprintable bytes. */
static void append_public(struct buffer *to, const char *text, const char *end)
{
    for (const char *at = text; at < end;) {
        size_t path = starts_path(text, at) ? strcspn(at, " \t\n\"',;:()") : 0;
        size_t n = path && is_public(at, path) ? path : utf8_printable_character(at, (size_t)(end - at));
        if (path && n != path) {
            buffer_append_text(to, "/...");
            at += path;
            continue;
        }
        if (n > 0 || *at == '\n')
            buffer_append(to, at, MAX(n, 1));
        else
            buffer_append_text(to, *at == '\t' ? " " : UTF8_REPLACEMENT);
        at += MAX(n, 1);
    }
}

int report_make(const struct report *report, char **ret)
{
    _cleanup_(buffer_done) struct buffer clean = {0};
    _cleanup_(freep) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return -errno;
    write_sections(report, file);
    if (fclose(file) != 0)
        return -errno;
    append_public(&clean, text, text + size);
    char *made = buffer_string(&clean);
    if (!made)
        return -ENOMEM;
    *ret = made;
    return 0;
}

/* --- `perfcountd report` --- */

/*
 * How many operations of each kind to perform: unpredictable branches, cache misses, and floating point, which formulas
 * count.
 */
#define WORK_STEPS (1 << 19)
#define WORK_WORDS (1 << 20)

static int work_on(struct sys *sys, unsigned cpu)
{
    static uint32_t memory[WORK_WORDS];
    static volatile double result;
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    uint32_t random = 1;
    double sum = 0;

    (void)sys;
    if (!set)
        return -ENOMEM;
    CPU_ZERO_S(CPU_ALLOC_SIZE(cpu + 1), set);
    CPU_SET_S(cpu, CPU_ALLOC_SIZE(cpu + 1), set);
    int r = sched_setaffinity(0, CPU_ALLOC_SIZE(cpu + 1), set) < 0 ? -errno : 0;
    CPU_FREE(set);
    for (size_t i = 0; r == 0 && i < WORK_STEPS; i++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        uint32_t *word = &memory[random % WORK_WORDS];
        if (random >> 31)
            sum += (double)*word * 0.5;
        else
            *word += random;
    }
    result = sum;
    (void)result;
    return r;
}

/* A section is killed if it writes nothing for this long. */
#define PATIENCE_S 30

int command_report(const struct options *options)
{
    const char *path = options->output;
    _cleanup_(fclosep) FILE *output = path ? fopen(path, "we") : NULL;
    _cleanup_(machine_freep) struct machine *machine = NULL;
    _cleanup_(freep) char *text = NULL;
    struct error error;
    struct sys sys;

    if (path && !output) {
        error_of_file(&error, -errno, "write", path);
        return command_fail(EXIT_FAILURE, &error);
    }
    sys_init(&sys);
    if (machine_load(&sys, &machine, &error) < 0)
        return command_fail(EXIT_FAILURE, &error);
    const struct report report = {&sys, machine, options, work_on, PATIENCE_S};
    int r = report_make(&report, &text);
    if (r < 0) {
        error_set(&error, r, "cannot create the report: %s", strerror(-r));
        return command_fail(EXIT_FAILURE, &error);
    }
    FILE *file = output ? output : stdout;
    fputs(text, file);
    return command_end_output(file, path ? path : "standard output", EXIT_SUCCESS);
}
