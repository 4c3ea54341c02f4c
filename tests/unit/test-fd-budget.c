/* SPDX-License-Identifier: Apache-2.0 */
/* How the limit on open files is divided between the daemon, clients, the sampler and counters. */
#include "daemon/fd-budget.h"
#include "tests/unit/test.h"

#define SAMPLED "{sampler: {enabled: true}}"
#define ALONE "{collectors: {cgroup: {enabled: false}, self: {enabled: false}}}"
#define TEN_CLIENTS "{web: {limits: {connections: 10, connections_per_address: 10}}}"
#define SERVES .inherited = 3, .serves = true

static const struct {
    const char *name;
    uint64_t in_limit;
    const char *in_config;
    struct fd_budget_terms in;                                   /* the test sets `limit` and `config` */
    unsigned out_daemon, out_clients, out_sampler, out_counters; /* all 0: the limit is too low */
} cases[] = {
    {"the minimum", 25, "{}", {SERVES}, 23, 2, 0, 0},
    {"one less than the minimum", 24, "{}", {SERVES}, 0, 0, 0, 0},
    {"much less than the minimum", 4, "{}", {SERVES}, 0, 0, 0, 0},
    {"three more than the minimum", 28, "{}", {SERVES}, 23, 2, 0, 3},
    {"with an opener", 28, "{}", {SERVES, .has_opener = true}, 25, 2, 0, 1},
    {"with an opener, a watchdog and the journal",
     64,
     "{}",
     {SERVES, .has_opener = true, .has_watchdog = true, .has_journal = true},
     27,
     16,
     0,
     21},
    {"without the cgroup and self collectors", 64, ALONE, {SERVES}, 15, 16, 0, 33},
    {"three addresses", 64, "{web: {listen: [\":1\", \":2\", \":3\"]}}", {SERVES}, 31, 16, 0, 17},
    {"two sockets from systemd", 64, "{}", {.inherited = 5, .serves = true, .handed_over = 2}, 29, 16, 0, 19},
    {"40 inherited descriptors", 64, "{}", {.inherited = 40, .serves = true}, 60, 2, 0, 2},
    {"web.limits.connections is 10", 1024, TEN_CLIENTS, {SERVES}, 23, 10, 0, 991},
    {"clients get a quarter of the limit", 1024, "{}", {SERVES}, 23, 256, 0, 745},
    {"as many descriptors as clients can use", 65536, "{}", {SERVES}, 23, 512, 0, 65001},
    {"too few descriptors for the sampler", 96, SAMPLED, {SERVES, .cpus = 2}, 23, 24, 0, 49},
    {"a sampler with few descriptors", 100, SAMPLED, {SERVES, .cpus = 2}, 23, 25, 26, 26},
    {"a sampler with all descriptors that it can use", 65536, SAMPLED, {SERVES, .cpus = 8}, 23, 512, 55, 64946},
    {"a reload that keeps all counters",
     100,
     SAMPLED,
     {SERVES, .cpus = 2, .counting = 26, .sampling = 3},
     23,
     25,
     26,
     26},
    {"a sampler that a reload enables too late", 100, SAMPLED, {SERVES, .cpus = 2, .counting = 46}, 23, 25, 0, 52},
    {"a reload whose counters leave too few connections", 64, "{}", {SERVES, .counting = 37}, 23, 4, 0, 37},
    {"no server", 20, "{}", {.inherited = 3}, 14, 0, 0, 6},
    {"no server, too few descriptors", 6, "{}", {.inherited = 3}, 6, 0, 0, 0},
};

static void check(size_t i, const struct fd_budget_terms *terms)
{
    struct fd_budget budget = {.limit = 1};
    struct error error = {0};

    int r = fd_budget_make(terms, &budget, &error);
    if (terms->serves && cases[i].out_clients == 0) {
        assert_int_equal(r, -EMFILE);
        assert_non_null(strstr(error.message, "LimitNOFILE="));
        assert_int_equal(budget.limit, 1);
        return;
    }
    assert_int_equal(r, 0);
    assert_int_equal(budget.daemon, cases[i].out_daemon);
    assert_int_equal(budget.clients, cases[i].out_clients);
    assert_int_equal(budget.sampler, cases[i].out_sampler);
    assert_int_equal(budget.limits.counting, cases[i].out_counters);
    assert_int_equal(budget.daemon + budget.clients + budget.sampler + budget.limits.counting, terms->limit);
    assert_int_equal(budget.limits.sampling > 0, budget.sampler > 0);
    if (budget.sampler)
        assert_in_range(budget.limits.sampling, terms->cpus, budget.sampler);
}

TEST(test_divides)
{
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

/* Whatever the limit, clients get descriptors before counters do, and the parts add up to the limit. */
TEST(test_every_limit)
{
    _cleanup_(config_freep) struct config *config = NULL;
    struct error error;

    assert_int_equal(config_parse(SAMPLED, strlen(SAMPLED), &config, &error), 0);
    for (uint64_t limit = 0; limit < 3000; limit++) {
        struct fd_budget_terms terms = {
            .config = config, .limit = limit, .inherited = 3, .cpus = 8, .serves = true, .has_opener = true};
        struct fd_budget budget;
        if (fd_budget_make(&terms, &budget, &error) < 0) {
            assert_true(limit < 27);
            continue;
        }
        assert_int_equal(budget.daemon + budget.clients + budget.sampler + budget.limits.counting, limit);
        assert_true(budget.clients >= MIN(limit / 4, (limit - budget.daemon) / 2) || budget.clients == 512);
        assert_true(budget.clients >= FD_BUDGET_CLIENTS_MIN);
        assert_true(budget.limits.sampling <= budget.sampler);
    }
}

TEST_MAIN(NULL, NULL)
