/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of `perfcountd stat` without a terminal: machine-wide counts and the cgroup table, both from readings and
 * from a daemon's documents.
 */
#include <math.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "cgroups/names.h"
#include "cmd/past.h"
#include "cmd/stat-tables.h"
#include "tests/unit/readings.h"
#include "tests/unit/test.h"

/* Prints the cgroup table in the order of `rows`. If `rows` is NULL, prints the counts with their failures instead. */
static void expect_totals(const struct totals *totals, const struct failures *failures, const struct order *rows,
                          const char *expected)
{
    _cleanup_(fclosep) FILE *file = tmpfile();
    char text[8192] = "";

    assert_non_null(file);
    if (rows)
        assert_int_equal(stat_cgroups_print(totals, rows, file), 0);
    else
        assert_int_equal(stat_counts_print(totals, failures, file), 0);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_string_equal(text, expected);
}

static void expect(const struct readings *readings, enum totals_order order, const struct failures *failures,
                   const struct order *rows, const char *expected)
{
    _cleanup_(totals_done) struct totals totals = {0};

    assert_int_equal(totals_make(readings->baseline, &readings->snapshot, order, NULL, NULL, &totals), 0);
    expect_totals(&totals, failures, rows, expected);
}

static void expect_cgroups(const struct readings *readings, const struct order *rows, const char *expected)
{
    expect(readings, TOTALS_BY_CGROUP, NULL, rows, expected);
}

/* Makes readings of a board with two kinds of core and a PMU that counts memory traffic. */
static void make_board(struct readings *readings)
{
    struct row *rows[8];

    readings_init(readings);
    for (int cpu = 0; cpu < 4; cpu++)
        rows[cpu] = readings_add(readings, cpu < 2 ? "armv8_cortex_a55" : "armv8_cortex_a76", "overview", NULL, cpu,
                                 "cycles,instructions");
    rows[4] = readings_add(readings, "armv8_cortex_a76", "branch", NULL, 2, "branches,branch_misses,instructions");
    rows[5] = readings_add(readings, "software", "software", NULL, 0, "context_switches,task_clock:seconds");
    rows[6] = readings_add(readings, "rockchip_ddr", "memory", NULL, 0, "read_bytes:bytes,write_bytes:bytes");
    rows[7] = readings_add(readings, "power", "energy", NULL, 0, "energy_pkg:joules");
    readings_begin(readings);
    readings_count(rows[0], 1e9, 5e8, 2);
    readings_count(rows[1], 1e9, 3e8, 2);
    readings_count(rows[2], 2e9, 5e9, 2);
    readings_count(rows[3], 2234567890, 1e9, 0.8572);
    rows[4]->counters[2].value = 500000;
    readings_count(rows[4], 100000, 2000, 2);
    readings_count(rows[5], 2470, 4.01642, 2);
    readings_count(rows[6], 3e9, 1e9, 2);
    readings_count(rows[7], 25.5, 0, 2);
}

TEST(test_board)
{
    _cleanup_(readings_done) struct readings readings;
    const struct failures none = {0};

    make_board(&readings);
    expect(&readings, TOTALS_BY_PMU, &none, NULL,
           "\n"
           "CPU 0-1, PMU armv8_cortex_a55, group overview:\n"
           "  2,000,000,000          cycles            # 1.000 G/sec\n"
           "    800,000,000          instructions      # ipc 0.400\n"
           "\n"
           "CPU 2-3, PMU armv8_cortex_a76, group overview:\n"
           "  4,234,567,890          cycles            # 2.117 G/sec                            (71.43%)\n"
           "  6,000,000,000          instructions      # ipc 1.417                              (71.43%)\n"
           "\n"
           "CPU 2, PMU armv8_cortex_a76, group branch:\n"
           "        100,000          branches          # 50.00 k/sec\n"
           "          2,000          branch_misses     # branch_miss_ratio 0.020\n"
           "                                           # branch_mpki 4.000\n"
           "        500,000          instructions      # 250.0 k/sec\n"
           "\n"
           "CPU 0, PMU software, group software:\n"
           "          2,470          context_switches  # 1.235 k/sec\n"
           "       4,016.42  msec    task_clock\n"
           "\n"
           "PMU rockchip_ddr, group memory:\n"
           "  3,000,000,000  bytes   read_bytes        # memory_read_bytes_per_second 1.500 G\n"
           "  1,000,000,000  bytes   write_bytes       # memory_write_bytes_per_second 500.0 M\n"
           "                                           # memory_bytes_per_second 2.000 G\n"
           "\n"
           "PMU power, group energy:\n"
           "          25.50  joules  energy_pkg        # package_watts 12.8\n");
}

/* Each CPU has its own lines. One CPU was not counted; the values of the other one are complete. */
TEST(test_per_cpu)
{
    _cleanup_(readings_done) struct readings readings;
    const struct failures none = {0};
    struct row *rows[2];

    readings_init(&readings);
    for (int cpu = 0; cpu < 2; cpu++)
        rows[cpu] = readings_add(&readings, "cpu", "core", NULL, cpu, "cycles,instructions");
    readings_begin(&readings);
    readings_count(rows[0], 1000, 500, 2);
    readings_count(rows[1], 0, 0, 0);
    expect(&readings, TOTALS_BY_CPU, &none, NULL,
           "\n"
           "CPU 0-1, PMU cpu, group core:\n"
           "CPU0            1,000  cycles        # 500 /sec\n"
           "CPU0              500  instructions  # ipc 0.500\n"
           "CPU1    <not counted>  cycles\n"
           "CPU1    <not counted>  instructions\n");
    expect(&readings, TOTALS_BY_PMU, &none, NULL,
           "\n"
           "CPU 0-1, PMU cpu, group core:\n"
           "          1,000  cycles        # 500 /sec   (1 of 2 CPUs)\n"
           "            500  instructions  # ipc 0.500  (1 of 2 CPUs)\n");
}

/* The PMU lacks one event, and this process has no permission to count the other. */
TEST(test_refused)
{
    _cleanup_(readings_done) struct readings readings;
    struct failure items[] = {
        {.group = "core", .metric = "branches", .pmu = "cpu", .reason = "ENOENT"},
        {.group = "core", .metric = "cycles_kernel", .pmu = "cpu", .reason = "EACCES"},
    };
    const struct failures failures = {.items = items, .n = ARRAY_SIZE(items)};

    readings_init(&readings);
    readings_refuse(&readings, "cpu", "core", 0, "branches");
    readings_refuse(&readings, "cpu", "core", 0, "cycles_kernel");
    readings_begin(&readings);
    expect(&readings, TOTALS_BY_PMU, &failures, NULL,
           "\n"
           "CPU 0, PMU cpu, group core:\n"
           "<not supported>  branches\n"
           "  <not counted>  cycles_kernel\n");
}

/* Adds three cgroups on two kinds of core. The last cgroup is idle, and its name contains control characters. */
static void add_cgroups(struct readings *readings)
{
    static const char *const paths[] = {"/a.slice", "/b.slice", "/c\033[31m\n\xff.slice"};
    struct row *rows[3][3];

    for (size_t i = 0; i < 3; i++) {
        rows[i][0] =
            readings_add(readings, "armv8_cortex_a55", "core", paths[i], -1, "task_clock:seconds,cycles,instructions");
        rows[i][1] =
            readings_add(readings, "armv8_cortex_a76", "core", paths[i], -1, "task_clock:seconds,cycles,instructions");
        rows[i][2] = readings_add(readings, "software", "software", paths[i], -1, "context_switches,minor_faults");
    }
    readings_begin(readings);
    for (size_t i = 0; i < 2; i++) {
        rows[i][0]->counters[2].value = 1000000000 * (i + 1);
        readings_count(rows[i][0], 1, 1e9, 2);
        rows[i][1]->counters[2].value = 3000000000 * (i + 1);
        readings_count(rows[i][1], 1, 3e9, 2);
        readings_count(rows[i][2], 100, 3000 / ((double)i + 1), 2);
    }
    for (size_t k = 0; k < 3; k++)
        readings_count(rows[2][k], 0, 0, 2);
}

#define TITLES                                                                                                         \
    "       frequency_         cpu_    context_    minor_\n"                                                           \
    "  ipc       hertz  utilization  switches/s  faults/s  cgroup\n"
#define ROW_A "1.000     2.000 G        1.000          50   1.500 k  /a.slice\n"
#define ROW_B "2.000     2.000 G        1.000          50       750  /b.slice\n"
#define ROW_C "    -           -        0.000           0         0  /c\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd.slice\n"

/* Unknown values are sorted last. An event that is the sort key gets a column, even if a metric is derived from it. */
TEST(test_cgroups)
{
    _cleanup_(readings_done) struct readings readings;

    readings_init(&readings);
    add_cgroups(&readings);
    expect_cgroups(&readings, &(struct order){0}, TITLES ROW_A ROW_B ROW_C);
    expect_cgroups(&readings, &(struct order){.sort = "ipc", .limit = 1}, TITLES ROW_B);
    expect_cgroups(&readings, &(struct order){.sort = "ipc", .ascending = true, .given = true},
                   TITLES ROW_A ROW_B ROW_C);
    expect_cgroups(&readings, &(struct order){.sort = "instructions", .limit = 2},
                   "       frequency_         cpu_                    context_    minor_\n"
                   "  ipc       hertz  utilization  instructions/s  switches/s  faults/s  cgroup\n"
                   "2.000     2.000 G        1.000         4.000 G          50       750  /b.slice\n"
                   "1.000     2.000 G        1.000         2.000 G          50   1.500 k  /a.slice\n");
}

/* If a cgroup has a name, a column before the path shows it. */
TEST(test_names)
{
    static char shop[] = "shop", hostile[] = "d\033[2Jb";
    static const struct names names = {.texts = {[NAME_COMPOSE_PROJECT] = shop, [NAME_COMPOSE_SERVICE] = hostile}};
    static const struct names unknown = {0};
    _cleanup_(readings_done) struct readings readings;

    readings_init(&readings);
    add_cgroups(&readings);
    for (size_t i = 0; i < readings.snapshot.n_rows; i++)
        readings.snapshot.rows[i]->names = i < 3 ? &names : &unknown;
    expect_cgroups(&readings, &(struct order){.sort = "ipc", .limit = 2},
                   "       frequency_         cpu_    context_    minor_\n"
                   "  ipc       hertz  utilization  switches/s  faults/s  name         cgroup\n"
                   "2.000     2.000 G        1.000          50       750               /b.slice\n"
                   "1.000     2.000 G        1.000          50   1.500 k  shop/d\xef\xbf\xbd[2Jb  /a.slice\n");
}

/* --- documents from a daemon --- */

/* A document as sent by /api/v1/history, but with single quotes. */
#define DOCUMENT(rows)                                                                                                 \
    "{'interval': 600.0, 'times': [1795861804.8], 'seconds': [480.0], 'left_out': [3], 'rows': [" rows                 \
    "], 'others': [], 'totals': []}"
#define ROW(collector, pmu, labels, times, events)                                                                     \
    "{'collector': '" collector "', 'pmu': '" pmu "', " labels ", " times                                              \
    ", 'units': {'task_clock': 'seconds', 'read_bytes': 'bytes'}, 'events': {" events "}}"
#define CPU(n, times, events) ROW("cpu", "armv8_cortex_a76", "'cpu': " #n ", 'group': 'core'", times, events)
#define CGROUP(path, times, events)                                                                                    \
    ROW("cgroup", "software", "'cgroup': '" path "', 'group': 'software'", times, events)
#define COUNTING "'state': ['counting'], 'enabled': [480.0], 'running': [480.0]"
#define HALF "'state': ['multiplexed'], 'enabled': [480.0], 'running': [240.0], 'busy': [100.0]"
#define STEPS_RUNNING "'running': [100, null, null, 200]"
#define UNKNOWN "'state': ['unknown'], 'enabled': [null], 'running': [null]"

static const char *const saved[] = {
    CPU(0, HALF, "'cycles': [96000000000], 'instructions': [192000000000]"),
    CPU(1, COUNTING, "'cycles': [96000000000], 'instructions': [192000000000]"),
    CPU(2, UNKNOWN, "'cycles': [null], 'instructions': [null]"),
    ROW("cpu", "software", "'cpu': 0, 'group': 'software'", COUNTING,
        "'page_faults': [123456], 'task_clock': [480.25], 'minor_faults': [null]"),
    ROW("pmu", "rockchip_ddr", "'cpu': 0, 'group': 'memory'", HALF, "'read_bytes': [48e9]"),
    CGROUP("/a.slice", COUNTING, "'task_clock': [48.0], 'page_faults': [4800]"),
    CGROUP("/b.slice", COUNTING, "'task_clock': [96.0], 'page_faults': [null]"),
    CGROUP("/c.slice", UNKNOWN, "'task_clock': [null], 'page_faults': [null]"),
};

static const char cgroups[] = "{'cgroups': [{'cgroup': '/b.slice', 'container': 'db', 'unit': 7}, {}, 1]}";

static json_t *document_of(const char *text)
{
    _cleanup_(freep) char *copy = strdup(text);

    assert_non_null(copy);
    for (char *quote = copy; (quote = strchr(quote, '\'')); quote++)
        *quote = '"';
    json_t *document = json_loads(copy, 0, NULL);
    assert_non_null(document);
    return document;
}

static json_t *saved_document(void)
{
    _cleanup_(buffer_done) struct buffer rows = {0};
    char text[4096];

    for (size_t i = 0; i < ARRAY_SIZE(saved); i++)
        buffer_appendf(&rows, "%s%s", i ? ", " : "", saved[i]);
    buffer_append_char(&rows, '\0');
    assert_false(rows.failed);
    assert_true(snprintf(text, sizeof(text), DOCUMENT("%s"), rows.data) < (int)sizeof(text));
    return document_of(text);
}

static void expect_past(const struct past *past, enum totals_order order,
                        bool (*passes)(const void *userdata, const struct row *row), const struct order *rows,
                        const char *expected)
{
    static const struct failures none = {0};
    _cleanup_(totals_done) struct totals totals = {0};

    assert_int_equal(past_totals(past, order, passes, NULL, &totals), 0);
    expect_totals(&totals, &none, rows, expected);
}

static bool is_of_machine(const void *userdata, const struct row *row)
{
    (void)userdata;
    return !row->cgroup;
}

static bool is_of_cgroup(const void *userdata, const struct row *row)
{
    return !is_of_machine(userdata, row);
}

/* Recorded history is printed like readings. Unknown values are not printed as 0. */
TEST(test_past)
{
    _cleanup_(past_done) struct past past = {0};
    json_t *history = saved_document(), *names = document_of(cgroups);

    assert_int_equal(past_parse(history, names, &past, NULL), 0);
    json_decref(history);
    json_decref(names);
    assert_true(past.seconds == 480 && past.left_out == 3);
    expect_past(&past, TOTALS_BY_PMU, is_of_machine, NULL,
                "\n"
                "CPU 0-2, PMU armv8_cortex_a76, group core:\n"
                "192,000,000,000         cycles        # 400.0 M/sec                           (2 of 3 CPUs)\n"
                "384,000,000,000         instructions  # ipc 2.000                             (2 of 3 CPUs)\n"
                "\n"
                "CPU 0, PMU software, group software:\n"
                "        123,456         page_faults   # 257.2 /sec\n"
                "     480,250.00  msec   task_clock\n"
                "  <not counted>         minor_faults\n"
                "\n"
                "PMU rockchip_ddr, group memory:\n"
                " 48,000,000,000  bytes  read_bytes    # memory_read_bytes_per_second 100.0 M  (50.00%)\n");
    expect_past(&past, TOTALS_BY_CGROUP, is_of_cgroup, &(struct order){.sort = "cpu_utilization"},
                "       cpu_     page_\n"
                "utilization  faults/s  name  cgroup\n"
                "      0.200         -  db    /b.slice\n"
                "      0.100        10        /a.slice\n"
                "          -         -        /c.slice\n");
}

/* One row was starved in the second step, and one cgroup exists only in the last step. A gap is not counted as time. */
TEST(test_past_steps)
{
    _cleanup_(past_done) struct past past = {0};
    json_t *history = document_of("{'seconds': [100.0, 100.0, 0, 200.0], 'left_out': [0, 3, 0, 1], 'rows': [" CPU(
        0, "'state': ['counting', 'unknown', null, 'counting'], 'enabled': [100, null, null, 200]," STEPS_RUNNING,
        "'cycles': [1e9, null, null, 5e9], 'instructions': [2e9, null, null, 4e9]") ", " CGROUP("/late.slice",
                                                                                                "'state': [null, null, "
                                                                                                "null, 'counting'], "
                                                                                                "'enabled': [null, "
                                                                                                "null, null, 200],"
                                                                                                "'running': [null, "
                                                                                                "null, null, 200]",
                                                                                                "'task_clock': [null, "
                                                                                                "null, null, 40]") "]"
                                                                                                                   "}");

    assert_int_equal(past_parse(history, NULL, &past, NULL), 0);
    json_decref(history);
    assert_true(past.seconds == 400 && past.left_out == 3);
    expect_past(&past, TOTALS_BY_PMU, is_of_machine, NULL,
                "\nCPU 0, PMU armv8_cortex_a76, group core:\n"
                "  8,000,000,000  cycles        # 20.00 M/sec  (75.00%)\n"
                "  8,000,000,000  instructions  # ipc 1.000    (75.00%)\n");
    expect_past(&past, TOTALS_BY_CGROUP, is_of_cgroup, &(struct order){.sort = "cpu_utilization"},
                "       cpu_\n"
                "utilization  cgroup\n"
                "      0.100  /late.slice\n");
}

static const struct {
    const char *in;
    int out;
    size_t out_rows;
} documents[] = {
    {"{}", -EBADMSG, 0},
    {"{'rows': {}}", -EBADMSG, 0},
    {"{'rows': []}", -EBADMSG, 0},
    {"{'rows': [], 'seconds': [1.0, 2.0]}", 0, 0},
    {"{'rows': [], 'seconds': []}", 0, 0},
    {"{'rows': [" CPU(0, COUNTING, "'cycles': [1]") "], 'seconds': [0.0]}", 0, 0},
    {"{'rows': [" CPU(0, COUNTING, "'cycles': [1]") "], 'seconds': ['1']}", 0, 0},
    {DOCUMENT("1, null, {}, [], " CPU(0, COUNTING, "")), 0, 0},
    {DOCUMENT("{'collector': 'cpu', 'events': 1}"), 0, 0},
    {DOCUMENT(ROW("self", "", "'cpu': 0", COUNTING, "'cycles': [1]")), 0, 0},
    {DOCUMENT(CPU(99999999999, "'slots': -1", "'cycles': 1")), 0, 1},
    {DOCUMENT(CPU(0, COUNTING, "'cycles': [-1]")), 0, 1},
    {DOCUMENT("{'collector': 'cpu', 'pmu': 1, 'group': {}, 'cpu': -7, 'units': 1, 'events': {'': ['x']}}"), 0, 1},
};

/* A document from an untrusted source: invalid parts are omitted or unknown. */
TEST(test_past_hostile)
{
    for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
        _cleanup_(totals_done) struct totals totals = {0};
        _cleanup_(past_done) struct past past = {0};
        json_t *history = document_of(documents[i].in);
        assert_int_equal(past_parse(history, history, &past, NULL), documents[i].out);
        json_decref(history);
        assert_int_equal(past.snapshot.n_rows, documents[i].out_rows);
        assert_int_equal(past_totals(&past, TOTALS_BY_PMU, NULL, NULL, &totals), 0);
        for (size_t k = 0; k < totals.n; k++)
            assert_true(isnan(total_growth(&totals, &totals.items[k], 0)));
    }
}

TEST_MAIN(NULL, NULL)
