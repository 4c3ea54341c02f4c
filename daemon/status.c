/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/status.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "collectors/cgroup/cgroup.h"
#include "config/keys.h"
#include "perf/board.h"
#include "perf/machine.h"
#include "perf/reason.h"
#include "process/sandbox.h"

/* --- JSON documents --- */

static const char *const scope_names[] = {
    [PMU_CORE] = "core",
    [PMU_SYSTEM] = "system",
    [PMU_ANY] = "any",
};

static json_t *pmu_formats(const struct pmu *pmu)
{
    json_t *formats = json_array();

    for (size_t i = 0; formats && i < pmu->n_formats; i++)
        formats = json_array_add(formats, json_string(pmu->formats[i].name));
    return formats;
}

static json_t *pmu_json(const struct pmu *pmu)
{
    _cleanup_(freep) char *cpus = cpuset_format(&pmu->cpus);

    return json_pack("{s:s, s:I, s:s, s:s, s:b, s:I, s:o}", "name", pmu->name, "type", (json_int_t)pmu->type, "scope",
                     scope_names[pmu->scope], "cpus", cpus, "absent", pmu->absent, "named_events",
                     (json_int_t)pmu->n_events, "terms", pmu_formats(pmu));
}

json_t *document_pmus(const struct machine *machine)
{
    json_t *pmus = json_array();

    for (size_t i = 0; pmus && i < machine->n_pmus; i++)
        pmus = json_array_add(pmus, pmu_json(machine->pmus[i]));
    return pmus ? json_pack("{s:o}", "pmus", pmus) : NULL;
}

json_t *document_collectors(const struct registry *registry)
{
    json_t *collectors = json_array();
    struct collector_status status;

    for (size_t i = 0; collectors && registry_status(registry, i, &status); i++)
        collectors = json_array_add(
            collectors, json_pack("{s:s, s:b, s:b, s:f, s:s}", "name", status.name, "enabled", status.enabled,
                                  "success", status.successful, "duration_seconds",
                                  (double)status.duration_ns / (double)NSEC_PER_SEC, "error", status.error));
    return collectors;
}

static json_t *failure_json(const struct failure *failure, const char *collector)
{
    _cleanup_(freep) char *cpus = cpuset_format(&failure->cpus);

    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "collector", collector, "group", failure->group, "event",
                     failure->metric, "pmu", failure->pmu, "reason", failure->reason, "cpus", cpus, "message",
                     json_text(failure->message));
}

json_t *document_failures(const struct registry *registry)
{
    const struct failures *failures = registry_failures(registry);
    struct collector_status status = {.name = ""};
    json_t *array = json_array();

    for (size_t i = 0; array && i < failures->n; i++) {
        registry_status(registry, failures->items[i].collector, &status);
        array = json_array_add(array, failure_json(&failures->items[i], status.name));
    }
    return array;
}

static json_t *starved_json(const struct snapshot *snapshot)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->cause && !row->absent && !snapshot_row_failed(snapshot, row))
            array = json_array_add(array, json_pack("{s:s, s:s, s:s, s:o, s:i, s:s, s:s}", "collector",
                                                    row->collector_name, "group", row->group, "pmu", row->pmu, "cgroup",
                                                    row->cgroup ? json_text(row->cgroup) : json_null(), "cpu", row->cpu,
                                                    "state", row_state_name(row->state), "cause", row->cause));
    }
    return array;
}

json_t *document_paranoid(const struct machine *machine)
{
    return machine->paranoid == INT_MIN ? json_null() : json_integer(machine->paranoid);
}

/* Returns [{"cpu", "seconds"}], the idle time of each CPU, or null if idle times cannot be read. */
static json_t *idle_times_json(struct sys *sys)
{
    _cleanup_(idle_times_done) struct idle_times times = {0};

    if (idle_times_load(sys, &times) < 0)
        return json_null();
    json_t *array = json_array();
    for (size_t i = 0; array && i < times.n; i++)
        array = json_array_add(
            array, json_pack("{s:i, s:f}", "cpu", (int)times.items[i].cpu, "seconds", times.items[i].seconds));
    return array;
}

static json_t *machine_json(const struct machine *machine, struct sys *sys)
{
    char hostname[HOST_NAME_MAX + 1] = "";
    struct board board = {.model = ""};

    _cleanup_(freep) char *online = cpuset_format(&machine->online), *possible = cpuset_format(&machine->possible);

    gethostname(hostname, sizeof(hostname) - 1);
    board_load(sys, &board); /* both names are left out if a file cannot be read */
    return json_pack("{s:o, s:s?, s:s?, s:s, s:f, s:s, s:s, s:o, s:o}", "hostname", json_text(hostname), "model",
                     board.model[0] ? board.model : NULL, "soc", board.soc[0] ? board.soc : NULL, "kernel",
                     machine->release ? machine->release : "", "uptime_seconds",
                     (double)sys_now(sys, CLOCK_BOOTTIME) / (double)NSEC_PER_SEC, "cpus_online", online,
                     "cpus_possible", possible, "perf_event_paranoid", document_paranoid(machine), "cpu_idle_seconds",
                     idle_times_json(sys));
}

/* Returns the number of cgroups in each state; all zeros if cgroups are not counted. */
static struct cgroup_summary summarize_cgroups(const struct registry *registry)
{
    const void *cgroup = registry_state(registry, &collector_cgroup);
    struct cgroup_summary summary = {0};

    if (cgroup)
        cgroup_summarize(cgroup, &summary);
    return summary;
}

/*
 * Returns how many more descriptors counters would need: for groups refused with EMFILE, and for cgroups that are not
 * watched because the limit is too low.
 */
static uint64_t refused_descriptors(const struct session *session)
{
    const struct failures *failures = registry_failures(session->registry);
    struct cgroup_summary cgroups = summarize_cgroups(session->registry);
    uint64_t n = 0;

    for (size_t i = 0; i < failures->n; i++)
        n += str_equal(failures->items[i].reason, reason_name(-EMFILE)) ? failures->items[i].n_targets : 0;
    uint64_t wanted = MIN(cgroups.n_wanted, cgroups.max_cgroups);
    return n + (wanted - MIN(wanted, cgroups.limit)) * cgroups.descriptors_each;
}

json_t *document_descriptors(const struct session *session)
{
    const struct fd_budget *budget = &session->budget;
    const struct descriptors *descriptors = &session->descriptors;

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "limit", (json_int_t)budget->limit, "daemon",
                     (json_int_t)budget->daemon, "clients", (json_int_t)budget->clients, "sampler",
                     (json_int_t)budget->sampler, "counters", (json_int_t)budget->limits.counting, "open",
                     (json_int_t)descriptors->n_counting, "sampling", (json_int_t)descriptors->n_sampling, "needed",
                     (json_int_t)(descriptors->n_counting + refused_descriptors(session)), "connections",
                     (json_int_t)session->config->web.limits.connections);
}

static json_t *processes_add(json_t *processes, const char *name, pid_t pid, uid_t uid, const struct process_stat *stat,
                             uint64_t boot_ns)
{
    return json_array_add(
        processes,
        json_pack("{s:s, s:i, s:I, s:o, s:f, s:I, s:I, s:I}", "process", name, "pid", (int)pid, "uid", (json_int_t)uid,
                  "start_time",
                  boot_ns ? json_real((double)(boot_ns + stat->start_ns) / (double)NSEC_PER_SEC) : json_null(),
                  "cpu_seconds", (double)stat->cpu_ns / (double)NSEC_PER_SEC, "resident_bytes",
                  (json_int_t)stat->resident_bytes, "virtual_bytes", (json_int_t)stat->virtual_bytes, "threads",
                  (json_int_t)stat->threads));
}

/*
 * Returns the user that the state file reader runs as. If the daemon was started as root, the reader switched to
 * SANDBOX_NOBODY as it entered its sandbox.
 */
static uid_t reader_user(uid_t started_as)
{
    return geteuid() == 0 || started_as == 0 ? SANDBOX_NOBODY : geteuid();
}

/*
 * Returns [{"process", "pid", "uid", "start_time", "cpu_seconds", ...}] for the daemon and its running child processes.
 */
static json_t *processes_json(const struct children *children, uid_t opener_uid, uint64_t boot_ns)
{
    _cleanup_(closep) int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    json_t *processes = json_array();
    struct process_stat stat;

    if (processes && process_stat_read(fd, &stat) == 0)
        processes = processes_add(processes, "daemon", getpid(), geteuid(), &stat, boot_ns);
    if (processes && children->opener && child_read(children->opener, &stat) == 0)
        processes = processes_add(processes, "opener", children->opener->pid, opener_uid, &stat, boot_ns);
    if (processes && children->symboliser && child_read(children->symboliser, &stat) == 0)
        processes = processes_add(processes, "symboliser", children->symboliser->pid, geteuid(), &stat, boot_ns);
    if (processes && children->reader && child_read(children->reader, &stat) == 0)
        processes = processes_add(processes, "reader", children->reader->pid, reader_user(opener_uid), &stat, boot_ns);
    return processes;
}

/* Describes how cgroups are counted, as JSON; null if cgroups are not counted. */
static json_t *engine_json(const struct registry *registry)
{
    struct cgroup_summary summary = summarize_cgroups(registry);

    if (!registry_state(registry, &collector_cgroup))
        return json_null();
    return json_pack("{s:s, s:s?, s:o}", "engine", config_engine_name(summary.engine), "engine_reason",
                     summary.engine_reason, "unknown_seconds",
                     registry_has_failed(registry, &collector_cgroup)
                         ? json_null()
                         : json_real((double)summary.unknown_ns / (double)NSEC_PER_SEC));
}

json_t *document_status(struct session *session, const struct document_process *process)
{
    struct registry *registry = session->registry;
    const char *file = session->config->file;
    uint64_t now_ns = sys_now(&session->sys, CLOCK_REALTIME);
    _cleanup_(json_decrefp) json_t *descriptors = document_descriptors(session);
    json_t *processes = processes_json(&session->children, privsep_opener_user(process->privsep), process->boot_ns);

    return json_pack(
        "{s:s, s:f, s:i, s:f, s:o, s:b, s:f, s:o, s:b, s:o, s:O, s:O, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "version", PACKAGE_VERSION, "timestamp", (double)now_ns / (double)NSEC_PER_SEC, "pid", (int)getpid(),
        "start_time", (double)process->started_realtime_ns / (double)NSEC_PER_SEC, "config_file",
        file ? json_text(file) : json_null(), "config_last_reload_successful", session->reload.successful,
        "config_last_reload_success_time", (double)session->reload.success_realtime_ns / (double)NSEC_PER_SEC,
        "config_last_reload_error", json_text(process->reload_error), "paused", process->pause.paused, "paused_until",
        process->pause.paused ? json_real(process->pause.until) : json_null(), "max_fds",
        json_object_get(descriptors, "limit"), "descriptors", descriptors, "processes", processes, "opener",
        privsep_json(process->privsep), "reader", privsep_reader_json(process->privsep), "machine",
        machine_json(session->machine, &session->sys), "collectors", document_collectors(registry), "cgroups",
        engine_json(registry), "failures", document_failures(registry), "starved",
        starved_json(registry_snapshot(registry)));
}

/* Adds a cgroup's names and their source, "named_by", or the reason why it has no name, "unnamed". */
static json_t *add_names(json_t *cgroup, const struct names *names)
{
    char room[NAMES_BEST_MAX];
    const char *name = names_best(names, room), *unnamed = names->unnamed;

    for (enum name_kind kind = 0; kind < N_NAME_KINDS; kind++)
        if (names->texts[kind])
            cgroup = json_object_add(cgroup, name_kind_text(kind), json_text(names->texts[kind]));
    if (!name && !unnamed)
        unnamed = "it is neither a known unit nor a known container";
    if (name)
        cgroup = json_object_add(cgroup, "name", json_text(name));
    if (name)
        cgroup = json_object_add(cgroup, "named_by", json_string(names->source ? names->source : "path"));
    return unnamed ? json_object_add(cgroup, "unnamed", json_string(unnamed)) : cgroup;
}

struct cgroup_list {
    json_t *items;
    bool failed; /* the collector `cgroup` has failed, so no cgroup is counted */
};

static void add_cgroup(void *userdata, const struct cgroup_view *view)
{
    struct cgroup_list *list = userdata;
    bool failed = list->failed && view->state != CGROUP_STATE_DROPPED;
    json_t *cgroup = json_pack("{s:s, s:s, s:I, s:I}", "cgroup", view->label, "state",
                               failed ? STATE_FAILED : cgroup_state_name(view->state), "inode", (json_int_t)view->inode,
                               "descriptors", (json_int_t)view->descriptors);

    list->items = json_array_add(list->items, add_names(cgroup, view->names));
}

json_t *document_cgroups(const struct registry *registry)
{
    const void *state = registry_state(registry, &collector_cgroup);
    struct cgroup_list list = {json_array(), registry_has_failed(registry, &collector_cgroup)};
    struct cgroup_summary summary;

    if (!state || !list.items)
        return json_pack("{s:o}", "cgroups", list.items);
    cgroup_visit(state, add_cgroup, &list);
    cgroup_summarize(state, &summary);
    return json_pack("{s:o, s:i, s:s, s:s?, s:I, s:I, s:I, s:s?, s:o}", "hierarchy", json_text(summary.hierarchy),
                     "version", summary.v1 ? 1 : 2, "engine", config_engine_name(summary.engine), "engine_reason",
                     summary.engine_reason, "wanted", (json_int_t)summary.n_wanted, "limit", (json_int_t)summary.limit,
                     "descriptors_each", (json_int_t)summary.descriptors_each, "limitation", summary.limitation,
                     "cgroups", list.items);
}

/* --- status line --- */

static void count_watched(void *userdata, const struct cgroup_view *view)
{
    *(size_t *)userdata += view->state == CGROUP_STATE_WATCHED;
}

static void append_count(struct buffer *line, const char *before, size_t n, const char *noun)
{
    buffer_appendf(line, "%s%zu %s%s", before, n, noun, plural(n));
}

static size_t count_cgroups(const struct registry *registry)
{
    const void *cgroup = registry_state(registry, &collector_cgroup);
    size_t n = 0;

    if (cgroup && !registry_has_failed(registry, &collector_cgroup))
        cgroup_visit(cgroup, count_watched, &n);
    return n;
}

static bool is_counted(const struct snapshot *snapshot, const struct row *row)
{
    return row->state != ROW_UNAVAILABLE && !row->absent && !snapshot_row_failed(snapshot, row);
}

static void append_counted(struct buffer *line, struct registry *registry)
{
    const struct snapshot *snapshot = registry_snapshot(registry);
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    size_t groups = 0, cgroups = count_cgroups(registry);

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (!is_counted(snapshot, row))
            continue;
        groups++;
        if (row->cpu >= 0 && cpuset_add(&cpus, (unsigned)row->cpu) < 0)
            line->failed = true;
    }
    append_count(line, "counting ", groups, "group");
    if (cpuset_count(&cpus) > 0)
        append_count(line, " on ", (size_t)cpuset_count(&cpus), "CPU");
    if (cgroups > 0)
        append_count(line, cpuset_count(&cpus) > 0 ? " and " : " on ", cgroups, "cgroup");
}

static void append_failures(struct buffer *line, const struct registry *registry)
{
    const struct failures *failures = registry_failures(registry);
    size_t events = failures_count_events(failures), others = failures->n - events;

    if (events > 0)
        append_count(line, "; ", events, "event");
    if (others > 0)
        append_count(line, events > 0 ? " and " : "; ", others, "other failure");
    if (events + others > 0)
        buffer_append_text(line, " unavailable, see /api/v1/status");
}

static void put_line(const struct buffer *line, char *text, size_t size)
{
    size_t n = line->failed ? 0 : MIN(line->size, size - 1);

    memcpy(text, n ? line->data : "", n);
    text[n] = '\0';
}

void summary_format(struct registry *registry, const struct summary_state *state, char *text, size_t size)
{
    _cleanup_(buffer_done) struct buffer line = {0};

    if (state->opener_lost)
        buffer_append_text(&line, state->ends ? REASON_OPENER_GONE ", perfcountd exits so that it is restarted; "
                                              : REASON_OPENER_GONE ", " REASON_OPENER_GONE_REMEDY "; ");
    if (state->reload_error[0])
        buffer_appendf(&line, "reload failed, " CONFIG_KEPT ": %s; ", state->reload_error);
    if (state->paused_seconds > 0) {
        append_count(&line, "paused for ", state->paused_seconds, "second");
        buffer_append_text(&line, "; ");
    }
    append_counted(&line, registry);
    append_failures(&line, registry);
    put_line(&line, text, size);
}

/* --- description of what is counted --- */

/* Example rows, one for each combination of collector, group and PMU. */
struct row_list {
    const struct row **rows;
    size_t n;
};

static bool is_same_group(const struct row *a, const struct row *b)
{
    return a->collector == b->collector && str_equal(a->group, b->group);
}

static int row_list_add(struct row_list *examples, const struct row *row)
{
    for (size_t i = 0; i < examples->n; i++)
        if (is_same_group(examples->rows[i], row) && str_equal(examples->rows[i]->pmu, row->pmu))
            return 0;
    if (array_grow(&examples->rows, examples->n) < 0)
        return -ENOMEM;
    examples->rows[examples->n++] = row;
    return 0;
}

/* Appends "cpu 0-7", "pmu", or "24 cgroups by bpf". */
static void append_targets(struct buffer *line, const struct registry *registry, const struct snapshot *snapshot,
                           const struct row *example)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};

    if (example->cgroup) {
        append_count(line, "", count_cgroups(registry), "cgroup");
        buffer_appendf(line, " by %s", config_engine_name(summarize_cgroups(registry).engine));
        return;
    }
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->collector == example->collector && is_counted(snapshot, snapshot->rows[i]) &&
            cpuset_add(&cpus, (unsigned)snapshot->rows[i]->cpu) < 0)
            line->failed = true;
    _cleanup_(freep) char *text = cpuset_format(&cpus);
    /* Omit the CPU for a system PMU, since that CPU only reads the PMU; the PMU's name follows. */
    bool is_pmu = str_equal(example->collector_name, "pmu");
    buffer_appendf(line, "%s%s%s", example->collector_name, is_pmu ? "" : " ", is_pmu || !text ? "" : text);
}

/* Appends "overview (armv8_cortex_a55, armv8_cortex_a76)". */
static void append_group(struct buffer *line, const struct row_list *examples, const struct row *group)
{
    size_t n = 0;

    buffer_append_text(line, group->group);
    for (size_t i = 0; i < examples->n; i++) {
        const char *pmu = examples->rows[i]->pmu;
        if (!is_same_group(examples->rows[i], group) || str_equal(pmu, "software") || str_equal(pmu, "tracepoint"))
            continue;
        buffer_appendf(line, "%s%s", n++ ? ", " : " (", pmu);
    }
    buffer_append_text(line, n ? ")" : "");
}

/* Returns whether row `i` is the first of its group or, if `of_group` is false, of its collector. */
static bool is_first(const struct row_list *examples, size_t i, bool of_group)
{
    size_t k = 0;

    while (k < i && (of_group ? !is_same_group(examples->rows[k], examples->rows[i])
                              : examples->rows[k]->collector != examples->rows[i]->collector))
        k++;
    return k == i;
}

static void append_collector(struct buffer *line, const struct row_list *examples, unsigned collector)
{
    const char *before = ": ";

    for (size_t i = 0; i < examples->n; i++)
        if (examples->rows[i]->collector == collector && is_first(examples, i, true)) {
            buffer_append_text(line, before);
            append_group(line, examples, examples->rows[i]);
            before = ", ";
        }
}

void summary_describe(struct registry *registry, const char *config_file, char *text, size_t size)
{
    const struct snapshot *snapshot = registry_snapshot(registry);
    _cleanup_(buffer_done) struct buffer line = {0};
    struct row_list examples = {0};
    size_t events = failures_count_events(registry_failures(registry));
    const char *reason = summarize_cgroups(registry).engine_reason;

    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (is_counted(snapshot, snapshot->rows[i]) && row_list_add(&examples, snapshot->rows[i]) < 0)
            line.failed = true;
    buffer_append_text(&line, examples.n > 0 ? "counting: " : "nothing can be counted");
    for (size_t i = 0; i < examples.n; i++)
        if (is_first(&examples, i, false)) {
            buffer_append_text(&line, i > 0 ? "; " : "");
            append_targets(&line, registry, snapshot, examples.rows[i]);
            append_collector(&line, &examples, examples.rows[i]->collector);
        }
    if (reason)
        buffer_appendf(&line, "; the engine for cgroups is not bpf: %s", reason);
    if (events > 0) {
        append_count(&line, "; ", events, "event");
        buffer_appendf(&line, " %s not counted, see \"perfcountd plan%s%s\"", events == 1 ? "is" : "are",
                       config_file ? " --config.file=" : "", config_file ? config_file : "");
    }
    free(examples.rows);
    put_line(&line, text, size);
}
