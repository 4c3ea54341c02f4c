/* SPDX-License-Identifier: Apache-2.0 */
/* How many cgroups there is room for: by descriptors, memory and the configured maximum. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/memory-limit.h"
#include "collectors/cgroup/budget.h"
#include "tests/unit/test.h"

/* The limit that leaves room for the fewest. */
static void test_room(void **state)
{
    static const struct {
        struct cgroup_rules in;
        uint64_t out;
        bool out_wants_memory;
    } rooms[] = {
        {{.max_cgroups = 9}, 9, false},
        {{.max_cgroups = 9, .memory_budget = UINT64_MAX, .memory_per_cgroup = 2000}, 9, false},
        {{.max_cgroups = 9, .memory_budget = 5999, .memory_per_cgroup = 2000}, 2, true},
        {{.max_cgroups = 3, .memory_budget = 6000, .memory_per_cgroup = 2000}, 3, false},
        {{.max_cgroups = 9, .memory_budget = 0, .memory_per_cgroup = 2000}, 0, true},
        {{.max_cgroups = 9,
          .descriptor_budget = 8,
          .descriptors_per_cgroup = 4,
          .memory_budget = 6000,
          .memory_per_cgroup = 2000},
         2,
         false},
        {{.max_cgroups = 9,
          .descriptor_budget = 16,
          .descriptors_per_cgroup = 4,
          .memory_budget = 6000,
          .memory_per_cgroup = 2000},
         3,
         true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
        assert_int_equal(cgroup_rules_room(&rooms[i].in), rooms[i].out);
        assert_int_equal(cgroup_rules_want_memory(&rooms[i].in), rooms[i].out_wants_memory);
    }
}

static size_t needs_nothing(const struct collector_context *context)
{
    (void)context;
    return 0;
}

static size_t has_none(const struct cgroup_counts *counts)
{
    (void)counts;
    return 0;
}

static void write_number(const char *directory, const char *name, uint64_t number)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%llu\n", (unsigned long long)number);
    assert_int_equal(fclose(file), 0);
}

/* Of 20 MB a fifth is kept, and half of the rest is for cgroups; those that are counted keep what they have. */
static void test_memory(void **state)
{
    static const struct cgroup_engine_type type = {.needs = needs_nothing, .descriptors = has_none};
    char directory[] = "/tmp/perfcountd-budget.XXXXXX", command[64];
    struct memory_limit limit = {.path = directory, .mount_size = strlen("/tmp")};
    struct config config = {.cgroup.enabled = true};
    struct sys sys = {.memory = &limit};
    const struct collector_context context = {.sys = &sys, .config = &config};
    struct cgroup_rules rules = {0};
    struct cgroup_engine engine = {.type = &type};
    struct cgroup_counts counts = {.engine = &engine}, *watched[] = {&counts, &counts, &counts};

    (void)state;
    assert_non_null(mkdtemp(directory));
    write_number(directory, "memory.max", 20 << 20);
    write_number(directory, "memory.current", 6 << 20);
    cgroup_budget_update(&rules, &context, &type, watched, 0);
    assert_true(rules.memory_budget == 5 << 20);
    assert_true(rules.memory_per_cgroup > 1024);
    write_number(directory, "memory.current", 19 << 20);
    cgroup_budget_update(&rules, &context, &type, watched, 0);
    assert_true(rules.memory_budget == 0);
    cgroup_budget_update(&rules, &context, &type, watched, 3);
    assert_int_equal(cgroup_rules_room(&(struct cgroup_rules){.max_cgroups = 9,
                                                              .memory_budget = rules.memory_budget,
                                                              .memory_per_cgroup = rules.memory_per_cgroup}),
                     3);
    sys.memory = NULL;
    cgroup_budget_update(&rules, &context, &type, watched, 0);
    assert_true(rules.memory_budget == UINT64_MAX);
    snprintf(command, sizeof(command), "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_room), cmocka_unit_test(test_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
