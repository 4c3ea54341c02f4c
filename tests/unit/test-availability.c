/* SPDX-License-Identifier: Apache-2.0 */
/* Which derived metrics are available on simulated machines, and why the others are not. */
#include <stdio.h>

#include "base/cleanup.h"
#include "formats/availability.h"
#include "tests/unit/captured.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define NO_CGROUP "cgroup: {enabled: false}, self: {enabled: false}"
#define CPU(groups) "collectors: {" NO_CGROUP ", pmu: {groups: []}, cpu: {groups: " groups "}}"
#define PMU(groups) "collectors: {" NO_CGROUP ", cpu: {groups: []}, pmu: {groups: " groups "}}"

static struct fake_sys *refusing_machine(void)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    rig_refuse(fake, ENOENT, PERF_COUNT_HW_BRANCH_MISSES, -1);
    return fake;
}

static struct fake_sys *machine_without_cgroups(void)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    return fake;
}

static const struct {
    const char *what;
    struct fake_sys *(*in_machine)(void);
    const char *in_config, *in_metric, *in_collector, *in_pmu;
    const char *out_why_absent;
    const char *out_text; /* the groups that provide the metric, or a part of the message */
} cases[] = {
    {"both events are in one group", fake_machine_one_pmu, CPU("[{name: a, events: '{cycles,instructions}'}]"), "ipc",
     "cpu", "cpu", "available", "a"},
    {"two groups have both events", fake_machine_one_pmu,
     CPU("[{name: a, events: '{cycles,instructions}'}, {name: b, events: '{instructions,cycles,branches}'}]"), "ipc",
     "cpu", "cpu", "available", "a b"},
    {"Arm's names of the events, counted on the A76", fake_machine_big_little,
     CPU("[{name: a, events: '{armv8_cortex_a76/cpu_cycles/,armv8_cortex_a76/inst_retired/}'}]"), "ipc", "cpu",
     "armv8_cortex_a76", "available", "a"},
    {"Arm's names of the events, not counted on the A55", fake_machine_big_little,
     CPU("[{name: a, events: '{armv8_cortex_a76/cpu_cycles/,armv8_cortex_a76/inst_retired/}'}]"), "ipc", "cpu",
     "armv8_cortex_a55", "not_counted", "no group counts "},
    {"the events are in different groups", fake_machine_one_pmu,
     CPU("[{name: a, events: cycles}, {name: b, events: instructions}]"), "ipc", "cpu", "cpu", "apart",
     "instructions is in the group \"b\", cycles is in the group \"a\", and only events of one group are counted at "
     "the same time: put them into one"},
    {"a group that is too large", fake_machine_two_counters,
     CPU("[{name: a, events: 'cycles,branches,instructions,branch-misses'}]"), "ipc", "cpu", "cpu", "split",
     "instructions is in the group \"a-2\", cycles is in the group \"a\", a part that did not fit the counters of cpu"},
    {"no group has the other event", fake_machine_one_pmu, CPU("[{name: a, events: cycles}]"), "ipc", "cpu", "cpu",
     "not_counted", "no group counts instructions: add it to the group \"a\", or a group with \"preset: overview\""},
    {"no group has any of the events", fake_machine_one_pmu, CPU("[]"), "branch_miss_ratio", "cpu", "cpu",
     "not_counted",
     "no group counts branch-misses and branches together: add a group with them to collectors.cpu.groups, or a group "
     "with \"preset: overview\""},
    {"no group has the event with this modifier", fake_machine_one_pmu, CPU("[{name: a, events: cycles:u}]"),
     "ipc_user", "cpu", "cpu", "not_counted", "no group counts instructions:u: add it to the group \"a\""},
    {"the PMU does not list the event", fake_machine_big_little, CPU("[{name: a, events: cycles}]"), "load_spec_ratio",
     "cpu", "armv8_cortex_a55", "no_event",
     "the PMU armv8_cortex_a55 does not list ld_spec and inst_spec, which this metric needs"},
    {"an event could not be opened", refusing_machine, CPU("[{name: a, events: 'branches,branch-misses'}]"),
     "branch_miss_ratio", "cpu", "cpu", "unavailable",
     "branch-misses of the group \"a\" is not counted: no such event on this PMU (ENOENT): "},
    {"the group never gets a counter", fake_machine_one_pmu, CPU("[{name: a, events: '{cycles,instructions}'}]"), "ipc",
     "cpu", "cpu", "starved", "the group \"a\" is starved, "},
    {"only one kind of core has the event", fake_machine_big_little, CPU("[{name: a, events: 'cycles,stall_backend'}]"),
     "backend_stall_ratio", "cpu", "armv8_cortex_a76", "available", "a"},
    {"no PMU", fake_machine_no_pmu, CPU("[{name: a, events: cs}]"), "ipc", "cpu", "cpu", "no_pmu",
     "this machine offers no hardware PMU: "},
    {"a metric of software events needs no PMU", fake_machine_no_pmu, CPU("[{name: a, events: cs}]"), "running_ratio",
     "cpu", "cpu", "available", "a"},
    {"a collector that is disabled", fake_machine_one_pmu, CPU("[]"), "ipc", "cgroup", "", "disabled",
     "set collectors.cgroup.enabled to true"},
    {"a collector that fails", fake_machine_one_pmu, "{}", "ipc", "cgroup", "", "failed",
     "the collector fails: cannot read "},
    {"no cgroup is counted", machine_without_cgroups, "collectors: {cgroup: {engine: perf, include: ['/no-such']}}",
     "ipc", "cgroup", "", "no_cgroup", "no cgroup is counted: "},
    {"no such PMU", captured_raspberry_pi, PMU("[]"), "package_watts", "pmu", "", "no_pmu",
     "this machine has no PMU that counts it: power*"},
    {"none of the PMUs that several formulas need", fake_machine_no_pmu, PMU("[]"), "memory_read_bytes_per_second",
     "pmu", "", "no_pmu", "that counts it: rockchip_ddr, mmdc*, uncore_imc*, uncore_imc_free_running*, "},
    {"a PMU that is not counted", captured_intel_hybrid, PMU("[]"), "package_watts", "pmu", "power", "not_counted",
     "no group counts power/energy-pkg/: add a group with it to collectors.pmu.groups, or a group with \"preset: "
     "energy\""},
    {"a PMU that is counted", captured_intel_hybrid, PMU("[{name: e, events: power/energy-pkg/}]"), "package_watts",
     "pmu", "power", "available", "e"},
    {"slots", captured_neoverse_n2,
     CPU("[{name: t, events: 'cycles,stall_slot_backend,stall_slot_frontend,op_spec,op_retired,stall_slot'}]"),
     "topdown_backend_bound_ratio", "cpu", "armv8_pmuv3_0", "available", "t"},
};

struct search {
    const char *metric, *collector, *pmu;
    char why_absent[32], text[1024];
    unsigned n;
};

static void look(void *userdata, const struct availability *availability)
{
    struct search *search = userdata;
    size_t size = 0;

    if (!str_equal(availability->metric->name, search->metric) ||
        !str_equal(availability->collector, search->collector) || !str_equal(availability->pmu, search->pmu))
        return;
    search->n++;
    snprintf(search->why_absent, sizeof(search->why_absent), "%s", why_absent_name(availability->why_absent));
    snprintf(search->text, sizeof(search->text), "%.*s", (int)availability->message.size,
             availability->message.data ? availability->message.data : "");
    for (size_t i = 0; i < availability->n_groups; i++)
        size += (size_t)snprintf(search->text + size, sizeof(search->text) - size, "%s%s", i ? " " : "",
                                 availability->groups[i]);
}

/* Each metric is reported exactly once for each collector and PMU, as available or with the reason why it is not. */
TEST(test_cases)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct search search = {
            .metric = cases[i].in_metric, .collector = cases[i].in_collector, .pmu = cases[i].in_pmu};
        struct rig rig;
        rig_init(&rig, cases[i].in_machine(), cases[i].in_config);
        if (str_equal(cases[i].out_why_absent, "starved"))
            fake_find_pmu(rig.fake, "cpu")->counters = 0;
        fake_advance(rig.fake, NSEC_PER_SEC);
        rig_read(&rig);
        assert_int_equal(availability_each(rig.registry, rig.machine, look, &search), 0);
        bool is_text = str_equal(search.why_absent, "available") ? str_equal(search.text, cases[i].out_text)
                                                                 : strstr(search.text, cases[i].out_text) != NULL;
        if (search.n != 1 || !str_equal(search.why_absent, cases[i].out_why_absent) || !is_text)
            fail_msg("%s: %u answers, %s: %s", cases[i].what, search.n, search.why_absent, search.text);
        rig_done(&rig);
    }
}

/* The document and its summary report the same number of available and absent metrics. */
TEST(test_json)
{
    struct rig rig;
    size_t n = 0, i;
    const json_t *entry;

    rig_init(&rig, captured_rk3588_6_1(), "{}");
    rig_read(&rig);
    json_t *document = availability_json(rig.registry, rig.machine);
    json_t *summary = availability_json_summarize(rig.registry, rig.machine);
    json_array_foreach (json_object_get(document, "metrics"), i, entry) {
        n += json_array_size(json_object_get(entry, "available")) + json_array_size(json_object_get(entry, "absent"));
        assert_non_null(json_object_get(entry, "formulas"));
    }
    json_array_foreach (json_object_get(summary, "available"), i, entry)
        n -= json_array_size(json_object_get(entry, "metrics"));
    json_array_foreach (json_object_get(summary, "absent"), i, entry)
        n -= json_array_size(json_object_get(entry, "metrics"));
    assert_int_equal(n, 0);
    json_decref(document);
    json_decref(summary);
    rig_done(&rig);
}

TEST_MAIN(NULL, NULL)
