/* SPDX-License-Identifier: Apache-2.0 */
/* What the opener permits: files by path, PMUs from sysfs, events of the configuration, and the number of events. */
#include <limits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/session.h"
#include "opener/protocol.h"
#include "opener/rules.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

TEST(test_pmus)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct opener_permissions permissions = {.sampling = true};
    struct opener_rules rules;

    fake_add_pmu(fake, "uprobe", 7, NULL, "0-3");
    fake_add_pmu(fake, "intel_pt", 23, NULL, "0-3");
    fake_add_pmu(fake, "arm_spe_0", 24, NULL, "0-3");
    fake_add_pmu(fake, "cs_etm", 25, NULL, "0-3");
    fake_add_pmu(fake, "hisi_ptt0_8", 26, NULL, "0-3");
    fake_add_pmu(fake, "intel_bts", 27, NULL, "0-3");
    fake_add_pmu(fake, "breakpoint", PERF_TYPE_BREAKPOINT, NULL, "0-3");
    fake_add_pmu(fake, "uncore_imc_0", 28, NULL, "0-3");
    fake_pmu_file(fake, "uncore_garbled", "type", "none\n");
    fake_pmu_file(fake, "uncore_large", "type", "4294967296\n");
    assert_int_equal(opener_rules_init(&rules, &fake->sys, &permissions), 0);
    assert_int_equal(rules.daemon, getpid());
    assert_true(rules.permissions.sampling);
    assert_false(rules.permissions.breakpoints);
    assert_int_equal(rules.probing.n, 1);
    assert_int_equal(rules.n_cpus, 4);
    for (uint32_t type = 0; type < 30; type++) {
        bool counts = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_HW_CACHE ||
                      type == PERF_TYPE_RAW || type == 28 || opener_types_have(&rules.counting, type);
        assert_int_equal(opener_types_have(&rules.tracing, type), type >= 23 && type <= 27);
        assert_int_equal(opener_types_have(&rules.probing, type), type == 7);
        assert_int_equal(opener_rules_type_takes_filter(&rules, type), type == 7 || type == PERF_TYPE_TRACEPOINT);
        assert_int_equal(opener_types_have(&rules.counting, type), counts);
    }
    assert_false(opener_types_have(&rules.counting, PERF_TYPE_TRACEPOINT));
    assert_false(opener_types_have(&rules.counting, PERF_TYPE_BREAKPOINT));
    assert_false(opener_types_have(&rules.counting, 7));
    assert_false(opener_types_have(&rules.counting, 23));
    assert_false(opener_types_have(&rules.counting, 29));
    opener_rules_done(&rules);
    fake_sys_free(fake);
}

TEST(test_needs_admin)
{
    static const struct {
        const char *in_paranoid, *in_probe;
        bool out;
    } cases[] = {
        {"2\n", NULL, false},     {"-1\n", NULL, false},   {"3\n", NULL, true}, {"4\n", "kprobe", true},
        {"2\n", "kprobe", false}, {"2\n", "uprobe", true}, {"\n", NULL, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_sys *fake = fake_machine_one_pmu();
        struct opener_permissions permissions = {0};
        const struct pmu pmu = {.name = (char *)cases[i].in_probe, .type = 7};
        const struct attr attr = {.kernel = {.type = 7}, .text = "/bin/true", .pmu = &pmu};
        struct opener_rules made;
        if (cases[i].in_probe)
            assert_int_equal(opener_permissions_add_event(&permissions, &attr, false), 0);
        fake_file(fake, "/proc/sys/kernel/perf_event_paranoid", "%s", cases[i].in_paranoid);
        assert_int_equal(opener_rules_init(&made, &fake->sys, &permissions), 0);
        assert_int_equal(made.needs_admin, cases[i].out);
        opener_rules_done(&made);
        fake_sys_free(fake);
    }
}

TEST(test_no_pmus)
{
    struct fake_sys *fake = fake_sys_new();
    struct opener_permissions permissions = {0};
    struct opener_rules rules;

    assert_int_equal(opener_rules_init(&rules, &fake->sys, &permissions), 0);
    assert_int_equal(rules.counting.n, 4);
    assert_int_equal(rules.probing.n, 0);
    assert_int_equal(rules.tracing.n, 0);
    opener_rules_done(&rules);
    fake_sys_free(fake);
}

/* Events that only count need no permission. */
TEST(test_permissions)
{
    static const struct {
        const char *pmu, *text;
        uint32_t type;
        bool granted;
    } cases[] = {
        {"software", NULL, PERF_TYPE_SOFTWARE, false},
        {"tracepoint", NULL, PERF_TYPE_TRACEPOINT, true},
        {"uprobe", "/bin/true", 7, true},
        {"kprobe", "vfs_read", 6, true},
        {"breakpoint", NULL, PERF_TYPE_BREAKPOINT, true},
        {"intel_pt", NULL, 23, false},
    };
    struct opener_permissions permissions = {0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct pmu pmu = {.name = (char *)cases[i].pmu, .type = cases[i].type};
        const struct attr attr = {.kernel = {.type = cases[i].type}, .text = cases[i].text, .pmu = &pmu};
        size_t before = permissions.n_events;
        assert_int_equal(opener_permissions_add_event(&permissions, &attr, false), 0);
        assert_int_equal(permissions.n_events - before, cases[i].granted);
    }
    const struct pmu probe = {.name = (char *)"uprobe", .type = 7};
    const struct attr pointer = {.kernel = {.type = 7, .config1 = 0x41414141}, .pmu = &probe};
    size_t before = permissions.n_events;
    assert_int_equal(opener_permissions_add_event(&permissions, &pointer, false), 0);
    assert_int_equal(permissions.n_events, before);
    assert_int_equal(opener_permissions_add_file(&permissions, NULL), 0);
    assert_int_equal(opener_permissions_add_file(&permissions, ""), 0);
    assert_int_equal(opener_permissions_add_file(&permissions, "a"), 0);
    assert_int_equal(permissions.n_files, 1);
    opener_permissions_done(&permissions);
    assert_int_equal(permissions.n_events, 0);
}

#define TWO "{name: two, events: \"{cycles,instructions}\"}"
#define CPU "cpu: {groups: [" TWO "]}"
#define NO_PMU "pmu: {enabled: false}"
#define NO_CGROUP "cgroup: {enabled: false}"
#define CGROUP(more) "cgroup: {groups: [" TWO ", {name: one, events: task-clock}], " more "}"
#define OF(cpu, pmu, cgroup) "collectors: {" cpu ", " pmu ", " cgroup "}"

/* The maximum number of events that a configuration can need. */
TEST(test_event_limits)
{
    static const struct {
        const char *in;
        struct opener_event_limits out;
    } cases[] = {
        {"{" OF("cpu: {enabled: false}", NO_PMU, NO_CGROUP) "}", {64, 64, 64, 64}},
        {"{" OF(CPU, NO_PMU, NO_CGROUP) "}", {68, 68, 64, 64}},
        {"{" OF(CPU, "pmu: {groups: [{name: memory, events: uncore_imc/config=1/}]}", NO_CGROUP) "}", {72, 72, 64, 64}},
        {"{" OF(CPU, NO_PMU, CGROUP("engine: perf")) "}", {68 + 3 * 256, 68, 64, 64}},
        {"{" OF(CPU, NO_PMU, CGROUP("engine: perf, max_cgroups: 9")) "}", {68 + 3 * 9, 68, 64, 64}},
        {"{" OF(CPU, NO_PMU, CGROUP("engine: bpf, max_cgroups: 9")) "}", {74, 74, 64, 64}},
        {"{" OF(CPU, NO_PMU, CGROUP("engine: auto, max_cgroups: 9")) "}", {74 + 3 * 9, 74, 64, 64}},
        {"{sampler: {enabled: true, max_clients: 3}, " OF(CPU, NO_PMU, NO_CGROUP) "}",
         {68 + 3 * 64, 68 + 3 * 64, 4 * 64, 3 * 8192 + 64}},
    };
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_add_pmu(fake, "uncore_imc_0", 28, "cpumask", "0");
    fake_add_pmu(fake, "uncore_imc_1", 29, "cpumask", "0");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(opener_permissions_done) struct opener_permissions permissions = {0};
        _cleanup_(config_freep) struct config *config = NULL;
        struct error error;
        print_message("%s\n", cases[i].in);
        assert_int_equal(config_parse(cases[i].in, strlen(cases[i].in), &config, &error), 0);
        assert_int_equal(permissions_from_config(&fake->sys, config, NULL, &permissions, &error), 0);
        assert_int_equal(permissions.limits.cpu, cases[i].out.cpu);
        assert_int_equal(permissions.limits.cpu_of_bpf, cases[i].out.cpu_of_bpf);
        assert_int_equal(permissions.limits.thread, cases[i].out.thread);
        assert_int_equal(permissions.limits.threads, cases[i].out.threads);
    }
    fake_sys_free(fake);
}

static char *files[] = {(char *)"/etc/perfcountd/perfcountd.yaml", (char *)"web.yml"};

static const struct opener_rules rules = {.permissions = {.files = files, .n_files = ARRAY_SIZE(files)}};

enum {
    NO = OPENER_FILE_UNKNOWN,
    TRACEFS = OPENER_FILE_TRACEFS,
    PROC = OPENER_FILE_PROC,
};

static const struct {
    const char *in;
    int out, out_sampling;
} path_cases[] = {
    {"/sys/kernel/tracing", NO, NO},
    {"/sys/kernel/tracing/events", NO, NO},
    {"/sys/kernel/tracing/events/sched", NO, NO},
    {"/sys/kernel/tracing/events/sched/sched_switch/id", TRACEFS, TRACEFS},
    {"/sys/kernel/debug/tracing/events", NO, NO},
    {"/sys/kernel/debug/tracing/events/sched", NO, NO},
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
    {"/proc/4194304/comm", NO, PROC},
    {"/proc/4194304/maps", NO, NO},
    {"/proc/1/task", NO, PROC},
    {"/proc/1/task/12/comm", NO, PROC},
    {"/proc/1/map_files/55d0c0000000-55d0c0001000", NO, NO},
    {"/proc/1/root/tmp/perf-1.map", NO, NO},
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

TEST(test_paths)
{
    struct opener_rules sampling = rules;

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
    assert_false(opener_path_asks_opener_first("/proc/1/comm", true));
}

TEST(test_long_path)
{
    static const char end[] = "/event/id";
    char path[OPENER_PATH_MAX + 1] = "/sys/kernel/tracing/events/";

    size_t start = strlen(path), room = OPENER_PATH_MAX - sizeof(end);
    memset(path + start, 'a', room - start);
    strcpy(path + room, end);
    assert_int_equal(opener_path_kind(path, false), OPENER_FILE_TRACEFS);
    path[room] = 'a';
    strcpy(path + room + 1, end);
    assert_int_equal(opener_path_kind(path, false), OPENER_FILE_UNKNOWN);
    for (size_t size = 300; size <= PATH_MAX + 1; size += size < 4000 ? 3700 : 1) {
        char name[PATH_MAX + 2] = "/sys/kernel/tracing/events/";
        _cleanup_(buffer_done) struct buffer packet = {0};
        struct opener_request request;
        memset(name + start, 'a', size - start);
        assert_int_equal(opener_request_write_file(name, &packet), 0);
        int r = opener_request_parse(packet.data, packet.size, 0, &request);
        assert_int_equal(r < 0 ? r : opener_request_check(&request, &rules), size < PATH_MAX ? -EBADRQC : -EBADMSG);
    }
}

TEST(test_files)
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

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        const struct opener_request request = {.kind = OPENER_REQUEST_FILE, .path = requests[i].in};
        assert_int_equal(opener_request_check(&request, &rules), requests[i].out);
    }
}

TEST_MAIN(NULL, NULL)
