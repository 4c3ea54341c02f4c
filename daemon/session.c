/* SPDX-License-Identifier: Apache-2.0 */
/* A machine, its configuration and its collectors: see session.h. */
#include "daemon/session.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "config/load.h"
#include "daemon/log.h"
#include "daemon/settings.h"
#include "opener/opener.h"
#include "process/privileges.h"

#define COLLECTORS_MAX 32
#define SETTLE_NS (2 * NSEC_PER_SEC)
#define SILENCE_MS 100

DEFINE_CLEANUP(struct machine *, machine_free);

/* Every event of every CPU is a descriptor; the soft limit is only for programs that use select(2). */
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
        log_warning("containers are not named by their state files: %s", error.message);
    if (r < 0)
        return;
    session->sys.state_records = session->reader.records;
    session->state_files.reader = &session->reader.files;
    opener_state_file_attach(&session->sys, &session->state_files);
}

int session_begin(struct session *session, const struct options *options, bool serves, struct error *error)
{
    uint64_t limit = raise_descriptor_limit(), open = 0;
    /* -EMFILE: too many are open to even count them. */
    int r = fd_count_open(-1, &open);

    if (serves && (r == -EMFILE || limit < open + FD_BUDGET_START_MIN))
        return error_set(error, -EMFILE,
                         "the limit of open files is %" PRIu64
                         ", which is too low for perfcountd to start: raise it (LimitNOFILE= of the unit, ulimit -n)",
                         limit);
    if (memory_limit_find("", &session->memory) < 0 || tally_loader_new(&session->loader) < 0)
        return error_oom(error);
    session->sys.memory = &session->memory;
    tally_loader_bind(session->loader, &session->sys);
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
    session->reload.success_realtime_ns = session->sys.now(&session->sys, CLOCK_REALTIME);
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
    const struct descriptor_limits limits = fd_budget_limits(&session->budget);

    memory_limit_apply(&session->memory);
    descriptors_attach(&session->descriptors, &session->sys, &limits);
    int r = registry_new(&session->sys, &session->reload, &session->registry);
    if (r < 0)
        return error_oom(error);
    registry_set_children(session->registry, &session->children);
    r = registry_configure(session->registry, session->machine, session->config, NULL, error);
    if (r == 0)
        registry_read(session->registry, UINT32_MAX, 0);
    memory_limit_apply(&session->memory); /* the kernel has taken memory for what was opened */
    return r;
}

/* `accept` reads session->budget. */
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
        session->descriptors.limits = fd_budget_limits(&session->budget);
    return r;
}

/* Whether a descriptor of a collector was readable within `ms`. */
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

void session_settle(struct session *session)
{
    uint64_t end = session->sys.now(&session->sys, CLOCK_MONOTONIC) + SETTLE_NS;

    while (session->has_reader && session->sys.now(&session->sys, CLOCK_MONOTONIC) < end &&
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

/* A configuration that was not empty before. */
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
    int r = machine_load(&session->sys, &machine, error);
    if (r == 0)
        r = settings_load(options, &session->sys, machine, &config, error);
    if (r == 0)
        r = refuse_blank(session, config, error);
    if (r == 0)
        r = accept_with_budget(session, machine, config, accept, userdata, error);
    if (r < 0)
        return r;
    r = registry_configure(session->registry, machine, config, NULL, error);
    /* Also where it failed: the collectors work with the new ones by now. */
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

int session_rescan(struct session *session, const struct cpuset *left, struct error *error)
{
    _cleanup_(machine_freep) struct machine *machine = NULL;
    int r = machine_load(&session->sys, &machine, error);

    if (r < 0)
        return r;
    r = registry_configure(session->registry, machine, session->config, left, error);
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
    session->loader = tally_loader_free(session->loader);
    if (session->has_reader)
        name_reader_end(&session->reader);
    session->has_reader = false;
    session->sys.memory = NULL;
    memory_limit_done(&session->memory);
}
