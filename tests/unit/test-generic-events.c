/* SPDX-License-Identifier: Apache-2.0 */
/* Generic events by name and alias, and the grammar of cache events. */
#include "perf/event.h"
#include "perf/generic-events.h"
#include "tests/unit/test.h"

static const struct {
    const char *in, *out_metric;
    uint32_t out_type;
    uint64_t out_config;
} names[] = {
    {"cycles", "cycles", 0, 0},
    {"CPU-Cycles", "cycles", 0, 0},
    {"instructions", "instructions", 0, 1},
    {"branches", "branches", 0, 4},
    {"branch-instructions", "branches", 0, 4},
    {"bus-cycles", "bus_cycles", 0, 6},
    {"idle-cycles-frontend", "stalled_cycles_frontend", 0, 7},
    {"stalled-cycles-backend", "stalled_cycles_backend", 0, 8},
    {"cpu-clock", "cpu_clock", 1, 0},
    {"task-clock", "task_clock", 1, 1},
    {"faults", "page_faults", 1, 2},
    {"cs", "context_switches", 1, 3},
    {"migrations", "cpu_migrations", 1, 4},
    {"dummy", "dummy", 1, 9},
    {"cgroup-switches", "cgroup_switches", 1, 11},
    {"cycle", NULL, 0, 0},
    {"", NULL, 0, 0},
};

TEST(test_find)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const struct generic_event *event = generic_find(names[i].in, strlen(names[i].in));
        assert_int_equal(event != NULL, names[i].out_metric != NULL);
        if (!event)
            continue;
        assert_string_equal(event->metric, names[i].out_metric);
        assert_int_equal(event->type, names[i].out_type);
        assert_int_equal(event->config, names[i].out_config);
    }
    assert_non_null(generic_find("cycles:u", 6));
}

static const struct {
    const char *in;
    uint64_t out_config;
    const char *out_metric; /* NULL: not a cache event */
} caches[] = {
    {"L1-dcache-loads", 0x000000, "l1_dcache_loads"},
    {"L1-dcache-load-misses", 0x010000, "l1_dcache_load_misses"},
    {"l1-dcache-load-misses", 0x010000, "l1_dcache_load_misses"},
    {"l1-d-read-miss", 0x010000, "l1_dcache_load_misses"},
    {"L1-data-write-access", 0x000100, "l1_dcache_stores"},
    {"L1-dcache-prefetch-misses", 0x010200, "l1_dcache_prefetch_misses"},
    {"L1-dcache-speculative-read-misses", 0x010200, "l1_dcache_prefetch_misses"},
    {"L1-icache-load-misses", 0x010001, "l1_icache_load_misses"},
    {"LLC-loads", 0x000002, "llc_loads"},
    {"LLC-misses", 0x010002, "llc_load_misses"},
    {"L2-store-refs", 0x000102, "llc_stores"},
    {"dTLB-store-misses", 0x010103, "dtlb_store_misses"},
    {"iTLB-load-misses", 0x010004, "itlb_load_misses"},
    {"branch-loads", 0x000005, "branch_loads"},
    {"bpc-load-ops", 0x000005, "branch_loads"},
    {"L1-icache-stores", 0, NULL},
    {"iTLB-stores", 0, NULL},
    {"branch-store-misses", 0, NULL},
    {"L1-dcache-loads-loads", 0, NULL},
    {"L1-dcache-load-misses-x", 0, NULL},
    {"L1-dcache-", 0, NULL},
    {"L1-dcacheloads", 0, NULL},
    {"L1", 0, NULL},
    {"", 0, NULL},
};

TEST(test_cache)
{
    for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
        uint64_t config = 0;
        bool found = generic_parse_cache(caches[i].in, strlen(caches[i].in), &config);
        assert_int_equal(found, caches[i].out_metric != NULL);
        assert_int_equal(config, caches[i].out_config);
        if (!found)
            continue;
        struct event event = {.kind = EVENT_GENERIC, .config = config};
        assert_int_equal(event_build_metric(&event), 0);
        assert_string_equal(event.metric, caches[i].out_metric);
        event_done(&event);
    }
}

/*
 * Every name in the list of cache events is parsed as the event that the list gives for it, and the list is complete.
 */
TEST(test_cache_names)
{
    char name[64] = "";
    uint64_t listed, parsed;
    size_t n = 0;

    for (; generic_find_cache(n, name, sizeof(name), &listed); n++) {
        assert_true(generic_parse_cache(name, strlen(name), &parsed));
        assert_int_equal(parsed, listed);
    }
    assert_int_equal(n, 32);
    assert_string_equal(name, "node-prefetch-misses");
}

TEST_MAIN(NULL, NULL)
