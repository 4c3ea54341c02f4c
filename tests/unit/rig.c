/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rig.h"

#include "tests/unit/test.h"

struct config *config_of(const char *text)
{
    struct config *config = NULL;
    struct error error;

    if (config_parse(text, strlen(text), &config, &error) < 0)
        fail_msg("%s: %s", text, error.message);
    return config;
}

static void load(struct rig *rig, struct fake_sys *fake, const char *config)
{
    *rig = (struct rig){.fake = fake, .sys = fake ? &fake->sys : &rig->real};
    sys_init(&rig->real);
    rig->machine = machine_of(rig->sys);
    rig->config = config_of(config);
}

/* The old machine and configuration must live until the registry uses the new ones. */
static void configure(struct rig *rig, struct machine *machine, struct config *config)
{
    if (rig->registry)
        assert_int_equal(registry_configure(rig->registry, machine, config, &rig->went_offline, NULL), 0);
    rig->env.machine = machine;
    rig->env.config = config;
    if (machine != rig->machine)
        machine_free(rig->machine);
    if (config != rig->config)
        config_free(rig->config);
    rig->machine = machine;
    rig->config = config;
}

void rig_init(struct rig *rig, struct fake_sys *fake, const char *config)
{
    load(rig, fake, config);
    assert_int_equal(registry_new(rig->sys, &rig->reload, &rig->registry), 0);
    registry_set_cgroup_sources(rig->registry, fake ? &fake->bpf_calls : NULL, NULL);
    configure(rig, rig->machine, rig->config);
}

void rig_init_collector(struct rig *rig, struct fake_sys *fake, const char *collector, const char *config)
{
    static const char *names[2];

    load(rig, fake, config);
    names[0] = collector;
    rig->snapshot.collector_names = names;
    rig->env = (struct collector_env){
        .sys = rig->sys,
        .bpf = fake ? &fake->bpf_calls : NULL,
        .machine = rig->machine,
        .config = rig->config,
        .snapshot = &rig->snapshot,
        .went_offline = &rig->went_offline,
    };
}

void rig_done(struct rig *rig)
{
    registry_free(rig->registry);
    assert_int_equal(rig->snapshot.n_rows, 0);
    assert_int_equal(rig->snapshot.metrics.n, 0);
    assert_true(!rig->fake || rig->fake->n_open == 0);
    snapshot_done(&rig->snapshot);
    cpuset_done(&rig->went_offline);
    config_free(rig->config);
    machine_free(rig->machine);
    fake_sys_free(rig->fake);
}

int rig_setup(void **state)
{
    const struct rig_plan *plan = *state;
    struct rig *rig = calloc(1, sizeof(*rig));

    rig_init(rig, plan->machine(), plan->config);
    *state = rig;
    return 0;
}

int rig_teardown(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

void rig_refuse(struct fake_sys *fake, int error, enum perf_hw_id event, int cpu)
{
    fake_fail(fake, (struct fake_failure){
                        .call = FAKE_OPEN,
                        .error = error,
                        .on_event = true,
                        .type = PERF_TYPE_HARDWARE,
                        .config = event,
                        .on_cpu = cpu >= 0,
                        .cpu = cpu,
                    });
}

void rig_configure(struct rig *rig, const char *config)
{
    configure(rig, rig->machine, config_of(config));
}

void rig_rescan(struct rig *rig, const char *went_offline)
{
    cpuset_done(&rig->went_offline);
    assert_int_equal(cpuset_parse(went_offline, &rig->went_offline, NULL), 0);
    configure(rig, machine_of(rig->sys), rig->config);
    if (rig->registry)
        cpuset_done(&rig->went_offline);
}

const struct snapshot *rig_read(struct rig *rig)
{
    return registry_read(rig->registry, UINT32_MAX, 0);
}
