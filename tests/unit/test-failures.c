/* SPDX-License-Identifier: Apache-2.0 */
/* Events that could not be opened, on CPUs and in cgroups, and the messages that report them. */
#include "base/util.h"
#include "collectors/failures.h"
#include "perf/sys.h"
#include "tests/unit/test.h"

static void add(struct failures *failures, unsigned collector, const char *event, int first, int last)
{
    struct failure failure = {.collector = collector,
                              .group = "core",
                              .event = event,
                              .metric = event,
                              .pmu = "cpu",
                              .reason = "ENOENT",
                              .message = "there is no PMU"};

    for (int cpu = first; cpu <= last; cpu++)
        assert_int_equal(failures_add(failures, &failure, cpu), 0);
}

static void assert_sentences(const struct failures *failures, const char *const *expected, size_t n_expected)
{
    char **sentences;
    size_t n;

    assert_int_equal(failures_sentences(failures, &sentences, &n), 0);
    assert_int_equal(n, n_expected);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(sentences[i], expected[i]);
    strings_free(sentences, n);
}

/*
 * A failure in cgroups is reported in one message, however many cgroups there are, and separately from failures on
 * CPUs.
 */
TEST(test_cgroups)
{
    static const char *const alone[] = {"cgroups, on cpu 0-1: cycles, instructions: there is no PMU"};
    static const char *const both[] = {"cgroups, on cpu 0-1: cycles, instructions: there is no PMU",
                                       "cpu 0-1 cycles: there is no PMU"};
    struct failures failures = {0}, cgroup = {0};

    add(&cgroup, 1, "cycles", 0, 1);
    add(&cgroup, 1, "instructions", 0, 1);
    assert_int_equal(failures_add_cgroups(&failures, &cgroup, 1), 0);
    assert_sentences(&failures, alone, 1);
    add(&failures, 0, "cycles", 0, 1);
    assert_int_equal(failures_add_cgroups(&failures, &cgroup, 1), 0);
    assert_sentences(&failures, both, 2);
    assert_int_equal(failures_add_cgroups(&failures, &cgroup, 2), 0);
    assert_sentences(&failures, both, 2);
    assert_int_equal(failures.n, 3);
    assert_int_equal(failures.items[0].n_targets, 4);
    assert_int_equal(failures.items[1].n_targets, 4);
    assert_int_equal(failures.items[2].n_targets, 2);
    failures_done(&failures);
    failures_done(&cgroup);
}

/*
 * A failure that does not belong to a CPU names the place where it occurred. Without an event, only the place is named.
 */
TEST(test_elsewhere)
{
    static const char *const expected[] = {"cpu 0-1 cycles: there is no PMU",
                                           "perfcountd's own thread (own cost): cycles, instructions: there is no PMU",
                                           "cgroups: there is no PMU"};
    static const struct {
        const char *event, *where;
    } others[] = {{"cycles", "perfcountd's own thread (own cost)"},
                  {"instructions", "perfcountd's own thread (own cost)"},
                  {"", "cgroups"}};
    struct failures failures = {0};

    add(&failures, 0, "cycles", 0, 1);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct failure failure = {.collector = 2,
                                  .group = "",
                                  .event = others[i].event,
                                  .metric = others[i].event,
                                  .pmu = "",
                                  .reason = "ENOENT",
                                  .message = "there is no PMU",
                                  .where = others[i].where};
        assert_int_equal(failures_add(&failures, &failure, -1), 0);
    }
    assert_sentences(&failures, expected, ARRAY_SIZE(expected));
    failures_done(&failures);
}

/*
 * A missing PMU is reported in one message, which lists each event once and all CPUs. Failures for other reasons are
 * reported in separate messages.
 */
TEST(test_no_pmu)
{
    static const char *const expected[] = {
        "cpu 0-2 cycles, instructions, branches: " REASON_NO_PMU ": " REASON_NO_PMU_REMEDY, "cpu 0 msr: no such event"};
    static const struct {
        unsigned collector;
        const char *event, *message, *where;
        int cpu;
    } others[] = {{1, "cycles", "the message of another collector", NULL, 1},
                  {2, "instructions", "no PMU (EOPNOTSUPP)", "perfcountd's own thread (own cost)", -1},
                  {0, "branches", "left out with its strict group", NULL, 2}};
    struct failures failures = {0};
    struct failure failure = {.group = "core", .pmu = "cpu", .reason = REASON_LABEL_NO_PMU};

    failure.event = failure.metric = "cycles";
    failure.message = "no PMU (ENOENT)";
    assert_int_equal(failures_add(&failures, &failure, 0), 0);
    failure.reason = "ENOENT";
    failure.event = failure.metric = "msr";
    failure.message = "no such event";
    assert_int_equal(failures_add(&failures, &failure, 0), 0);
    failure.reason = REASON_LABEL_NO_PMU;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        failure.collector = others[i].collector;
        failure.event = failure.metric = others[i].event;
        failure.message = others[i].message;
        failure.where = others[i].where;
        assert_int_equal(failures_add(&failures, &failure, others[i].cpu), 0);
    }
    assert_sentences(&failures, expected, ARRAY_SIZE(expected));
    failures_done(&failures);
}

TEST_MAIN(NULL, NULL)
