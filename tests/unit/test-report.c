/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd report` on simulated machines from tests/unit/captured.h. */
#include <signal.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cmd/report.h"
#include "metrics/derived.h"
#include "perf/generic-events.h"
#include "perf/pfm.h"
#include "tests/unit/captured.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

/* The simulated libpfm4 has a single event, for Intel servers. */
#define PFM_EVENT "icx::MEM_LOAD_RETIRED:L1_MISS"
void __wrap_pfm_list(const struct pmu *pmu, pfm_visit visit, void *userdata);
int __wrap_pfm_encode(const struct pmu *pmu, const char *name, struct pfm_words *ret);

void __wrap_pfm_list(const struct pmu *pmu, pfm_visit visit, void *userdata)
{
    if (str_equal(pmu->name, "cpu"))
        visit(userdata, PFM_EVENT, "");
}

int __wrap_pfm_encode(const struct pmu *pmu, const char *name, struct pfm_words *ret)
{
    if (!str_equal(name, PFM_EVENT))
        return -ENOENT;
    *ret = (struct pfm_words){{0x8d1}};
    return 0;
}

static int work_1_ms(struct sys *sys, unsigned cpu)
{
    (void)cpu;
    fake_advance((struct fake_sys *)sys, 1000000);
    return 0;
}

/* Returns the whole report of a simulated machine. */
static char *text_of(struct fake_sys *fake, int (*work)(struct sys *, unsigned), unsigned patience_s)
{
    _cleanup_(machine_freep) struct machine *machine = machine_of(&fake->sys);
    const struct report report = {&fake->sys, machine, NULL, work, patience_s};
    char *text = NULL;

    assert_int_equal(report_make(&report, &text), 0);
    return text;
}

/* Returns a section of the report without its heading. The caller frees it. */
static char *section_of(const char *text, const char *title)
{
    _cleanup_(buffer_done) struct buffer heading = {0};

    buffer_appendf(&heading, "\n## %s\n\n%c", title, '\0');
    const char *start = strstr(text, heading.data);
    if (!start)
        fail_msg("no section \"%s\" in:\n%s", title, text);
    start += strlen(heading.data);
    return strndup(start, (size_t)(strstr(start, "\n## ") - start));
}

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("missing:\n%s\nin:\n%s", part, text);
}

static void expect_not_in(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("unexpected:\n%s\nin:\n%s", part, text);
}

static void set_rate(struct fake_sys *fake, enum perf_hw_id event, uint64_t per_us)
{
    fake_rate(fake, (struct fake_rate){PERF_TYPE_HARDWARE, event, per_us, 1000});
}

/* For each kind of core, the report lists each formula with counts and a value. */
TEST(test_formulas)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = captured_rk3588_6_1();
    const struct derived_metric *metric;

    set_rate(fake, PERF_COUNT_HW_INSTRUCTIONS, 3000);
    set_rate(fake, PERF_COUNT_HW_CPU_CYCLES, 2000);
    _cleanup_(freep) char *text = text_of(fake, work_1_ms, 60);
    _cleanup_(freep) char *little = section_of(text, "self-test of armv8_cortex_a55");
    _cleanup_(freep) char *big = section_of(text, "self-test of armv8_cortex_a76");
    assert_memory_equal(text, "## perfcountd report 1\n\n", 24);
    expect_in(big, "on CPU 4\n"
                   "ipc = instructions / cycles\n"
                   "    instructions: 3000000\n"
                   "    cycles: 2000000\n"
                   "    enabled 1.000 ms, running 1.000 ms\n"
                   "    value: 1.5 ratio, plausible\n");
    expect_in(little, "branch_mpki = 1000 * br_mis_pred_retired / instructions (never seen on hardware)\n"
                      "    armv8_cortex_a55/br_mis_pred_retired/: 1000000\n"
                      "    instructions: 3000000\n"
                      "    enabled 1.000 ms, running 1.000 ms\n"
                      "    value: 333.333 per 1000 instructions, plausible\n");
    expect_in(big, "    not available on this PMU, which does not list op_retired, op_spec, stall_slot, slots\n");
    for (size_t i = 0; (metric = derived_at(i)); i++)
        for (const struct derived_formula *formula = metric->formulas; formula->text; formula++)
            if ((metric->targets & DERIVED_CPU) && !formula->pmu && !str_equal(metric->name, "running_ratio")) {
                expect_in(little, formula->text);
                expect_in(big, formula->text);
            }
    expect_in(text, "## self-test of arm_dsu_0\n\non CPU 0\nno formula is known for this PMU\n");
    expect_in(text, "armv8_cortex_a76: type 9, core, CPU 4-7, 7 counters\n");
    expect_in(text, "\n## end\n");
}

/* Groups on servers: a preset that is counted as one group, events given by their code, and events with a unit. */
TEST(test_servers)
{
    _cleanup_(fake_sys_freep) struct fake_sys *intel = captured_intel_server(), *amd = captured_amd_server();
    _cleanup_(freep) char *text = text_of(intel, work_1_ms, 60), *other = text_of(amd, work_1_ms, 60);

    expect_in(text, "    slots: 1000000\n"
                    "    topdown-retiring: 1000000\n"
                    "    topdown-bad-spec: 1000000\n"
                    "    topdown-fe-bound: 1000000\n"
                    "    topdown-be-bound: 1000000\n"
                    "    enabled 1.000 ms, running 1.000 ms\n"
                    "    value: 0.25 ratio, plausible\n");
    expect_in(text, "l1d_mpki = 1000 * mem_load_retired_l1_miss / instructions (never seen on hardware)\n"
                    "    " PFM_EVENT ": 1000000\n"
                    "    instructions: 1000000\n");
    expect_in(text, "memory_read_bytes_per_second = cas_count_read (never seen on hardware)\n"
                    "    uncore_imc_0/cas_count_read/: 64000000 bytes\n"
                    "    enabled 1.000 ms, running 1.000 ms\n"
                    "    value: 6.4e+10 bytes per second, plausible\n");
    expect_in(other, "    amd_umc/event=0x0a,rdwrmask=0x1,name=umc_cas_cmd_rd/: 1000000\n"
                     "    enabled 1.000 ms, running 1.000 ms\n"
                     "    value: 6.4e+10 bytes per second, plausible\n");
}

/* The report gives the reason for a refused event; formulas without this event have values. */
TEST(test_refused)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = captured_rk3588_6_1();

    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN,
                                          .error = ENOENT,
                                          .on_event = true,
                                          .type = PERF_TYPE_HARDWARE,
                                          .config = PERF_COUNT_HW_BRANCH_MISSES});
    _cleanup_(freep) char *text = text_of(fake, work_1_ms, 60);
    _cleanup_(freep) char *little = section_of(text, "self-test of armv8_cortex_a55");
    expect_in(little, "branch_miss_ratio = branch_misses / branches (never seen on hardware)\n"
                      "    branch-misses: no such event on this PMU (ENOENT)");
    expect_in(little, "    branches: 1000000\n"
                      "    enabled 1.000 ms, running 1.000 ms\n"
                      "    value: none\n");
    expect_in(little, "ipc = instructions / cycles\n    instructions: 1000000\n");
}

TEST(test_implausible)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = captured_rk3588_6_1();

    set_rate(fake, PERF_COUNT_HW_INSTRUCTIONS, 17000);
    set_rate(fake, PERF_COUNT_HW_BRANCH_MISSES, 1001);
    _cleanup_(freep) char *text = text_of(fake, work_1_ms, 60);
    expect_in(text, "    value: 17 ratio, IMPLAUSIBLE\n");
    expect_in(text, "    value: 1.001 ratio, IMPLAUSIBLE\n");
}

/* Groups that never run have no value. */
TEST(test_starved)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();

    fake_find_pmu(fake, "cpu")->counters = 0;
    _cleanup_(freep) char *text = text_of(fake, work_1_ms, 60);
    _cleanup_(freep) char *section = section_of(text, "self-test of cpu");
    expect_in(section, "    value: none\n");
    expect_not_in(section, "plausible");
}

TEST(test_no_pmu)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = captured_raspberry_pi();
    _cleanup_(freep) char *text = text_of(fake, work_1_ms, 60);

    expect_in(text, "\nno hardware PMU on CPU 0-3: ");
    expect_not_in(strstr(text, "no hardware PMU") + 1, "no hardware PMU");
    expect_not_in(text, "plausible");
    _cleanup_(freep) char *section = section_of(text, "self-test of software");
    expect_in(section, "    context-switches: ");
}

static void hang(struct sys *sys, const struct sys_group *group, int *ret)
{
    while (group->cpu == 4)
        pause();
    sys_own_open_group(sys, group, ret);
}

/* Opening an event of the big cores hangs. */
TEST(test_hang)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = captured_rk3588_6_1();

    fake->sys.calls.open_group = hang;
    _cleanup_(freep) char *text = text_of(fake, work_1_ms, 1);
    _cleanup_(freep) char *big = section_of(text, "self-test of armv8_cortex_a76");
    assert_string_equal(big, "on CPU 4\n"
                             "ipc = instructions / cycles\n"
                             "this section stopped here: it wrote nothing more for 1 seconds\n");
    expect_in(text, "\n## end\n");
}

static int die_on_big(struct sys *sys, unsigned cpu)
{
    if (cpu == 4)
        raise(SIGKILL);
    return work_1_ms(sys, cpu);
}

TEST(test_crash)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = captured_rk3588_6_1();
    _cleanup_(freep) char *text = text_of(fake, die_on_big, 60);
    _cleanup_(freep) char *little = section_of(text, "self-test of armv8_cortex_a55");
    _cleanup_(freep) char *big = section_of(text, "self-test of armv8_cortex_a76");

    expect_in(little, "plausible");
    expect_in(big, "ipc = instructions / cycles\nthis section stopped here: process ");
    expect_in(big, "signal 9");
}

/* Malformed files in sysfs, and files that contain a person's name. */
TEST(test_garbled)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();

    fake_pmu_file(fake, "cpu", "caps/odd", "\033[2Jred\xff\t7");
    fake_pmu_file(fake, "cpu", "caps/path", "see /home/alice/secret, or /sys/kernel/btf: a / b");
    fake_pmu_file(fake, "cpu", "events/broken", "\001\002=");
    fake_add_pmu(fake, "odd", 99, "cpus", "0");
    fake_pmu_file(fake, "odd", "type", "seven");
    fake_file(fake, "/proc/cpuinfo", "processor\t: 0\nmodel name\t: Example\nSerial\t\t: 1234abcd\n\n");
    _cleanup_(freep) char *text = text_of(fake, work_1_ms, 60);
    expect_in(text, "    odd: " UTF8_REPLACEMENT "[2Jred" UTF8_REPLACEMENT " 7\n");
    expect_in(text, "    path: see /..., or /sys/kernel/btf: a / b\n");
    expect_in(text, "    cannot be used: broken: ");
    expect_in(text, "    cannot be used: odd: ");
    expect_in(text, "\nmodel name: Example\n");
    expect_not_in(text, "1234abcd");
    expect_in(text, "    value: 1 ratio, plausible\n");
}

/*
 * The report is made without a child process, so that the simulated machine shows whether all descriptors are closed.
 */
TEST(test_closes_all)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = captured_rk3588_6_1();
    _cleanup_(machine_freep) struct machine *machine = machine_of(&fake->sys);
    const struct report report = {&fake->sys, machine, NULL, work_1_ms, 60};
    _cleanup_(fclosep) FILE *file = tmpfile();

    assert_non_null(file);
    for (size_t i = 0; i < machine->n_pmus; i++)
        report_test_formulas(&report, machine->pmus[i], file);
    assert_int_equal(fake->n_open, 0);
}

TEST_MAIN(NULL, NULL)
