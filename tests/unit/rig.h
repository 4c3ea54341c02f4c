/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine that a test plays, measured by a configuration: through the registry, or through the functions of one
 * collector, to which the rig gives the context that the registry would give.
 *
 *     rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: cycles}]"));
 *     fake_advance(rig.fake, 1000);
 *     assert_int_equal(series_value(rig_read(&rig), CPU_SERIES, "cycles", 0, "cpu", "core"), 1000);
 *     rig_done(&rig);
 *
 * Errors that a test does not expect fail it.
 */
#ifndef TESTS_UNIT_RIG_H
#define TESTS_UNIT_RIG_H

#include "collectors/registry.h"
#include "tests/unit/fake-machine.h"

struct rig {
    struct fake_sys *fake; /* NULL: the machine is the real one */
    struct sys *sys, real;
    struct machine *machine;
    struct config *config;
    struct cpuset left;
    /* Of rig_init(). */
    struct registry *registry;
    struct reload_outcome reload;
    /* Of rig_init_collector(). */
    struct snapshot snapshot;
    struct collector_context context;
    bool stale;
    size_t groups[N_ROW_STATES];
    int fd;
};

/* A configuration of the collector cpu alone. */
#define CPU_GROUPS(groups) "collectors: {self: {enabled: false}, pmu: {groups: []}, cpu: {groups: " groups "}}"

struct config *config_of(const char *text);

/* Opens what `config` wants on the machine. */
void rig_init(struct rig *rig, struct fake_sys *fake, const char *config);
/* Opens nothing; `collector` is the name. `fake` may be NULL. */
void rig_init_collector(struct rig *rig, struct fake_sys *fake, const char *collector, const char *config);
/* Fails where anything is still open. */
void rig_done(struct rig *rig);

/* RIG_TEST(test_name, fake_machine_one_pmu, "collectors: ...") { ... }: *state is a rig, begun and done around it. */
struct rig_plan {
    struct fake_sys *(*machine)(void);
    const char *config;
};
int rig_setup(void **state);
int rig_teardown(void **state);
#define RIG_TEST(name, machine, config)                                                                                \
    TEST_FROM(name, rig_setup, rig_teardown, (void *)(&(const struct rig_plan){machine, config}))

/* The kernel refuses to open this hardware event; on one CPU, or on all (-1). fake_fail_no_more() ends it. */
void rig_refuse(struct fake_sys *fake, int error, enum perf_hw_id event, int cpu);

/* As the daemon reloads. */
void rig_configure(struct rig *rig, const char *config);
/* As the daemon does when CPUs came or went; `left` are those that the kernel's messages name. */
void rig_rescan(struct rig *rig, const char *left);
/* Reads all collectors. */
const struct snapshot *rig_read(struct rig *rig);

#endif
