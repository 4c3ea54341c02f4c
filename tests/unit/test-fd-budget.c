/* SPDX-License-Identifier: Apache-2.0 */
/* How the limit of open files is divided. */
#include "daemon/fd-budget.h"
#include "tests/unit/test.h"

static const struct {
    const char *name;
    uint64_t in_limit;
    const char *in_config;
    struct fd_budget_terms in; /* limit and config apart */
    struct fd_budget out;      /* rings and files apart; clients are 0 where it cannot be divided */
} cases[] = {
    {"the fewest", 25, "{}", {.inherited = 3, .serves = true}, {.daemon = 23, .clients = 2, .counters = 0}},
    {"one too few", 24, "{}", {.inherited = 3, .serves = true}, {.clients = 0}},
    {"far too few", 4, "{}", {.inherited = 3, .serves = true}, {.clients = 0}},
    {"28", 28, "{}", {.inherited = 3, .serves = true}, {.daemon = 23, .clients = 2, .counters = 3}},
    {"with an opener",
     28,
     "{}",
     {.inherited = 3, .serves = true, .has_opener = true},
     {.daemon = 25, .clients = 2, .counters = 1}},
    {"as a service",
     64,
     "{}",
     {.inherited = 3, .serves = true, .has_opener = true, .has_watchdog = true, .has_journal = true},
     {.daemon = 27, .clients = 16, .counters = 21}},
    {"neither cgroups nor itself",
     64,
     "{collectors: {cgroup: {enabled: false}, self: {enabled: false}}}",
     {.inherited = 3, .serves = true},
     {.daemon = 15, .clients = 16, .counters = 33}},
    {"three addresses",
     64,
     "{web: {listen: [\":1\", \":2\", \":3\"]}}",
     {.inherited = 3, .serves = true},
     {.daemon = 31, .clients = 16, .counters = 17}},
    {"two sockets that were handed over",
     64,
     "{}",
     {.inherited = 5, .handed_over = 2, .serves = true},
     {.daemon = 29, .clients = 16, .counters = 19}},
    {"what the parent left open",
     64,
     "{}",
     {.inherited = 40, .serves = true},
     {.daemon = 60, .clients = 2, .counters = 2}},
    {"few connections",
     1024,
     "{web: {limits: {connections: 10, connections_per_address: 10}}}",
     {.inherited = 3, .serves = true},
     {.daemon = 23, .clients = 10, .counters = 991}},
    {"a quarter", 1024, "{}", {.inherited = 3, .serves = true}, {.daemon = 23, .clients = 256, .counters = 745}},
    {"all", 65536, "{}", {.inherited = 3, .serves = true}, {.daemon = 23, .clients = 512, .counters = 65001}},
    {"a sampler for which there is no room",
     32,
     "{sampler: {enabled: true}}",
     {.inherited = 3, .serves = true, .cpus = 2},
     {.daemon = 23, .clients = 4, .counters = 5}},
    {"one for which there is some",
     64,
     "{sampler: {enabled: true}}",
     {.inherited = 3, .serves = true, .cpus = 2},
     {.daemon = 23, .clients = 16, .sampler = 12, .counters = 13}},
    {"one with all it can use",
     65536,
     "{sampler: {enabled: true}}",
     {.inherited = 3, .serves = true, .cpus = 8},
     {.daemon = 23, .clients = 512, .sampler = 105, .counters = 64896}},
    {"a reload with as many counters as there may be",
     64,
     "{sampler: {enabled: true}}",
     {.inherited = 3, .serves = true, .cpus = 2, .counting = 13, .sampling = 6},
     {.daemon = 23, .clients = 16, .sampler = 12, .counters = 13}},
    {"a reload that enables the sampler where counters have the rest",
     64,
     "{sampler: {enabled: true}}",
     {.inherited = 3, .serves = true, .cpus = 2, .counting = 25},
     {.daemon = 23, .clients = 16, .counters = 25}},
    {"a reload with more connections than counters leave",
     64,
     "{}",
     {.inherited = 3, .serves = true, .counting = 37},
     {.daemon = 23, .clients = 4, .counters = 37}},
    {"what only prints", 20, "{}", {.inherited = 3}, {.daemon = 14, .counters = 6}},
    {"what only prints, with too few", 6, "{}", {.inherited = 3}, {.daemon = 6}},
};

static void check(size_t i, const struct fd_budget_terms *terms)
{
    struct fd_budget budget = {.limit = 1};
    struct error error = {0};

    int r = fd_budget_make(terms, &budget, &error);
    if (terms->serves && cases[i].out.clients == 0) {
        assert_int_equal(r, -EMFILE);
        assert_non_null(strstr(error.message, "LimitNOFILE="));
        assert_int_equal(budget.limit, 1);
        return;
    }
    assert_int_equal(r, 0);
    assert_int_equal(budget.daemon, cases[i].out.daemon);
    assert_int_equal(budget.clients, cases[i].out.clients);
    assert_int_equal(budget.sampler, cases[i].out.sampler);
    assert_int_equal(budget.counters, cases[i].out.counters);
    assert_int_equal(budget.daemon + budget.clients + budget.sampler + budget.counters, terms->limit);
    struct descriptor_limits limits = fd_budget_limits(&budget);
    assert_int_equal(limits.counting, budget.counters);
    assert_int_equal(limits.sampling > 0, budget.sampler > 0);
    assert_int_equal(limits.files > 0, budget.sampler > 0);
    if (budget.sampler)
        assert_in_range(limits.sampling, terms->cpus, budget.sampler - limits.files);
}

static void test_divides(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        struct fd_budget_terms terms = cases[i].in;
        struct error error;

        print_message("%s\n", cases[i].name);
        assert_int_equal(config_parse(cases[i].in_config, strlen(cases[i].in_config), &config, &error), 0);
        terms.limit = cases[i].in_limit;
        terms.config = config;
        check(i, &terms);
    }
}

/* Clients come before counters, and nothing is given away twice, at any limit. */
static void test_every_limit(void **state)
{
    static const char text[] = "{sampler: {enabled: true}}";
    _cleanup_(config_freep) struct config *config = NULL;
    struct error error;

    (void)state;
    assert_int_equal(config_parse(text, strlen(text), &config, &error), 0);
    for (uint64_t limit = 0; limit < 3000; limit++) {
        struct fd_budget_terms terms = {
            .config = config, .limit = limit, .inherited = 3, .cpus = 8, .serves = true, .has_opener = true};
        struct fd_budget budget;
        if (fd_budget_make(&terms, &budget, &error) < 0) {
            assert_true(limit < 27);
            continue;
        }
        assert_int_equal(budget.daemon + budget.clients + budget.sampler + budget.counters, limit);
        assert_true(budget.clients >= MIN(limit / 4, (limit - budget.daemon) / 2) || budget.clients == 512);
        assert_true(budget.clients >= FD_BUDGET_CLIENTS_MIN);
        assert_true(budget.rings + budget.files <= budget.sampler);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_divides),
        cmocka_unit_test(test_every_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
