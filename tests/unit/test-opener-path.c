/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the opener opens, by their paths; and that a request for each of them gets that answer. */
#include "base/cleanup.h"
#include "opener/request.h"
#include "tests/unit/test.h"

static char *files[] = {(char *)"/etc/perfcountd/perfcountd.yaml", (char *)"web.yml"};
static const struct opener_rules rules = {.permissions = {.files = files, .n_files = ARRAY_SIZE(files)}};

enum {
    NO = OPENER_FILE_UNKNOWN,
    TRACEFS = OPENER_FILE_TRACEFS,
    PROC = OPENER_FILE_PROC,
    MAPPED = OPENER_FILE_EXECUTABLE,
    JIT = OPENER_FILE_JIT_MAP
};
static const struct {
    const char *in;
    int out, out_sampling;
} path_cases[] = {
    {"/sys/kernel/tracing/events", TRACEFS, TRACEFS},
    {"/sys/kernel/tracing/events/sched", TRACEFS, TRACEFS},
    {"/sys/kernel/tracing/events/sched/sched_switch/id", TRACEFS, TRACEFS},
    {"/sys/kernel/debug/tracing/events", TRACEFS, TRACEFS},
    {"/sys/kernel/tracing/available_events", TRACEFS, TRACEFS},
    {"/sys/kernel/debug/tracing/available_events", TRACEFS, TRACEFS},
    {"/sys/kernel/debug/tracing/events/xhci-hcd/xhci_ring_free/id", TRACEFS, TRACEFS},
    {"/sys/kernel/tracing/events/sched/sched_switch", NO, NO},
    {"/sys/kernel/tracing/events/sched/sched_switch/format", NO, NO},
    {"/sys/kernel/tracing/events/sched/sched_switch/id/", NO, NO},
    {"/sys/kernel/tracing/events/sched/sched_switch/x/id", NO, NO},
    {"/sys/kernel/tracing/events/", NO, NO},
    {"/sys/kernel/tracing/eventsx", NO, NO},
    {"/sys/kernel/tracing/trace", NO, NO},
    {"/sys/kernel/tracing/events/../trace", NO, NO},
    {"/sys/kernel/tracing/events/..", NO, NO},
    {"/sys/kernel/tracing/events/a/../id", NO, NO},
    {"/sys/kernel/tracing/events//id", NO, NO},
    {"sys/kernel/tracing/events", NO, NO},
    {"/etc/shadow", NO, NO},
    {"", NO, NO},
    {"/proc/kallsyms", NO, PROC},
    {"/proc/modules", NO, PROC},
    {"/proc/1/comm", NO, PROC},
    {"/proc/4194304/maps", NO, PROC},
    {"/proc/1/task", NO, PROC},
    {"/proc/1/task/12/comm", NO, PROC},
    {"/proc/1/map_files/55d0c0000000-55d0c0001000", NO, MAPPED},
    {"/proc/1/map_files/ffffffffffffffff-ffffffffffffffff", NO, MAPPED},
    {"/proc/1/map_files/1ffffffffffffffff-2", NO, NO},
    {"/proc/1/map_files/FF-100", NO, NO},
    {"/proc/1/map_files/0x1-0x2", NO, NO},
    {"/proc/1/map_files/1-", NO, NO},
    {"/proc/1/map_files/-1", NO, NO},
    {"/proc/1/map_files/1-2/", NO, NO},
    {"/proc/1/map_files/..", NO, NO},
    {"/proc/1/map_files", NO, NO},
    {"/proc/1/root/tmp/perf-1.map", NO, JIT},
    {"/proc/4194304/root/tmp/perf-4194304.map", NO, JIT},
    {"/proc/1/root/tmp/perf-.map", NO, NO},
    {"/proc/1/root/tmp/perf-1.map/", NO, NO},
    {"/proc/1/root/tmp/perf-1.data", NO, NO},
    {"/proc/1/root/tmp/perf-../x.map", NO, NO},
    {"/proc/1/root/tmp", NO, NO},
    {"/proc/self/root/tmp/perf-1.map", NO, NO},
    {"/proc/1/mem", NO, NO},
    {"/proc/1/environ", NO, NO},
    {"/proc/1/cmdline", NO, NO},
    {"/proc/1/root", NO, NO},
    {"/proc/1/root/etc/shadow", NO, NO},
    {"/proc/1/fd/0", NO, NO},
    {"/proc/1/exe", NO, NO},
    {"/proc/1/task/1/mem", NO, NO},
    {"/proc/1/task/1/maps", NO, NO},
    {"/proc/1/task/", NO, NO},
    {"/proc/self/maps", NO, NO},
    {"/proc/-1/maps", NO, NO},
    {"/proc/12345678901/maps", NO, NO},
    {"/proc//maps", NO, NO},
    {"/proc/1/maps/", NO, NO},
    {"/proc/1/../kcore", NO, NO},
    {"/proc/kcore", NO, NO},
    {"/proc/kallsyms/", NO, NO},
    {"/proc", NO, NO},
};

static void test_paths(void **state)
{
    struct opener_rules sampling = rules;

    (void)state;
    sampling.permissions.sampling = true;
    for (size_t i = 0; i < ARRAY_SIZE(path_cases); i++) {
        bool sampled = path_cases[i].out_sampling != NO;
        _cleanup_(buffer_done) struct buffer buffer = {0};
        struct opener_request request;
        if (opener_path_kind(path_cases[i].in, false) != (enum opener_file_kind)path_cases[i].out ||
            opener_path_kind(path_cases[i].in, true) != (enum opener_file_kind)path_cases[i].out_sampling)
            fail_msg("%s", path_cases[i].in);
        assert_int_equal(opener_request_write_file(path_cases[i].in, &buffer), 0);
        assert_int_equal(opener_request_parse(buffer.data, buffer.size, 1, &request), -EBADMSG);
        assert_int_equal(opener_request_parse(buffer.data, buffer.size - 1, 0, &request), -EBADMSG);
        assert_int_equal(opener_request_parse(buffer.data, buffer.size, 0, &request), 0);
        assert_int_equal(opener_request_check(&request, &rules), path_cases[i].out ? 0 : sampled ? -EUNATCH : -EBADRQC);
        assert_int_equal(opener_request_check(&request, &sampling), sampled ? 0 : -EBADRQC);
    }
    assert_true(opener_path_asks_opener_first("/proc/kallsyms", true));
    assert_false(opener_path_asks_opener_first("/proc/kallsyms", false));
    assert_false(opener_path_asks_opener_first("/proc/1/maps", true));
}

static void test_long_path(void **state)
{
    char path[OPENER_PATH_MAX + 1] = "/sys/kernel/tracing/events/";

    (void)state;
    size_t start = strlen(path);
    memset(path + start, 'a', OPENER_PATH_MAX - 1 - start);
    assert_int_equal(opener_path_kind(path, false), OPENER_FILE_TRACEFS);
    path[OPENER_PATH_MAX - 1] = 'a';
    assert_int_equal(opener_path_kind(path, false), OPENER_FILE_UNKNOWN);
}

static void test_files(void **state)
{
    static const struct {
        const char *in;
        int out;
    } requests[] = {
        {"/etc/perfcountd/perfcountd.yaml", 0},
        {"web.yml", 0},
        {"./web.yml", -EBADRQC},
        {"/etc/perfcountd/", -EBADRQC},
        {"/etc/shadow", -EBADRQC},
        {"", -EBADRQC},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        const struct opener_request request = {.kind = OPENER_REQUEST_FILE, .path = requests[i].in};
        assert_int_equal(opener_request_check(&request, &rules), requests[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_long_path),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
