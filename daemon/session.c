/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured: see session.h. */
#include "daemon/session.h"

#include <sys/resource.h>

#include "base/cleanup.h"
#include "daemon/settings.h"

DEFINE_CLEANUP(struct machine *, machine_free);

/* Every event of every CPU is a descriptor; the soft limit is only for programs that use select(2). */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void note_success(struct session *session)
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
        note_success(session);
    return r;
}

int session_open(struct session *session, struct error *error)
{
    raise_descriptor_limit();
    int r = registry_new(&session->sys, &session->reload, &session->registry);
    if (r < 0)
        return error_oom(error);
    r = registry_configure(session->registry, session->machine, session->config, NULL, error);
    if (r == 0)
        registry_read(session->registry, UINT32_MAX, 0);
    return r;
}

int session_reload(struct session *session, const struct options *options,
                   int (*accept)(void *userdata, const struct config *config, struct error *error), void *userdata,
                   struct error *error)
{
    _cleanup_(machine_freep) struct machine *machine = NULL;
    _cleanup_(config_freep) struct config *config = NULL;

    session->reload.successful = false;
    registry_expire(session->registry);
    int r = machine_load(&session->sys, &machine, error);
    if (r == 0)
        r = settings_load(options, &session->sys, machine, &config, error);
    if (r == 0)
        r = accept(userdata, config, error);
    if (r < 0)
        return r;
    r = registry_configure(session->registry, machine, config, NULL, error);
    /* Whatever came of it, the collectors work with these now. */
    machine_free(session->machine);
    config_free(session->config);
    session->machine = steal(machine);
    session->generation++;
    session->config = steal(config);
    if (r == 0)
        note_success(session);
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
    session->config = config_free(session->config);
    session->machine = machine_free(session->machine);
}
