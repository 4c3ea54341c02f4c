/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/session.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "bpf/layout.h"
#include "config/address.h"
#include "config/web-config.h"
#include "daemon/log.h"
#include "perf/event.h"
#include "perf/group.h"
#include "perf/presets.h"
#include "process/privileges.h"
#include "sampler/hindsight.h"
#include "sampler/rings.h"

/* --- settings --- */

#define DEFAULT_FILE SYSCONFDIR "/perfcountd/perfcountd.yaml"

static int add_position(int code, const char *file, struct error *error)
{
    char text[sizeof(error->message)];

    if (error) {
        config_format_error(file, error, text, sizeof(text));
        memcpy(error->message, text, sizeof(text));
    }
    return code;
}

static int open_by_sys(void *userdata, const char *path)
{
    struct sys *sys = userdata;

    return sys_open_file(sys, path, 0);
}

struct file_opener settings_files(struct sys *sys)
{
    bool has_opener = sys->calls.open_file != sys_own_open_file;

    return (struct file_opener){
        .open = open_by_sys,
        .userdata = sys,
        .remedy = has_opener
                      ? "the opener reads only files that were configured when perfcountd started, in directories "
                        "where only their owner can replace them; restart perfcountd"
                      : NULL,
    };
}

const char *settings_file(const struct options *options)
{
    return options->config_file ? options->config_file : DEFAULT_FILE;
}

static int load_file(const struct options *options, struct sys *sys, struct config **ret, struct error *error)
{
    const struct file_opener files = settings_files(sys);
    const char *file = settings_file(options);

    if (!options->config_file && access(file, F_OK) < 0 && errno == ENOENT)
        return config_default(ret, error);
    int r = config_load(&files, file, NULL, ret, error);
    return r < 0 ? add_position(r, file, error) : 0;
}

static int override(struct config *config, const char *key, const char *flag, const char *value, struct error *error)
{
    int r = config_override(config, key, value, error);

    if (r < 0)
        error_prefix(error, "--%s", flag);
    return r;
}

static int apply_flags(const struct options *options, struct config *config, struct error *error)
{
    int r = 0;

    if (options->n_listen > 0)
        config_clear_list(config, "web.listen");
    for (size_t i = 0; i < options->n_listen && r == 0; i++)
        r = override(config, "web.listen", "web.listen-address", options->listen[i], error);
    if (r == 0 && options->telemetry_path)
        r = override(config, "web.telemetry_path", "web.telemetry-path", options->telemetry_path, error);
    if (r == 0 && options->web_config_file)
        r = override(config, "web.config_file", "web.config.file", options->web_config_file, error);
    if (r == 0 && options->sampler)
        r = override(config, "sampler.enabled", "sampler.enabled", "true", error);
    return r;
}

int settings_read(const struct options *options, struct sys *sys, struct config **ret, struct error *error)
{
    _cleanup_(config_freep) struct config *config = NULL;
    int r = load_file(options, sys, &config, error);

    if (r == 0)
        r = apply_flags(options, config, error);
    if (r == 0)
        *ret = steal(config);
    return r;
}

/* Replaces the configured groups with the events of --event. */
static int set_events(const struct options *options, struct config *config, const struct machine *machine,
                      struct error *error)
{
    enum config_scope scope = options_of_cgroups(options)   ? SCOPE_CGROUPS
                              : options_of_command(options) ? SCOPE_COMMAND
                                                            : SCOPE_MACHINE;

    return config_set_events(config, options->event, machine, scope, error);
}

/*
 * Replaces the configured include patterns for cgroups with those of --cgroup. A pattern without a slash is matched
 * against the last path component.
 */
static int set_cgroups(const struct options *options, struct config *config, struct error *error)
{
    static const char key[] = "collectors.cgroup.include";
    int r = 0;

    config->cgroup.enabled = true;
    config_clear_list(config, key);
    for (size_t i = 0; r == 0 && i < options->n_cgroups; i++) {
        _cleanup_(freep) char *anywhere = NULL;
        const char *pattern = options->cgroups[i], *glob;
        enum name_kind kind;
        bool is_name = name_kind_parse(pattern, &kind, &glob) == 0;
        if (!is_name && pattern[0] != '/' && asprintf(&anywhere, "/**/%s", pattern) < 0)
            return error_oom(error);
        r = override(config, key, "cgroup", anywhere ? anywhere : pattern, error);
    }
    return r;
}

/*
 * Loads the configuration and checks its events. Returns -errno with a message, which starts with FILE:LINE:COLUMN if
 * the error is in the file. The configured web configuration file is not read, because the user who runs a command may
 * not have permission. If `machine` is NULL, events are not looked up in sysfs.
 */
static int settings_load(const struct options *options, struct sys *sys, const struct machine *machine,
                         struct config **ret, struct error *error)
{
    _cleanup_(config_freep) struct config *config = NULL;
    bool has_events = options->command == COMMAND_STAT && options->event;
    int r = settings_read(options, sys, &config, error);

    if (r < 0)
        return r;
    if (options->command == COMMAND_STAT && options->n_cgroups)
        r = set_cgroups(options, config, error);
    if (r < 0)
        return r;
    if (has_events)
        r = set_events(options, config, machine, error);
    if (r == 0)
        r = config_check_events(config, sys, machine, error);
    if (r < 0 && has_events) {
        error_prefix(error, "--event");
        return r;
    }
    if (r < 0)
        return add_position(r, config->file, error);
    *ret = steal(config);
    return 0;
}

/* --- permissions of the opener --- */

/* Number of events that are only open briefly: a group of the maximum size probes how many counters a PMU has. */
#define EVENTS_TRIED GROUP_MEMBERS_MAX

struct permission_walk {
    struct sys *sys;
    struct machine *machine; /* the machine, loaded on first use */
    struct opener_permissions *permissions;
};

/*
 * Returns the name of the PMU of a tracepoint, a breakpoint or an event that names its PMU, or "" for other events,
 * which need no permission.
 */
static const char *pmu_name_of(const struct event *event)
{
    switch (event->kind) {
    case EVENT_TRACEPOINT:
        return "tracepoint";
    case EVENT_BREAKPOINT:
        return "breakpoint";
    case EVENT_PMU:
        return event->pmu;
    case EVENT_GENERIC:
    case EVENT_RAW:
    case EVENT_NAME:
        break;
    }
    return "";
}

/* **ret is NULL if the machine cannot be loaded; that failure is reported later. Returns -ENOMEM. */
static int walk_machine(struct permission_walk *walk, struct machine **ret)
{
    if (!walk->machine && machine_load(walk->sys, &walk->machine, NULL) == -ENOMEM)
        return -ENOMEM;
    *ret = walk->machine;
    return 0;
}

static int grant(void *userdata, const struct event *event, bool samples)
{
    struct permission_walk *walk = userdata;
    const char *name = pmu_name_of(event);
    struct machine *machine;
    struct attr attr;

    if (pmu_kind(name) == PMU_COUNTING)
        return 0;
    if (walk_machine(walk, &machine) < 0)
        return -ENOMEM;
    const struct pmu *pmu = machine ? machine_find_pmu(machine, name) : NULL;
    if (!pmu || attr_build(walk->sys, machine, event, pmu, &attr, NULL) < 0)
        return 0;
    return opener_permissions_add_event(walk->permissions, &attr, samples);
}

/* Adds the web configuration and the files that it names. Errors in it are reported later, when the server reads it. */
static int add_web_files(struct opener_permissions *permissions, const char *path)
{
    _cleanup_(web_config_freep) struct web_config *config = NULL;

    int r = opener_permissions_add_file(permissions, path);
    if (r < 0 || !*path || web_config_load(NULL, path, NULL, &config, NULL) < 0)
        return r;
    r = opener_permissions_add_file(permissions, config->tls.cert_file);
    if (r == 0)
        r = opener_permissions_add_file(permissions, config->tls.key_file);
    return r == 0 ? opener_permissions_add_file(permissions, config->tls.client_ca_file) : r;
}

/* Adds the configured unix sockets. Errors in addresses are reported later, when the server listens. */
static int add_sockets(struct opener_permissions *permissions, const struct config_web *web)
{
    struct address address;
    int r = 0;

    for (size_t i = 0; r == 0 && i < web->n_listen; i++)
        if (address_parse(web->listen[i], &address, NULL) == 0 && address.socket.ss_family == AF_UNIX)
            r = opener_permissions_add_socket(permissions, ((struct sockaddr_un *)&address.socket)->sun_path);
    return r;
}

/*
 * Returns the number of slots in the BPF program (bpf/layout.h): one for each watched cgroup and BPF_SLOT_FIRST for the
 * program itself, but at least 256; 0 if BPF does not count cgroups.
 */
static uint32_t bpf_slots(const struct config *config)
{
    if (!config->cgroup.enabled || config->cgroup.engine == ENGINE_PERF)
        return 0;
    return (uint32_t)MAX(config_max_cgroups(config, ENGINE_BPF) + BPF_SLOT_FIRST, 256);
}

/* Returns the number of events in one variant of a preset. Each CPU counts only one variant. */
static uint64_t count_of_variant(const struct config_group *group, size_t variant)
{
    uint64_t n = 0;

    for (size_t i = 0; i < group->n_events; i++)
        n += group->events[i].variants >> variant & 1;
    return n;
}

/* Returns how many events these groups may count on one CPU, or for one cgroup on one CPU. */
static uint64_t count_on_cpu(const struct config_groups *groups)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < groups->n; i++) {
        const struct config_group *group = &groups->items[i];
        uint64_t n = group->preset ? 0 : group->n_events;
        for (size_t k = 0; group->preset && k < group->preset->n_variants; k++)
            n = MAX(n, count_of_variant(group, k));
        sum += n;
    }
    return sum;
}

/*
 * Returns the number of events on system PMUs. They may all be opened on the same CPU, because that CPU may be in every
 * system PMU's cpumask.
 */
static int count_of_pmus(struct permission_walk *walk, const struct config_groups *groups, uint64_t *ret)
{
    struct machine *machine = NULL;
    int r = groups->n ? walk_machine(walk, &machine) : 0;

    *ret = 0;
    for (size_t i = 0; machine && i < machine->n_pmus; i++)
        for (size_t k = 0; k < groups->n && !pmu_is_per_cpu(machine->pmus[i]); k++)
            for (size_t j = 0; j < groups->items[k].n_events; j++)
                *ret += attr_names_pmu(machine, &groups->items[k].events[j].event, machine->pmus[i]);
    return r;
}

/*
 * Sets the maximum numbers of events that the configuration can need. The number per CPU is doubled for a reload: the
 * bpf engine, which may share groups with the collector `cpu`, opens new groups before it closes the old ones. Cgroup
 * groups (engine perf) and sampler groups are closed before new ones are opened.
 */
static int set_limits(struct permission_walk *walk, const struct config *config)
{
    const struct config_cgroup *cgroup = &config->cgroup;
    const struct config_sampler *sampler = &config->sampler;
    uint64_t of_cgroup = cgroup->enabled ? count_on_cpu(&cgroup->groups) : 0, of_pmus = 0;
    int r = config->pmu.enabled ? count_of_pmus(walk, &config->pmu.groups, &of_pmus) : 0;
    uint64_t counted = (config->cpu.enabled ? count_on_cpu(&config->cpu.groups) : 0) + of_pmus +
                       (cgroup->engine == ENGINE_PERF ? 0 : of_cgroup);
    uint64_t sampled = sampler->enabled ? sampler->max_clients * GROUP_MEMBERS_MAX : 0;
    uint64_t hindsight = sampler->enabled && sampler->hindsight.enabled ? HINDSIGHT_EVENTS : 0;
    struct opener_event_limits *limits = &walk->permissions->limits;

    limits->cpu = limits->cpu_of_bpf = 2 * counted + sampled + hindsight + EVENTS_TRIED;
    if (cgroup->engine != ENGINE_BPF)
        limits->cpu += of_cgroup * config_max_cgroups(config, ENGINE_PERF);
    limits->thread = sampled + EVENTS_TRIED;
    limits->threads = (sampler->enabled ? sampler->max_clients * RINGS_DESCRIPTORS_MAX : 0) + EVENTS_TRIED;
    return r;
}

int permissions_from_config(struct sys *sys, const struct config *config, const char *config_file,
                            struct opener_permissions *ret, struct error *error)
{
    struct permission_walk walk = {.sys = sys, .permissions = ret};

    *ret = (struct opener_permissions){.sampling = config->sampler.enabled,
                                       .hindsight = config->sampler.hindsight.enabled,
                                       .breakpoints = config->opener_breakpoints,
                                       .bpf_slots = bpf_slots(config)};
    int r = config_each_event(config, grant, &walk);
    if (r == 0)
        r = set_limits(&walk, config);
    machine_free(walk.machine);
    if (r == 0)
        r = opener_permissions_add_file(ret, config_file);
    if (r == 0)
        r = add_web_files(ret, config->web.config_file);
    if (r == 0)
        r = add_sockets(ret, &config->web);
    return r < 0 ? error_oom(error) : 0;
}

/* --- session --- */

#define COLLECTORS_MAX 32
#define SETTLE_NS (2 * NSEC_PER_SEC)
#define SILENCE_MS 100

DEFINE_CLEANUP(struct machine *, machine_free);

/*
 * Raises the soft RLIMIT_NOFILE to the hard limit, and returns the new limit: every event takes a descriptor on every
 * CPU, and the soft limit only protects programs that use select(2).
 */
static uint64_t raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return UINT32_MAX;
    if (limit.rlim_cur != limit.rlim_max)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit.rlim_max, limit.rlim_max});
    getrlimit(RLIMIT_NOFILE, &limit);
    return MIN(limit.rlim_cur, UINT32_MAX);
}

static void start_reader(struct session *session)
{
    struct error error = {0};
    int r = name_reader_start(&session->sys, &session->reader, &error);

    session->has_reader = r == 0;
    if (r < 0 && r != -ENOENT)
        log_warning("container names cannot be read from state files: %s", error.message);
    if (r < 0)
        return;
    session->own_state_files = (struct own_state_files){.sys = &session->sys, .reader = &session->reader.files};
    own_state_files_bind(&session->own_state_files, &session->state_files);
    session->state_files.records = session->reader.records;
}

int session_load_bpf(struct session *session)
{
    int r = session->loader ? 0 : bpf_loader_new(&session->sys, &session->loader);

    if (r == 0)
        bpf_loader_bind(session->loader, &session->bpf);
    return r;
}

int session_begin(struct session *session, const struct options *options, bool serves, struct error *error)
{
    uint64_t limit = raise_descriptor_limit(), open = 0;
    /* -EMFILE means that there is not even a descriptor left for counting the open descriptors. */
    int r = fd_count_open(-1, &open);

    if (serves && (r == -EMFILE || limit < open + FD_BUDGET_START_MIN))
        return error_set(error, -EMFILE,
                         "the limit of open files is %" PRIu64
                         ", which is too low for perfcountd to start: raise it (LimitNOFILE= of the unit, ulimit -n)",
                         limit);
    if (memory_limit_find("", &session->memory) < 0 || session_load_bpf(session) < 0)
        return error_oom(error);
    session->sys.memory = &session->memory;
    start_reader(session);
    session->terms = (struct fd_budget_terms){
        .limit = limit,
        .inherited = r < 0 ? STDERR_FILENO + 1 : open,
        .handed_over = (uint64_t)MAX(sd_listen_fds(0), 0),
        .serves = serves,
        .has_opener = !options->no_opener && capabilities_are_privileged(),
        .has_reader = session->has_reader,
        .has_watchdog = sd_watchdog_enabled(0, NULL) > 0,
        .has_journal = getenv("JOURNAL_STREAM") != NULL,
    };
    return 0;
}

struct privileged_calls session_privileged_calls(struct session *session)
{
    return (struct privileged_calls){&session->sys, &session->bpf, &session->state_files};
}

static int divide_descriptors(struct session *session, const struct config *config, const struct machine *machine,
                              struct fd_budget *ret, struct error *error)
{
    struct fd_budget_terms *terms = &session->terms;

    terms->config = config;
    terms->cpus = cpuset_count(&machine->possible);
    terms->counting = session->descriptors.n_counting;
    terms->sampling = session->descriptors.n_sampling;
    int r = fd_budget_make(terms, ret, error);
    terms->config = NULL;
    return r;
}

int session_divide_descriptors(struct session *session, struct error *error)
{
    return divide_descriptors(session, session->config, session->machine, &session->budget, error);
}

static void set_reload_success(struct session *session)
{
    session->reload.successful = true;
    session->reload.success_realtime_ns = sys_now(&session->sys, CLOCK_REALTIME);
}

int session_load(struct session *session, const struct options *options, struct error *error)
{
    int r = machine_load(&session->sys, &session->machine, error);
    session->generation++;
    if (r == 0)
        r = settings_load(options, &session->sys, session->machine, &session->config, error);
    if (r == 0)
        set_reload_success(session);
    return r;
}

int session_open(struct session *session, struct error *error)
{
    memory_limit_apply(&session->memory);
    descriptors_attach(&session->descriptors, &session->sys, &session->budget.limits);
    int r = registry_new(&session->sys, &session->reload, &session->registry);
    if (r < 0)
        return error_oom(error);
    registry_set_children(session->registry, &session->children);
    registry_set_findings(session->registry, session->n_findings);
    registry_set_cgroup_sources(session->registry, &session->bpf, &session->state_files);
    r = registry_configure(session->registry, session->machine, session->config, NULL, error);
    if (r == 0)
        registry_read(session->registry, UINT32_MAX, 0);
    memory_limit_apply(&session->memory); /* recompute the limit, because the opened events use kernel memory */
    return r;
}

/* Stores the new budget in session->budget, where `accept` reads it. Restores the old budget if `accept` fails. */
static int accept_with_budget(struct session *session, const struct machine *machine, const struct config *config,
                              int (*accept)(void *userdata, const struct config *config, struct error *error),
                              void *userdata, struct error *error)
{
    struct fd_budget before = session->budget;
    int r = divide_descriptors(session, config, machine, &session->budget, error);

    if (r == 0)
        r = accept(userdata, config, error);
    if (r < 0)
        session->budget = before;
    else
        session->descriptors.limits = session->budget.limits;
    return r;
}

/*
 * Waits up to `ms` milliseconds for collectors' descriptors to become readable, and lets the collectors handle them.
 * Returns whether any was readable.
 */
static bool session_dispatch(struct session *session, int ms)
{
    struct pollfd fds[COLLECTORS_MAX];
    size_t n = 0;

    for (int fd; n < COLLECTORS_MAX && (fd = registry_fd(session->registry, n)) != -ENODEV; n++)
        fds[n] = (struct pollfd){.fd = fd, .events = POLLIN};
    if (poll(fds, n, ms) <= 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (fds[i].revents)
            registry_dispatch(session->registry, i);
    return true;
}

/*
 * Waits for container names on behalf of a command without an event loop: names arrive a moment after the cgroups are
 * found. Returns when no name has arrived for SILENCE_MS, after two seconds at the latest, or at once without a state
 * file reader.
 */
static void session_settle(struct session *session)
{
    uint64_t end = sys_now(&session->sys, CLOCK_MONOTONIC) + SETTLE_NS;

    while (session->has_reader && sys_now(&session->sys, CLOCK_MONOTONIC) < end &&
           session_dispatch(session, SILENCE_MS))
        ;
}

int session_start(struct session *session, const struct options *options, bool serves, struct error *error)
{
    sys_init(&session->sys);
    if (session_begin(session, options, serves, error) < 0)
        return EXIT_FAILURE;
    if (session_load(session, options, error) < 0)
        return EXIT_BAD_USAGE;
    if (session_divide_descriptors(session, error) < 0 || session_open(session, error) < 0)
        return EXIT_FAILURE;
    session_settle(session);
    return EXIT_SUCCESS;
}

/*
 * Refuses an empty configuration file, which may not have been written completely yet, unless the configuration in use
 * came from an empty file as well.
 */
static int refuse_blank(const struct session *session, const struct config *config, struct error *error)
{
    if (!config->blank || session->config->blank)
        return 0;
    return error_set(error, -ENODATA, "%s: " CONFIG_BLANK, config->file);
}

int session_reload(struct session *session, const struct options *options,
                   int (*accept)(void *userdata, const struct config *config, struct error *error), void *userdata,
                   struct error *error)
{
    _cleanup_(machine_freep) struct machine *machine = NULL;
    _cleanup_(config_freep) struct config *config = NULL;

    session->reload.successful = false;
    memory_limit_apply(&session->memory);
    registry_expire(session->registry);
    int r = machine_load_again(&session->sys, session->machine, &machine, error);
    if (r == 0)
        r = settings_load(options, &session->sys, machine, &config, error);
    if (r == 0)
        r = refuse_blank(session, config, error);
    if (r == 0)
        r = accept_with_budget(session, machine, config, accept, userdata, error);
    if (r < 0)
        return r;
    r = registry_configure(session->registry, machine, config, NULL, error);
    /* Free the old machine and configuration even on failure: the collectors already use the new ones. */
    machine_free(session->machine);
    config_free(session->config);
    session->machine = steal(machine);
    session->generation++;
    session->config = steal(config);
    if (r == 0)
        set_reload_success(session);
    memory_limit_apply(&session->memory);
    return r;
}

int session_rescan(struct session *session, const struct cpuset *went_offline, struct error *error)
{
    _cleanup_(machine_freep) struct machine *machine = NULL;
    int r = machine_load_again(&session->sys, session->machine, &machine, error);

    if (r < 0)
        return r;
    r = registry_configure(session->registry, machine, session->config, went_offline, error);
    machine_free(session->machine);
    session->machine = steal(machine);
    session->generation++;
    return r;
}

void session_done(struct session *session)
{
    session->registry = registry_free(session->registry);
    descriptors_done(&session->descriptors, &session->sys);
    session->config = config_free(session->config);
    session->machine = machine_free(session->machine);
    session->loader = bpf_loader_free(session->loader);
    if (session->has_reader)
        name_reader_end(&session->reader);
    session->has_reader = false;
    session->sys.memory = NULL;
    memory_limit_done(&session->memory);
}
