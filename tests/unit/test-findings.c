/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule is tested with a simulated hour in which it finds something, and with hours in which nothing is wrong. */
#include "collectors/findings.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "cgroups/names.h"
#include "tests/unit/test.h"

DEFINE_CLEANUP(struct history *, history_free);

#define SECOND NSEC_PER_SEC
#define START (55 * 365 * 86400 * SECOND)

enum { INTERVAL = 10, FRAMES = 360, N_CPUS = 8, CPU = 0, CGROUP = 2, N_EVENTS = 3 };

/* --- a simulated board: four little CPUs, four big ones, and services that run on the big ones --- */

static const char *const collectors[] = {"cpu", "pmu", "cgroup", "self", NULL};
static const char *const events[N_EVENTS] = {"cycles", "instructions", "stall_backend"};

/* What a target does in each second. */
struct pace {
    double used;  /* busy CPUs */
    double hertz; /* cycles per second of CPU time */
    double ipc, stalls;
    double share; /* share of the enabled time during which the group runs */
    bool starved;
};

struct target_row {
    struct row row;
    struct counter counters[N_EVENTS];
    struct names names;
    struct pace pace;
};

enum { SLICE = N_CPUS, DB, WEB, IDLE, N_TARGETS };

struct board {
    struct snapshot snapshot;
    struct row *rows[N_TARGETS];
    struct target_row targets[N_TARGETS];
    struct busy_time busy[N_CPUS];
    struct clock_limit limits[N_CPUS];
    uint64_t random;
};

/* Returns a random number between 1 - spread and 1 + spread. */
static double around(struct board *board, double spread)
{
    board->random = board->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return 1 + spread * ((double)(board->random >> 33) / (double)(UINT32_MAX / 4) - 1);
}

static void add_target(struct board *board, size_t i, const char *cgroup, const char *unit)
{
    struct target_row *target = &board->targets[i];
    bool big = cgroup || i >= N_CPUS / 2;
    unsigned collector = cgroup ? CGROUP : CPU;

    target->row = (struct row){.id = i,
                               .collector = collector,
                               .collector_name = collectors[collector],
                               .cpu = cgroup ? -1 : (int)i,
                               .group = "core",
                               .pmu = big ? "armv8_cortex_a76" : "armv8_cortex_a55",
                               .cgroup = cgroup,
                               .state = ROW_COUNTING,
                               .n_counters = N_EVENTS,
                               .counters = target->counters,
                               .names = cgroup ? &target->names : NULL};
    target->names.texts[NAME_UNIT] = (char *)unit;
    for (size_t k = 0; k < N_EVENTS; k++)
        target->counters[k] = (struct counter){.event = events[k], .pmu = target->row.pmu, .unit = "", .known = true};
    target->pace =
        (struct pace){.used = cgroup ? 0.5 : 0.3, .hertz = big ? 2.4e9 : 1.8e9, .ipc = 1, .stalls = 0.3, .share = 1};
    board->rows[i] = &target->row;
}

static void board_init(struct board *board)
{
    *board = (struct board){.random = 32};
    for (size_t i = 0; i < N_CPUS; i++) {
        uint64_t hz = i < N_CPUS / 2 ? 1800000000 : 2400000000;
        add_target(board, i, NULL, NULL);
        board->busy[i] = (struct busy_time){.cpu = (unsigned)i, .known = true};
        board->limits[i] = (struct clock_limit){true, hz, hz, 0};
    }
    add_target(board, SLICE, "/system.slice", NULL);
    add_target(board, DB, "/system.slice/db.service", "db.service");
    add_target(board, WEB, "/system.slice/web.service", "web.service");
    add_target(board, IDLE, "/system.slice/idle.service", "idle.service");
    board->targets[IDLE].pace.used = 0.01;
    board->snapshot = (struct snapshot){.rows = board->rows,
                                        .n_rows = N_TARGETS,
                                        .next_row_id = N_TARGETS,
                                        .collector_names = collectors,
                                        .monotonic_ns = 1000 * SECOND,
                                        .realtime_ns = START,
                                        .busy = {.items = board->busy, .n = N_CPUS},
                                        .clock_limits = {board->limits, N_CPUS, 0}};
}

static void run_target(struct board *board, struct target_row *target)
{
    const struct pace *pace = &target->pace;
    double busy = pace->used * around(board, 0.05) * INTERVAL, cycles = busy * pace->hertz;
    uint64_t ns = (uint64_t)(busy * (double)SECOND);
    struct row *row = &target->row;

    row->state = pace->starved ? ROW_STARVED : pace->share < 1 ? ROW_MULTIPLEXED : ROW_COUNTING;
    row->cause = pace->starved ? "other programs have all counters" : NULL;
    if (row->cpu >= 0)
        board->busy[row->cpu].total_ns += ns;
    row->enabled_ns += row->cpu >= 0 ? INTERVAL * SECOND : ns;
    if (pace->starved)
        return;
    row->running_ns += (uint64_t)((double)(row->cpu >= 0 ? INTERVAL * SECOND : ns) * pace->share);
    target->counters[0].value += (uint64_t)cycles;
    target->counters[1].value += (uint64_t)(cycles * pace->ipc * around(board, 0.05));
    target->counters[2].value += (uint64_t)(cycles * pace->stalls * around(board, 0.05));
}

static void run_interval(struct board *board)
{
    struct snapshot *snapshot = &board->snapshot;

    for (size_t i = 0; i < N_TARGETS; i++)
        run_target(board, &board->targets[i]);
    snapshot->clock_limits.causes &= ~(unsigned)CLOCK_LIMIT_SET;
    for (size_t i = 0; i < N_CPUS; i++) {
        struct clock_limit *limit = &board->limits[i];
        double lost = 1 - (double)limit->limit_hz / (double)limit->max_hz;
        limit->lost_ns += (uint64_t)(lost * INTERVAL * (double)SECOND);
        snapshot->clock_limits.causes |= lost > 0 ? CLOCK_LIMIT_SET : 0;
    }
    snapshot->monotonic_ns += INTERVAL * SECOND;
    snapshot->realtime_ns += INTERVAL * SECOND;
}

/* --- simulated hours --- */

static void limit_big(struct board *board, uint64_t hz, unsigned causes)
{
    for (size_t i = N_CPUS / 2; i < N_CPUS; i++) {
        board->limits[i].limit_hz = hz;
        board->targets[i].pace.hertz = (double)hz;
    }
    board->snapshot.clock_limits.causes = causes;
}

/* Each of these functions simulates something that happens during an hour, and is called before each frame `i`. */

static void be_quiet(struct board *board, size_t i)
{
    (void)board, (void)i;
}

static void be_hot(struct board *board, size_t i)
{
    if (i == 180)
        limit_big(board, 1200000000, CLOCK_COOLING);
}

static void be_hot_and_idle(struct board *board, size_t i)
{
    be_hot(board, i);
    for (size_t k = 0; k < N_CPUS; k++)
        board->targets[k].pace.used = 0.02;
}

static void be_hot_for_a_moment(struct board *board, size_t i)
{
    be_hot(board, i);
    if (i == 184)
        limit_big(board, 2400000000, 0);
}

static void have_been_hot(struct board *board, size_t i)
{
    be_hot(board, i);
    if (i == 240)
        limit_big(board, 2400000000, 0);
}

static void have_a_weak_supply(struct board *board, size_t i)
{
    if (i == 180)
        limit_big(board, 1200000000, CLOCK_UNDER_VOLTAGE);
}

static void be_limited_by_somebody(struct board *board, size_t i)
{
    if (i == 180)
        limit_big(board, 1200000000, 0);
}

static void slow_down(struct board *board, size_t i)
{
    if (i < 180)
        return;
    board->targets[DB].pace.ipc = board->targets[SLICE].pace.ipc = 0.4;
    board->targets[DB].pace.stalls = board->targets[SLICE].pace.stalls = 0.7;
}

static void slow_down_for_a_moment(struct board *board, size_t i)
{
    struct pace *pace = &board->targets[DB].pace;

    pace->ipc = i >= 180 && i < 184 ? 0.4 : 1;
}

static void have_been_slow(struct board *board, size_t i)
{
    struct pace *pace = &board->targets[DB].pace;

    pace->ipc = i >= 180 && i < 240 ? 0.4 : 1;
}

static void slow_down_unused(struct board *board, size_t i)
{
    board->targets[IDLE].pace.ipc = i >= 180 ? 0.4 : 1;
}

static void slow_down_at_once(struct board *board, size_t i)
{
    board->targets[DB].pace.ipc = i >= 30 ? 0.4 : 1; /* the drop is after 300 s; the rule needs 600 s before it */
}

static void be_uneven(struct board *board, size_t i)
{
    board->targets[DB].pace.ipc = i % 30 < 10 ? 0.4 : 1;
}

static void starve(struct board *board, size_t i)
{
    if (i >= 330)
        board->targets[4].pace.starved = board->targets[5].pace.starved = true;
}

static void starve_for_a_moment(struct board *board, size_t i)
{
    board->targets[4].pace.starved = i >= 357;
}

static void have_starved(struct board *board, size_t i)
{
    board->targets[4].pace.starved = i >= 300 && i < 330;
}

static void multiplex(struct board *board, size_t i)
{
    (void)i;
    for (size_t k = SLICE; k <= IDLE; k++)
        board->targets[k].pace.share = 0.4;
}

static void multiplex_a_little(struct board *board, size_t i)
{
    (void)i;
    for (size_t k = 0; k < N_TARGETS; k++)
        board->targets[k].pace.share = 0.8;
}

/* Times are frame numbers; NOW: the finding still holds at the end. */
#define NOW 0

static const struct hour {
    void (*sim)(struct board *board, size_t i);
    enum finding_rule rule;
    const char *title; /* NULL: there is no finding */
    const char *text;  /* a part of the text */
    size_t since, until;
    const char *cpus, *cgroup;
} hours[] = {
    {be_quiet, 0, NULL, NULL, 0, 0, NULL, NULL},
    {be_hot, FINDING_CLOCK_LIMITED, "CPUs 4-7 run at 1.20 of 2.40 GHz", "too hot", 180, NOW, "4-7", NULL},
    {have_been_hot, FINDING_CLOCK_LIMITED, "CPUs 4-7 ran at 1.20 of 2.40 GHz", "in 10 minutes", 180, 240, "4-7", NULL},
    {have_a_weak_supply, FINDING_CLOCK_LIMITED, "CPUs 4-7 run at 1.20 of 2.40 GHz", "voltage", 180, NOW, "4-7", NULL},
    {be_limited_by_somebody, FINDING_CLOCK_LIMITED, "CPUs 4-7 run at 1.20 of 2.40 GHz", "scaling_max_freq", 180, NOW,
     "4-7", NULL},
    {be_hot_and_idle, 0, NULL, NULL, 0, 0, NULL, NULL},
    {be_hot_for_a_moment, 0, NULL, NULL, 0, 0, NULL, NULL},
    {slow_down, FINDING_SERVICE_CHANGED, "db.service: IPC fell from 1.00 to 0.40",
     "lasted 30 minutes, during which the cgroup used 0.50 CPUs; backend stalls rose from 30 % to 70 %", 180, NOW, NULL,
     "/system.slice/db.service"},
    {have_been_slow, FINDING_SERVICE_CHANGED, "db.service: IPC fell from 1.00 to 0.40", "10 minutes", 180, 240, NULL,
     "/system.slice/db.service"},
    {slow_down_for_a_moment, 0, NULL, NULL, 0, 0, NULL, NULL},
    {slow_down_unused, 0, NULL, NULL, 0, 0, NULL, NULL},
    {slow_down_at_once, 0, NULL, NULL, 0, 0, NULL, NULL},
    {be_uneven, 0, NULL, NULL, 0, 0, NULL, NULL},
    {starve, FINDING_STARVED, "The group core of armv8_cortex_a76 is starved on 2 CPUs",
     "for 5 minutes: other programs have all counters.", 330, NOW, NULL, NULL},
    {starve_for_a_moment, 0, NULL, NULL, 0, 0, NULL, NULL},
    {have_starved, 0, NULL, NULL, 0, 0, NULL, NULL},
    {multiplex, FINDING_MULTIPLEXED, "The group core of armv8_cortex_a76 is counted for only 40 % of its time",
     "estimates", 0, NOW, NULL, NULL},
    {multiplex_a_little, 0, NULL, NULL, 0, 0, NULL, NULL},
};

/* Simulates an hour and records it in `history`. */
static void sim(const struct hour *hour, struct board *board, struct history *history)
{
    board_init(board);
    assert_int_equal(history_record(history, &board->snapshot), 0);
    for (size_t i = 0; i < FRAMES; i++) {
        hour->sim(board, i);
        run_interval(board);
        assert_int_equal(history_record(history, &board->snapshot), 0);
    }
}

static void expect_time(uint64_t ns, size_t frame)
{
    uint64_t expected = START + frame * INTERVAL * SECOND;

    if (frame == NOW)
        assert_int_equal(ns, 0);
    else /* times are rounded to steps of two frames */
        assert_true(ns >= expected - 2 * INTERVAL * SECOND && ns <= expected + 2 * INTERVAL * SECOND);
}

static void expect_text(const char *text, const char *expected)
{
    assert_true(!text == !expected);
    if (expected)
        assert_string_equal(text, expected);
}

static void expect(const struct findings *findings, const struct hour *hour)
{
    if (findings->n > 0 && !hour->title)
        fail_msg("found \"%s\"", findings->items[0].title);
    assert_int_equal(findings->n, hour->title ? 1 : 0);
    if (!hour->title)
        return;
    const struct finding *finding = &findings->items[0];
    assert_int_equal(finding->rule, hour->rule);
    assert_string_equal(finding->title, hour->title);
    if (!strstr(finding->text, hour->text))
        fail_msg("\"%s\" lacks \"%s\"", finding->text, hour->text);
    expect_text(finding->cpus, hour->cpus);
    expect_text(finding->cgroup, hour->cgroup);
    expect_time(finding->since_ns, hour->since);
    expect_time(finding->until_ns, hour->until);
}

TEST(test_hours)
{
    static const size_t size = 2 << 20;
    _cleanup_(freep) char *block = aligned_alloc(8, size);
    const struct history_settings settings = {INTERVAL * SECOND, 3600 * SECOND};
    const struct failures none = {0};

    for (size_t i = 0; i < ARRAY_SIZE(hours); i++) {
        _cleanup_(history_freep) struct history *history = NULL;
        _cleanup_(findings_done) struct findings findings = {0};
        struct board board;
        memset(block, 0, size);
        assert_int_equal(history_new(block, size, &settings, &history), 0);
        sim(&hours[i], &board, history);
        const struct histories histories = {.coarse = history, .interval_ns = settings.interval_ns};
        const struct findings_sources sources = {
            .histories = &histories, .snapshot = &board.snapshot, .failures = &none};
        print_message("hour %zu\n", i);
        assert_int_equal(findings_make(&sources, &findings), 0);
        expect(&findings, &hours[i]);
    }
}

/* The evidence is the URL of a request that selects only this cgroup. */
TEST(test_evidence)
{
    static const size_t size = 2 << 20;
    _cleanup_(freep) char *block = calloc(1, size);
    const struct history_settings settings = {INTERVAL * SECOND, 3600 * SECOND};
    _cleanup_(history_freep) struct history *history = NULL;
    _cleanup_(findings_done) struct findings findings = {0};
    const struct failures none = {0};
    struct board board;

    assert_int_equal(history_new(block, size, &settings, &history), 0);
    board_init(&board);
    board.targets[DB].row.cgroup = "/system.slice/a*b&c\\d";
    board.targets[DB].names.texts[NAME_UNIT] = (char *)"\x1b[31m\xff.service";
    assert_int_equal(history_record(history, &board.snapshot), 0);
    for (size_t i = 0; i < FRAMES; i++) {
        slow_down(&board, i);
        run_interval(&board);
        assert_int_equal(history_record(history, &board.snapshot), 0);
    }
    const struct histories histories = {.coarse = history, .interval_ns = settings.interval_ns};
    const struct findings_sources sources = {.histories = &histories, .snapshot = &board.snapshot, .failures = &none};
    assert_int_equal(findings_make(&sources, &findings), 0);
    assert_int_equal(findings.n, 1);
    assert_string_equal(findings.items[0].evidence,
                        "/api/v1/history?totals=cgroup&cgroup=/system.slice/a%5C%2Ab%26c%5C%5Cd"
                        "&step=20&derived=ipc,backend_stall_ratio");
    assert_string_equal(findings.items[0].title,
                        UTF8_REPLACEMENT "[31m" UTF8_REPLACEMENT ".service: IPC fell from 1.00 to 0.40");
}

/* --- without a history --- */

static struct failure failure_of(const char *event, const char *reason, const char *message)
{
    return (struct failure){.collector = CGROUP,
                            .group = "core",
                            .event = event,
                            .metric = event,
                            .pmu = "",
                            .reason = reason,
                            .message = message};
}

TEST(test_missing_and_failed)
{
    struct board board;
    _cleanup_(findings_done) struct findings findings = {0};
    const char *const troubles[] = {"the opener is gone"};
    struct failure items[] = {
        failure_of("bus-cycles", "ENOENT", "no such event on this PMU (ENOENT)"),
        failure_of("cycles", REASON_LABEL_NO_PMU, REASON_NO_PMU),
        failure_of("", FAILURE_OF_COLLECTOR, "no cgroup file system is mounted"),
        failure_of("", "cgroups", "no cgroup matches"),
        failure_of("ref-cycles", "ENOENT", "no such event on this PMU (ENOENT)"),
    };
    const struct failures failures = {.items = items, .n = ARRAY_SIZE(items)};
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    const struct findings_sources sources = {
        .snapshot = &board.snapshot, .failures = &failures, .troubles = troubles, .n_troubles = 1};

    board_init(&board);
    assert_int_equal(cpuset_add(&cpus, 9), 0);
    items[3].cpus = cpus;
    assert_int_equal(findings_make(&sources, &findings), 0);
    assert_int_equal(findings.n, 4);
    assert_string_equal(findings.items[0].title, "The cgroup collector fails");
    assert_string_equal(findings.items[0].text, "no cgroup file system is mounted");
    assert_string_equal(findings.items[1].text, "the opener is gone");
    assert_string_equal(findings.items[2].title, "The cgroup collector is incomplete");
    assert_string_equal(findings.items[2].text, "cpu 9: no cgroup matches");
    assert_string_equal(findings.items[3].title, "2 events are not counted");
    assert_string_equal(findings.items[3].text, "bus-cycles: no such event on this PMU (ENOENT)");
    for (size_t i = 0; i < findings.n; i++) {
        assert_int_equal(findings.items[i].rule, i < 2 ? FINDING_FAILED : FINDING_MISSING);
        assert_string_equal(findings.items[i].evidence, "/api/v1/status");
    }
}

/* --- level changes --- */

TEST(test_change)
{
    static const struct {
        const char *values; /* one digit per value; '-': unknown */
        bool found;
        size_t begin, end;
        double before, after;
    } cases[] = {
        {"", false, 0, 0, 0, 0},
        {"5555555555", false, 0, 0, 0, 0},
        {"5555551111", true, 6, 10, 5, 1},
        {"5555559999", true, 6, 10, 5, 9},
        {"55555511", false, 0, 0, 0, 0},          /* the new level is too short */
        {"5555511555", false, 0, 0, 0, 0},        /* the new level is too short, and has ended */
        {"5555111", false, 0, 0, 0, 0},           /* the old level is too short */
        {"55555515151515", false, 0, 0, 0, 0},    /* the values return to the old level in between */
        {"5555551-1-1-", true, 6, 11, 5, 1},      /* unknown values do not end a level */
        {"-5-5-5-5-5-1-1-1", true, 11, 16, 5, 1}, /* unknown values do not make a level longer */
        {"5-5-5-5-1-1-1", false, 0, 0, 0, 0},     /* unknown values do not make the old level longer either */
        {"1951951951111", false, 0, 0, 0, 0},     /* the new values are within the spread of the old level */
        {"5555551115555", true, 6, 9, 5, 1},
        {"55555511155559995", true, 13, 16, 5, 9}, /* the last of two changes is found */
        {"555555444", false, 0, 0, 0, 0},          /* a change of less than a quarter */
        {"5555551919199", false, 0, 0, 0, 0},      /* alternating values are not a level */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        double values[32], room[64];
        struct change change = {0};
        size_t n = strlen(cases[i].values);
        for (size_t k = 0; k < n; k++)
            values[k] = cases[i].values[k] == '-' ? NAN : cases[i].values[k] - '0';
        bool found = change_find(values, n, 3, 5, 1, room, &change);
        if (found != cases[i].found || change.begin != cases[i].begin || change.end != cases[i].end)
            fail_msg("%s: %d, %zu to %zu", cases[i].values, found, change.begin, change.end);
        assert_true(change.before == cases[i].before && change.after == cases[i].after);
    }
}

TEST_MAIN(NULL, NULL)
