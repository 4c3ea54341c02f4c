/* SPDX-License-Identifier: Apache-2.0 */
/* Generic events by name and alias, and the grammar of cache events. */
#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "perf/event/event.h"
#include "perf/event/generic.h"
#include "tests/unit/test.h"

static void test_find(void **state)
{
    static const struct {
        const char *in, *out_metric;
        uint32_t out_type;
        uint64_t out_config;
    } cases[] = {
        {"cycles", "cycles", 0, 0},
        {"cpu-cycles", "cycles", 0, 0},
        {"CPU-Cycles", "cycles", 0, 0},
        {"instructions", "instructions", 0, 1},
        {"cache-references", "cache_references", 0, 2},
        {"cache-misses", "cache_misses", 0, 3},
        {"branches", "branches", 0, 4},
        {"branch-instructions", "branches", 0, 4},
        {"branch-misses", "branch_misses", 0, 5},
        {"bus-cycles", "bus_cycles", 0, 6},
        {"idle-cycles-frontend", "stalled_cycles_frontend", 0, 7},
        {"stalled-cycles-backend", "stalled_cycles_backend", 0, 8},
        {"ref-cycles", "ref_cycles", 0, 9},
        {"cpu-clock", "cpu_clock", 1, 0},
        {"task-clock", "task_clock", 1, 1},
        {"faults", "page_faults", 1, 2},
        {"cs", "context_switches", 1, 3},
        {"migrations", "cpu_migrations", 1, 4},
        {"minor-faults", "minor_faults", 1, 5},
        {"major-faults", "major_faults", 1, 6},
        {"alignment-faults", "alignment_faults", 1, 7},
        {"emulation-faults", "emulation_faults", 1, 8},
        {"dummy", "dummy", 1, 9},
        {"bpf-output", "bpf_output", 1, 10},
        {"cgroup-switches", "cgroup_switches", 1, 11},
        {"cycle", NULL, 0, 0},
        {"cycless", NULL, 0, 0},
        {"", NULL, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct generic_event *event = generic_find(cases[i].in, strlen(cases[i].in));
        assert_int_equal(event != NULL, cases[i].out_metric != NULL);
        if (!event)
            continue;
        assert_string_equal(event->metric, cases[i].out_metric);
        assert_int_equal(event->type, cases[i].out_type);
        assert_int_equal(event->config, cases[i].out_config);
    }
    assert_non_null(generic_find("cycles:u", 6));
}

/* What the rest of the daemon builds on: names in perf's spelling, metrics by the rule, helps with a full stop. */
static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_generic_events; i++) {
        const struct generic_event *event = &generic_events[i];
        _cleanup_(freep) char *metric = event_metric_name(event->name);
        assert_string_equal(metric, event->metric);
        assert_int_equal(event->help[strlen(event->help) - 1], '.');
        assert_ptr_equal(generic_find(event->name, strlen(event->name)), event);
        assert_int_equal(event->clock, event->type == PERF_TYPE_SOFTWARE && event->config <= 1);
    }
}

static void test_cache(void **state)
{
    static const struct {
        const char *in;
        uint64_t out_config;
        const char *out_metric; /* NULL: no cache event */
    } cases[] = {
        {"L1-dcache-loads", 0x000000, "l1_dcache_loads"},
        {"L1-dcache-load-misses", 0x010000, "l1_dcache_load_misses"},
        {"l1-dcache-load-misses", 0x010000, "l1_dcache_load_misses"},
        {"l1d-read", 0x000000, "l1_dcache_loads"},
        {"l1-d-read-miss", 0x010000, "l1_dcache_load_misses"},
        {"l1-d", 0x000000, "l1_dcache_loads"},
        {"L1-data-write-access", 0x000100, "l1_dcache_stores"},
        {"L1-dcache-stores", 0x000100, "l1_dcache_stores"},
        {"L1-dcache-prefetch-misses", 0x010200, "l1_dcache_prefetch_misses"},
        {"L1-dcache-speculative-read-misses", 0x010200, "l1_dcache_prefetch_misses"},
        {"L1-dcache-misses-load", 0x010000, "l1_dcache_load_misses"},
        {"L1-icache-load-misses", 0x010001, "l1_icache_load_misses"},
        {"L1-icache-prefetches", 0x000201, "l1_icache_prefetches"},
        {"LLC-loads", 0x000002, "llc_loads"},
        {"LLC-misses", 0x010002, "llc_load_misses"},
        {"L2-store-refs", 0x000102, "llc_stores"},
        {"dTLB-store-misses", 0x010103, "dtlb_store_misses"},
        {"Data-TLB-loads", 0x000003, "dtlb_loads"},
        {"iTLB-load-misses", 0x010004, "itlb_load_misses"},
        {"branch-loads", 0x000005, "branch_loads"},
        {"branches-load-misses", 0x010005, "branch_load_misses"},
        {"bpc-load-ops", 0x000005, "branch_loads"},
        {"node-stores", 0x000106, "node_stores"},
        {"L1-icache-stores", 0, NULL},
        {"iTLB-stores", 0, NULL},
        {"iTLB-prefetches", 0, NULL},
        {"branch-store-misses", 0, NULL},
        {"L1-dcache-loads-loads", 0, NULL},
        {"L1-dcache-misses-misses", 0, NULL},
        {"L1-dcache-load-misses-x", 0, NULL},
        {"L1-dcache-", 0, NULL},
        {"L1-dcache-load-", 0, NULL},
        {"L1-dcacheloads", 0, NULL},
        {"L1", 0, NULL},
        {"nodes", 0, NULL},
        {"-", 0, NULL},
        {"", 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t config = 0;
        bool found = generic_parse_cache(cases[i].in, strlen(cases[i].in), &config);
        assert_int_equal(found, cases[i].out_metric != NULL);
        assert_int_equal(config, cases[i].out_config);
        if (!found)
            continue;
        struct event event = {.kind = EVENT_GENERIC, .config = config};
        assert_int_equal(event_make_metric(&event), 0);
        assert_string_equal(event.metric, cases[i].out_metric);
        event_done(&event);
    }
}

/* Every name in the list is read back as the same event, and the list has all that can exist. */
static void test_cache_names(void **state)
{
    char name[64] = "";
    uint64_t listed, parsed;
    size_t n = 0;

    (void)state;
    for (; generic_cache_name(n, name, sizeof(name), &listed); n++) {
        assert_true(generic_parse_cache(name, strlen(name), &parsed));
        assert_int_equal(parsed, listed);
    }
    assert_int_equal(n, 32);
    assert_string_equal(name, "node-prefetch-misses");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_cache_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
