/* SPDX-License-Identifier: Apache-2.0 */
/* How cgroups are counted: see engine.h. */
#include "collectors/cgroup/engine.h"

#include "collectors/cgroup/bpf-engine.h"
#include "collectors/cgroup/engine-perf.h"
#include "collectors/cgroup/tally-engine.h"
#include "perf/sys.h"

static int engine_try_bpf(struct cgroup_engine *engine, const struct collector_context *context,
                          const struct hierarchy *hierarchy, struct error *error)
{
    if (hierarchy->kind == HIERARCHY_V1)
        return error_set(error, -EOPNOTSUPP,
                         "the program in the kernel knows only cgroup v2, and this is v1; boot with "
                         "systemd.unified_cgroup_hierarchy=1, or set collectors.cgroup.engine to perf");
    if (!context->sys->tally)
        return error_set(error, -ENOSYS, "this process cannot load a program into the kernel");
    int r = cgroup_tally_new(context, hierarchy->namespaced, &engine->tally, error);
    if (r == 0)
        engine->type = &cgroup_engine_bpf;
    return r;
}

int cgroup_engine_open(struct cgroup_engine *engine, const struct collector_context *context,
                       const struct hierarchy *hierarchy, struct error *error)
{
    enum config_engine asked = context->config->cgroup.engine;
    int r = 0;

    *engine = (struct cgroup_engine){.type = &cgroup_engine_perf, .asked = asked};
    if (asked != ENGINE_PERF)
        r = engine_try_bpf(engine, context, hierarchy, &engine->reason);
    /* Without the opener, the engine perf cannot open events either. */
    if (r == 0 || (asked != ENGINE_BPF && r != -EPIPE))
        return 0;
    if (asked == ENGINE_BPF)
        error_prefix(&engine->reason, "collectors.cgroup.engine is bpf");
    *error = engine->reason;
    return r;
}

void cgroup_engine_done(struct cgroup_engine *engine, const struct collector_context *context)
{
    cgroup_tally_free(engine->tally, context);
    *engine = (struct cgroup_engine){0};
}

int cgroup_engine_resume(struct cgroup_engine *engine, const struct collector_context *context, struct error *error)
{
    if (engine->asked != context->config->cgroup.engine)
        return error_set(error, -ESTALE, "another engine is configured");
    if (engine->tally && cgroup_tally_is_lost(engine->tally))
        return error_set(error, -EPIPE, "the opener is gone; restart perfcountd");
    return engine->tally ? cgroup_tally_resume(engine->tally, context, error) : 0;
}

int cgroup_engine_make_room(struct cgroup_engine *engine, uint64_t n, uint64_t max)
{
    engine->no_room = (struct error){0};
    return engine->tally ? cgroup_tally_make_room(engine->tally, n, max, &engine->no_room) : 0;
}

void cgroup_engine_settle(struct cgroup_engine *engine)
{
    if (engine->tally)
        cgroup_tally_settle(engine->tally);
}
