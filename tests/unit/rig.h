/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectors that read a simulated machine (fake-sys.h) with a given configuration. rig_init() opens them through the
 * registry; rig_init_collector() only fills in the environment with which a test calls the functions of one collector.
 *
 *     rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: cycles}]"));
 *     fake_advance(rig.fake, 1000);
 *     assert_int_equal(series_value(rig_read(&rig), CPU_SERIES, "cycles", 0, "cpu", "core"), 1000);
 *     rig_done(&rig);
 *
 * An unexpected error fails the test.
 */
#ifndef TESTS_UNIT_RIG_H
#define TESTS_UNIT_RIG_H

#include "collectors/registry.h"
#include "tests/unit/fake-machine.h"

struct rig {
    struct fake_sys *fake; /* NULL: the real machine is read */
    struct sys *sys, real;
    struct machine *machine;
    struct config *config;
    struct cpuset went_offline;
    /* Set by rig_init(). */
    struct registry *registry;
    struct reload_outcome reload;
    /* Set by rig_init_collector(). */
    struct snapshot snapshot;
    struct collector_env env;
};

/* A configuration that enables only the cpu collector. */
#define CPU_GROUPS(groups)                                                                                             \
    "collectors: {self: {enabled: false}, cgroup: {enabled: false}, pmu: {groups: []}, cpu: {groups: " groups "}}"

struct config *config_of(const char *text);

/* Opens the events of `config` on the machine. */
void rig_init(struct rig *rig, struct fake_sys *fake, const char *config);
/* Opens nothing. `collector` is the collector's name; `fake` may be NULL, for the real machine. */
void rig_init_collector(struct rig *rig, struct fake_sys *fake, const char *collector, const char *config);
/* Fails the test if an event is still open or a row is left. */
void rig_done(struct rig *rig);

/*
 * RIG_TEST(test_name, fake_machine_one_pmu, "collectors: ...") { ... } defines a test that has a struct rig in *state.
 */
struct rig_plan {
    struct fake_sys *(*machine)(void);
    const char *config;
};
int rig_setup(void **state);
int rig_teardown(void **state);
#define RIG_TEST(name, machine, config)                                                                                \
    TEST_FROM(name, rig_setup, rig_teardown, (void *)(&(const struct rig_plan){machine, config}))

/* Makes opening this hardware event fail on one CPU, or on all (-1), until fake_fail_no_more(). */
void rig_refuse(struct fake_sys *fake, int error, enum perf_hw_id event, int cpu);

/* Applies a new configuration, as a reload of the daemon does. */
void rig_configure(struct rig *rig, const char *config);
/*
 * Loads the machine again, as the daemon does after CPU hotplug. `went_offline` lists the CPUs that went offline in
 * between.
 */
void rig_rescan(struct rig *rig, const char *went_offline);
/* Reads all collectors. */
const struct snapshot *rig_read(struct rig *rig);

#endif
