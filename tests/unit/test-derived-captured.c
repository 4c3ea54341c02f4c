/* SPDX-License-Identifier: Apache-2.0 */
/* Captured machines: the derived metrics that their PMUs can have, by the events that /sys lists. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "derived/derivation.h"
#include "perf/event/parse.h"
#include "perf/machine.h"
#include "tests/unit/captured.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

#define EVENTS_MAX 64

/* The name that an event of a PMU has in metrics; the caller frees it. */
static const char *name_event(const struct pmu *pmu, const char *name)
{
    struct event event;

    if (pmu->scope != PMU_CORE)
        return event_metric_name(name);
    assert_int_equal(event_parse(name, &event, NULL), 0);
    char *metric = steal(event.metric);
    event_done(&event);
    return metric;
}

/* "armv8_cortex_a76: ipc frontend_stall_ratio", of all events of the PMU in one group; running_ratio is everywhere. */
static void describe_pmu(struct buffer *text, const struct pmu *pmu)
{
    const char *names[EVENTS_MAX];
    const struct derivation_events events = {
        .target = pmu->scope == PMU_CORE ? DERIVED_CPU : DERIVED_PMU,
        .pmu = pmu->name,
        .slots = pmu->slots,
        .events = names,
        .n = pmu->n_events,
    };

    assert_true(pmu->n_events <= EVENTS_MAX);
    for (size_t i = 0; i < events.n; i++)
        names[i] = name_event(pmu, pmu->events[i].name);
    struct derivation *derivation = derivation_new(&events);
    size_t n = derivation_count(derivation);
    buffer_appendf(text, "%s%s", n > 1 ? pmu->name : "", n > 1 ? ":" : "");
    for (size_t i = 0; i < n; i++)
        if (!str_equal(derivation_metric(derivation, i)->name, "running_ratio"))
            buffer_appendf(text, " %s", derivation_metric(derivation, i)->name);
    buffer_append_text(text, n > 1 ? "\n" : "");
    derivation_free(derivation);
    for (size_t i = 0; i < events.n; i++)
        free((char *)names[i]);
}

/* Of Cortex-A55 and A76, which have no slots: nothing is called top-down. */
#define ARMV8                                                                                                          \
    ": ipc frontend_stall_ratio backend_stall_ratio branch_miss_ratio branch_mpki cache_miss_ratio l1d_mpki "          \
    "l1i_mpki l2_mpki l2_miss_ratio llc_mpki llc_miss_ratio dtlb_walks_pki itlb_walks_pki l2_tlb_mpki "                \
    "dtlb_load_mpki itlb_load_mpki"
#define TOPDOWN                                                                                                        \
    " topdown_retiring_ratio topdown_bad_speculation_ratio topdown_frontend_bound_ratio topdown_backend_bound_ratio"
#define MEMORY ": memory_read_bytes_per_second memory_write_bytes_per_second memory_bytes_per_second\n"

static const struct {
    struct fake_sys *(*in)(void);
    const char *out;
} machines[] = {
    {captured_rk3588_5_10, "armv8_pmuv3" ARMV8 "\n"},
    {captured_rk3588_6_1, "armv8_cortex_a55" ARMV8 "\narmv8_cortex_a76" ARMV8 "\n"},
    {captured_rk3588_6_12, "armv8_cortex_a55" ARMV8 "\narmv8_cortex_a76" ARMV8 "\nrockchip_ddr" MEMORY},
    {captured_raspberry_pi_5, "armv8_cortex_a76" ARMV8 "\n"},
    {captured_raspberry_pi, ""},
    {captured_altra, "arm_cmn_0: memory_bytes_per_second\narmv8_pmuv3_0" ARMV8 "\n"},
    {captured_neoverse_n2, "armv8_pmuv3_0" ARMV8 TOPDOWN "\n"},
    {captured_intel_hybrid, "cpu_atom: ipc" TOPDOWN "\ncpu_core: ipc" TOPDOWN
                            "\npower: package_watts cores_watts platform_watts\nuncore_imc_free_running_0" MEMORY},
    {captured_intel_server,
     "cpu: ipc branch_miss_ratio branch_mpki cache_miss_ratio" TOPDOWN "\npower: package_watts dram_watts\n"
     "uncore_imc_0" MEMORY "uncore_imc_1" MEMORY "uncore_imc_2" MEMORY "uncore_imc_3" MEMORY
     "uncore_imc_free_running_0" MEMORY},
    {captured_amd_server,
     "cpu: ipc frontend_stall_ratio branch_miss_ratio branch_mpki cache_miss_ratio\npower: package_watts\n"},
};

static void test_machines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        _cleanup_(buffer_done) struct buffer text = {0};
        struct fake_sys *fake = machines[i].in();
        struct machine *machine = machine_of(&fake->sys);
        for (size_t k = 0; k < machine->n_pmus; k++)
            describe_pmu(&text, machine->pmus[k]);
        _cleanup_(freep) char *described = buffer_string(&text);
        if (!str_equal(described ? described : "", machines[i].out))
            fail_msg("machine %zu has\n%sinstead of\n%s\n", i, described, machines[i].out);
        machine_free(machine);
        fake_sys_free(fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
