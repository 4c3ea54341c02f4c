/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How configurations are applied on captured machines. The expected text contains a line for each group and PMU, and
 * one for each failure.
 */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "tests/unit/captured.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

/* The line for a counted group, like "cpu core armv8_pmuv3 0-7: cycles instructions". */
struct line {
    const struct row *row;
    struct cpuset cpus;
};

static bool counts_the_same(const struct row *a, const struct row *b)
{
    bool same = a->collector == b->collector && str_equal(a->group, b->group) && str_equal(a->pmu, b->pmu) &&
                a->n_counters == b->n_counters;

    for (size_t i = 0; same && i < a->n_counters; i++)
        same = str_equal(a->counters[i].event, b->counters[i].event);
    return same;
}

static void describe_line(struct buffer *text, struct line *line)
{
    _cleanup_(freep) char *cpus = cpuset_format(&line->cpus);

    buffer_appendf(text, "%s %s %s %s:", line->row->collector_name, line->row->group, line->row->pmu, cpus);
    for (size_t i = 0; i < line->row->n_counters; i++)
        buffer_appendf(text, " %s%s%s", line->row->counters[i].event, line->row->counters[i].unit[0] ? " in " : "",
                       line->row->counters[i].unit);
    buffer_append_char(text, '\n');
    cpuset_done(&line->cpus);
}

static void describe_rows(struct buffer *text, const struct snapshot *snapshot)
{
    struct line lines[64] = {{0}};
    size_t n = 0;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        size_t k = 0;
        if (row->state == ROW_UNAVAILABLE)
            continue;
        while (k < n && !counts_the_same(lines[k].row, row))
            k++;
        assert_true(k < ARRAY_SIZE(lines));
        n += k == n;
        lines[k].row = row;
        assert_int_equal(cpuset_add(&lines[k].cpus, (unsigned)row->cpu), 0);
    }
    for (size_t i = 0; i < n; i++)
        describe_line(text, &lines[i]);
}

static void describe_failures(struct buffer *text, const struct registry *registry)
{
    char **sentences;
    size_t n;

    assert_int_equal(failures_sentences(registry_failures(registry), &sentences, &n), 0);
    for (size_t i = 0; i < n; i++)
        buffer_appendf(text, "! %s\n", sentences[i]);
    strings_free(sentences, n);
}

/* Describes the rows and failures of the configuration `collectors` on a machine. The function frees the machine. */
static char *describe(struct fake_sys *fake, const char *collectors)
{
    _cleanup_(buffer_done) struct buffer text = {0}, yaml = {0};
    struct rig rig;

    buffer_appendf(&yaml, "collectors: {self: {enabled: false}, cgroup: {enabled: false}, %s%s}", collectors,
                   strstr(collectors, "pmu: {groups") ? "" : ", pmu: {groups: []}");
    _cleanup_(freep) char *config = buffer_string(&yaml);
    rig_init(&rig, fake, config);
    fake_advance(fake, 1000);
    describe_rows(&text, rig_read(&rig));
    describe_failures(&text, rig.registry);
    rig_done(&rig);
    char *described = buffer_string(&text);
    return described ? described : strdup("");
}

#define NO_PMU_SENTENCE                                                                                                \
    "this machine offers no hardware PMU: a virtual machine needs its host to pass one through, a board needs a pmu "  \
    "node in its device tree\n"

static const struct {
    struct fake_sys *(*in_machine)(void);
    const char *in, *out;
} configurations[] = {
    {captured_rk3588_5_10,
     "cpu: {groups: [{name: big, events: 'armv8_cortex_a76/l2d_cache_refill/'}, {name: soft, events: cs}]}",
     "cpu soft software 0-7: context_switches\n"
     "! cpu 0-7 armv8_cortex_a76/l2d_cache_refill/: there is no PMU \"armv8_cortex_a76\" on this machine\n"},
    {captured_rk3588_6_1, "cpu: {groups: [{name: core, events: '{cycles,instructions,cs}'}]}",
     "cpu core armv8_cortex_a55 0-3: cycles instructions context_switches\n"
     "cpu core armv8_cortex_a76 4-7: cycles instructions context_switches\n"},
    {captured_rk3588_6_1, "cpu: {groups: [{name: l2, events: l2d_cache_refill}, {name: big, events: remote_access}]}",
     "cpu l2 armv8_cortex_a55 0-3: l2d_cache_refill\ncpu l2 armv8_cortex_a76 4-7: l2d_cache_refill\n"
     "cpu big armv8_cortex_a76 4-7: remote_access\n"},
    {captured_rk3588_6_1,
     "cpu: {cpus: '0-63', groups: [{name: core, events: cycles}, {name: big, events: "
     "'armv8_cortex_a76/stal_backend/'}]}",
     "cpu core armv8_cortex_a55 0-3: cycles\ncpu core armv8_cortex_a76 4-7: cycles\n"
     "! cpu 8-63: listed in collectors.cpu.cpus, but this machine has only CPU 0-7; the others are counted\n"
     "! cpu 4-7 armv8_cortex_a76/stal_backend/: PMU \"armv8_cortex_a76\" has no event or term "
     "\"stal_backend\"; did you mean \"stall_backend\"?\n"},
    {captured_rk3588_6_1, "cpu: {cpus: '0-3', groups: [{name: big, events: 'armv8_cortex_a76/stall_backend/'}]}",
     "! armv8_cortex_a76/stall_backend/: PMU \"armv8_cortex_a76\" belongs to CPU 4-7; none of these CPUs is online "
     "and "
     "in collectors.cpu.cpus\n"},
    {captured_rk3588_6_1,
     "cpu: {groups: []}, pmu: {groups: [{name: dsu, events: '{arm_dsu/cycles/,arm_dsu/l3d_cache/}'}]}",
     "pmu dsu arm_dsu_0 0: cycles l3d_cache\n"},
    {captured_rk3588_6_1, "cpu: {groups: [{name: dsu, events: arm_dsu_0/cycles/}, {name: soft, events: cs}]}",
     "cpu soft software 0-7: context_switches\n"
     "! arm_dsu_0/cycles/: PMU \"arm_dsu_0\" counts for several CPUs at once: this event belongs to "
     "collectors.pmu\n"},
    {captured_rk3588_6_1,
     "cpu: {groups: []}, pmu: {groups: [{name: core, events: 'armv8_cortex_a55/cpu_cycles/'}, "
     "{name: dsu, events: 'arm_dsu/l4/,arm_dsu/event=0x1ffffffff/,arm_dsu/cycles/'}, {name: no, events: dsu/x/}]}",
     "pmu dsu arm_dsu_0 0: cycles\n"
     "! cpu 0 arm_dsu/l4/: PMU \"arm_dsu_0\" has no event or term \"l4\"\n"
     "! cpu 0 arm_dsu/event=0x1ffffffff/: the value 0x1ffffffff of \"event\" is too large: PMU \"arm_dsu_0\" has "
     "32 bits for it\n"
     "! armv8_cortex_a55/cpu_cycles/: this event is counted on each CPU: it belongs to collectors.cpu\n"
     "! dsu/x/: there is no PMU \"dsu\" on this machine\n"},
    {captured_intel_hybrid,
     "cpu: {groups: [{name: core, events: '{cycles,instructions}'}, {name: c, events: msr/smi/}]}",
     "cpu core cpu_core 0-15: cycles instructions\ncpu c msr 0-19: smi\ncpu core cpu_atom 16-19: cycles "
     "instructions\n"},
    {captured_intel_hybrid,
     "cpu: {groups: []}, pmu: {groups: [{name: power, events: '{energy-pkg,energy-psys}'}, {name: ram, events: "
     "'{uncore_imc/event=1/,uncore_imc/event=2/}'}, {name: free, events: "
     "uncore_imc_free_running/data_read/}, {name: idle, events: cstate_core/c6-residency/}]}",
     "pmu idle cstate_core 0,2,4,6,8,10,12,14,16-19: c6_residency\n"
     "pmu power power 0: energy_pkg in joules energy_psys in joules\n"
     "pmu ram uncore_imc_0 0: event_1 event_2\npmu ram uncore_imc_1 0: event_1 event_2\n"
     "pmu free uncore_imc_free_running_0 0: data_read in bytes\n"},
    {captured_amd_server,
     "cpu: {groups: [{name: core, events: '{cycles,instructions}'}]}, pmu: {groups: [{name: mixed, events: "
     "'power/energy-pkg/,amd_l3/event=0x04,umask=0xff/,amd_umc/event=0x0a,rdwrmask=1/,amd_df/event=0x1f/'}]}",
     "cpu core cpu 0-15: cycles instructions\n"
     "pmu mixed amd_df 0: event_0x1f\npmu mixed amd_l3 0,8: event_0x04_umask_0xff\n"
     "pmu mixed amd_umc_0 0: event_0x0a_rdwrmask_1\npmu mixed amd_umc_1 0: event_0x0a_rdwrmask_1\n"
     "pmu mixed amd_umc_2 0: event_0x0a_rdwrmask_1\npmu mixed amd_umc_3 0: event_0x0a_rdwrmask_1\n"
     "pmu mixed power 0: energy_pkg in joules\n"},
    {captured_rk3588_6_12, "cpu: {groups: []}, pmu: {groups: [{name: ddr, events: '{read-bytes,write-bytes}'}]}",
     "pmu ddr rockchip_ddr 0: read_bytes in bytes write_bytes in bytes\n"},
    {captured_altra, "cpu: {groups: []}, pmu: {groups: [{name: m, events: 'hnf_mc_reqs,clkdiv2_rdwr'}]}",
     "pmu m arm_cmn_0 0: hnf_mc_reqs\npmu m arm_dmc620_10008c000 0: clkdiv2_rdwr\n"
     "pmu m arm_dmc620_10008c400 0: clkdiv2_rdwr\n"},
    {captured_intel_server,
     "cpu: {groups: []}, pmu: {groups: [{name: power, events: '{energy-pkg,energy-ram}'}, {name: free, events: "
     "'{uncore_imc_free_running/read/,write}'}, {name: ram, events: '{cas_count_read,cas_count_write}'}]}",
     "pmu power power 0,8: energy_pkg in joules energy_ram in joules\n"
     "pmu ram uncore_imc_0 0,8: cas_count_read in bytes cas_count_write in bytes\n"
     "pmu ram uncore_imc_1 0,8: cas_count_read in bytes cas_count_write in bytes\n"
     "pmu ram uncore_imc_2 0,8: cas_count_read in bytes cas_count_write in bytes\n"
     "pmu ram uncore_imc_3 0,8: cas_count_read in bytes cas_count_write in bytes\n"
     "pmu free uncore_imc_free_running_0 0,8: read in bytes write in bytes\n"},
    {captured_raspberry_pi, "cpu: {groups: [{name: core, events: 'cycles,instructions,cs'}]}",
     "cpu core software 0-3: context_switches\n! cpu 0-3 cycles, instructions: " NO_PMU_SENTENCE},
    {captured_raspberry_pi, "cpu: {groups: [{name: m, events: 'mem:0x1000:w:u,sched:sched_switch,kprobe/func=f/'}]}",
     "cpu m breakpoint 0-3: mem_0x1000_w_user sched_sched_switch func_f\n"},
};

TEST(test_configurations)
{
    for (size_t i = 0; i < ARRAY_SIZE(configurations); i++) {
        struct fake_sys *fake = configurations[i].in_machine();
        _cleanup_(freep) char *described = describe(fake, configurations[i].in);
        if (!str_equal(described, configurations[i].out))
            fail_msg("case %zu: %s\nbecomes\n%sinstead of\n%s", i, configurations[i].in, described,
                     configurations[i].out);
    }
}

/*
 * On a board with a damaged sysfs or offline CPUs, each fault is reported in one message, and everything else is
 * counted.
 */
static const struct {
    const char *in_pmu, *in_file, *in_text, *in, *out;
} damages[] = {
    {"armv8_cortex_a55", "cpus", "",
     "cpu: {groups: [{name: l, events: armv8_cortex_a55/cpu_cycles/}, {name: b, "
     "events: armv8_cortex_a76/cpu_cycles/}]}",
     "cpu b armv8_cortex_a76 4-7: cpu_cycles\n"
     "! armv8_cortex_a55/cpu_cycles/: PMU \"armv8_cortex_a55\" has no CPU: its CPU list in sysfs is empty\n"},
    {"arm_dsu_0", "cpumask", "",
     "cpu: {groups: [{name: s, events: cs}]}, pmu: {groups: [{name: d, events: "
     "arm_dsu/cycles/}]}",
     "cpu s software 0-7: context_switches\n"
     "! arm_dsu/cycles/: no CPU in the cpumask of PMU \"arm_dsu_0\" is online\n"},
    {"arm_dsu_0", "type", "?",
     "cpu: {groups: [{name: s, events: cs}]}, pmu: {groups: [{name: d, events: "
     "arm_dsu_0/cycles/}]}",
     "cpu s software 0-7: context_switches\n"
     "! arm_dsu_0/cycles/: PMU \"arm_dsu_0\" cannot be used: /sys/bus/event_source/devices/arm_dsu_0/type is not "
     "the number of a PMU: \"?\"\n"},
    {"armv8_cortex_a76", "events/l2d_cache_refill", "event=", "cpu: {groups: [{name: l2, events: l2d_cache_refill}]}",
     "cpu l2 armv8_cortex_a55 0-3: l2d_cache_refill\n"
     "! cpu 4-7 l2d_cache_refill: \"l2d_cache_refill\" of PMU \"armv8_cortex_a76\" cannot be used: its file cannot "
     "be "
     "understood, \"event=\": a value is missing at the end\n"},
    {"armv8_cortex_a76", "format/event", "config:x",
     "cpu: {groups: [{name: l2, events: armv8_cortex_a76/event=0x17/}, {name: core, events: cycles}]}",
     "cpu core armv8_cortex_a55 0-3: cycles\ncpu core armv8_cortex_a76 4-7: cycles\n"
     "! cpu 4-7 armv8_cortex_a76/event=0x17/: \"event\" of PMU \"armv8_cortex_a76\" cannot be used: its file "
     "cannot "
     "be understood, \"config:x\": the number of a bit is missing here\n"},
};

TEST(test_damaged)
{
    for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
        struct fake_sys *fake = captured_rk3588_6_1();
        fake_pmu_file(fake, damages[i].in_pmu, damages[i].in_file, damages[i].in_text);
        _cleanup_(freep) char *described = describe(fake, damages[i].in);
        if (!str_equal(described, damages[i].out))
            fail_msg("case %zu: %s\nbecomes\n%sinstead of\n%s", i, damages[i].in, described, damages[i].out);
    }
}

#define PMU_GROUPS(groups)                                                                                             \
    "collectors: {cpu: {enabled: false}, cgroup: {enabled: false}, self: {enabled: false}, pmu: {groups: [" groups "]" \
    "}"                                                                                                                \
    "}"
#define PMU_SERIES "perf_pmu_%s_total{cpu=\"%d\",pmu=\"%s\",group=\"%s\"}"

/* Scale and unit are applied, each PMU of a kind has its own series, and a reload keeps all totals. */
TEST(test_values)
{
    struct rig rig;

    rig_init(&rig, captured_intel_hybrid(),
             PMU_GROUPS("{name: p, events: energy-pkg}, {name: r, events: uncore_imc/event=1/}"));
    fake_rate(rig.fake, (struct fake_rate){.type = 21, .config = 1, .count = 3, .ns = 1});
    fake_advance(rig.fake, 1 << 20);
    rig_configure(&rig, PMU_GROUPS("{name: r, events: uncore_imc/event=1/}, {name: p, events: energy-pkg}"));
    fake_advance(rig.fake, 1 << 20);
    const struct snapshot *snapshot = rig_read(&rig);
    const struct series *joules = find_series(snapshot, PMU_SERIES, "energy_pkg_joules", 0, "power", "p");
    assert_true(joules && joules->visible);
    assert_int_equal(joules->decimals, SERIES_REAL);
    assert_true(series_real(joules) == 0x1p-11);
    assert_int_equal(series_value(snapshot, PMU_SERIES, "event_1", 0, "uncore_imc_0", "r"), 2 << 20);
    assert_int_equal(series_value(snapshot, PMU_SERIES, "event_1", 0, "uncore_imc_1", "r"), 6 << 20);
    assert_int_equal(series_value(snapshot, PMU_SERIES, "group_enabled_seconds", 0, "power", "p"), 2 << 20);
    assert_int_equal(series_value(snapshot, PMU_SERIES, "group_running_seconds", 0, "power", "p"), 2 << 20);
    assert_int_equal(series_value(snapshot, "perfcountd_groups{collector=\"pmu\",state=\"counting\"}"), 3);
    assert_int_equal(rig.fake->n_open, 3);
    rig_done(&rig);
}

/* A PMU is read on another CPU while its own is offline. When its own CPU returns, the totals of that CPU continue. */
TEST(test_cpumask_moves)
{
    static const struct {
        const char *in_cpumask;
        bool in_online; /* whether CPU 0 is online */
        int out_cpu;
        uint64_t out_value;
    } steps[] = {{"0", true, 0, 100}, {"1", false, 1, 100}, {"1", true, 1, 200}, {"0", true, 0, 200}};
    struct rig rig;

    rig_init(&rig, captured_rk3588_6_1(), PMU_GROUPS("{name: d, events: arm_dsu/cycles/}"));
    assert_int_equal(cpuset_add(&fake_find_pmu(rig.fake, "arm_dsu_0")->cpus, 1), 0);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        fake_set_online(rig.fake, 0, steps[i].in_online);
        fake_pmu_file(rig.fake, "arm_dsu_0", "cpumask", steps[i].in_cpumask);
        rig_rescan(&rig, "");
        assert_int_equal(rig.fake->n_open, 1);
        fake_advance(rig.fake, 100);
        assert_int_equal(series_value(rig_read(&rig), PMU_SERIES, "cycles", steps[i].out_cpu, "arm_dsu_0", "d"),
                         steps[i].out_value);
        assert_int_equal(registry_failures(rig.registry)->n, 0);
    }
    rig_done(&rig);
}

TEST_MAIN(NULL, NULL)
