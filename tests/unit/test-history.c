/* SPDX-License-Identifier: Apache-2.0 */
/* Counter growth as the history stores it, compared with a simulated machine that knows the true values. */
#include "collectors/history.h"

#include <malloc.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/number.h"
#include "tests/unit/test.h"

DEFINE_CLEANUP(struct history *, history_free);

#define SECOND NSEC_PER_SEC
#define HOUR (3600 * NSEC_PER_SEC)
#define YEAR (365 * 24 * HOUR)
#define START (55 * YEAR)

/* --- a simulated machine --- */

enum { EVENTS_MAX = 7, SLOTS_MAX = 192, CPU = 0, UNCORE = 1, CGROUP = 2 };

static const char *const collectors[] = {"cpu", "pmu", "cgroup", NULL};

/* A row of the simulated machine: its state at the last reading, and what it has counted since then. */
struct slot {
    struct row row;
    struct counter counters[EVENTS_MAX];
    bool exists;
    /* State at the last reading. */
    bool existed, was_absent, was_unknown, was_known[EVENTS_MAX];
    /* Growth since the last reading. */
    uint64_t grown[EVENTS_MAX], enabled_ns, running_ns;
    bool started_before; /* a new row whose totals include counts from before it existed */
};

struct simulated {
    struct snapshot snapshot;
    struct row *rows[SLOTS_MAX];
    struct slot slots[SLOTS_MAX];
    size_t n_slots;
    uint64_t random, pauses_then, last_ns;
};

static uint64_t draw(struct simulated *machine, uint64_t below)
{
    machine->random = machine->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (machine->random >> 33) % below;
}

/* Returns true in one of `n` cases. */
static bool once_in(struct simulated *machine, uint64_t n)
{
    return draw(machine, n) == 0;
}

static void machine_init(struct simulated *machine)
{
    *machine = (struct simulated){.random = 32};
    machine->snapshot.collector_names = collectors;
    machine->snapshot.rows = machine->rows;
    machine->snapshot.monotonic_ns = HOUR;
    machine->snapshot.realtime_ns = START;
}

static struct slot *add_slot(struct simulated *machine, unsigned collector, const char *group, const char *cgroup,
                             int cpu, size_t n, const char *const *events)
{
    struct slot *slot = &machine->slots[machine->n_slots++];

    assert_in_range(machine->n_slots, 1, SLOTS_MAX);
    slot->row = (struct row){.collector = collector,
                             .collector_name = collectors[collector],
                             .group = group,
                             .pmu = collector == UNCORE ? "power" : "cpu",
                             .cgroup = cgroup,
                             .cpu = cpu,
                             .n_counters = n,
                             .counters = slot->counters};
    for (size_t i = 0; i < n; i++)
        slot->counters[i] = (struct counter){.event = events[i],
                                             .pmu = "cpu",
                                             .unit = collector == UNCORE ? "joules" : "",
                                             .decimals = collector == UNCORE ? SERIES_REAL : 0};
    return slot;
}

static void make_row(struct simulated *machine, struct slot *slot)
{
    slot->exists = true;
    slot->row.id = machine->snapshot.next_row_id++;
    slot->row.state = ROW_COUNTING;
    slot->row.absent = slot->row.removed = slot->existed = false;
    slot->row.enabled_ns = slot->row.running_ns = slot->enabled_ns = slot->running_ns = 0;
    for (size_t i = 0; i < slot->row.n_counters; i++) {
        slot->counters[i].value = slot->grown[i] = 0;
        slot->counters[i].known = true;
    }
}

static int compare_rows(const void *a, const void *b)
{
    uint64_t x = (*(struct row *const *)a)->id, y = (*(struct row *const *)b)->id;

    return (x > y) - (x < y);
}

/* Lists the rows. At random, a removed row stays in the list, as if its removal were delayed. */
static void list_rows(struct simulated *machine)
{
    struct snapshot *snapshot = &machine->snapshot;

    snapshot->n_rows = 0;
    for (size_t i = 0; i < machine->n_slots; i++)
        if (machine->slots[i].exists || machine->slots[i].row.removed)
            snapshot->rows[snapshot->n_rows++] = &machine->slots[i].row;
    qsort(snapshot->rows, snapshot->n_rows, sizeof(snapshot->rows[0]), compare_rows);
}

static void add_real(uint64_t *to, double more)
{
    double value;

    memcpy(&value, to, sizeof(value));
    value += more;
    memcpy(to, &value, sizeof(value));
}

static void count(struct simulated *machine, struct slot *slot, uint64_t enabled_ns, uint64_t running_ns)
{
    for (size_t i = 0; i < slot->row.n_counters; i++) {
        uint64_t more = draw(machine, UINT64_C(1) << draw(machine, 31)) << draw(machine, 12);
        if (slot->counters[i].decimals == SERIES_REAL) {
            double joules = (double)(more % 4096) / 4;
            add_real(&slot->counters[i].value, joules);
            add_real(&slot->grown[i], joules);
        } else {
            slot->counters[i].value += more;
            slot->grown[i] += more;
        }
    }
    slot->row.enabled_ns += enabled_ns;
    slot->row.running_ns += running_ns;
    slot->enabled_ns += enabled_ns;
    slot->running_ns += running_ns;
}

static bool is_unknown_now(const struct simulated *machine, const struct slot *slot)
{
    return slot->row.state == ROW_STARVED || (machine->snapshot.metrics.failed >> slot->row.collector & 1);
}

/* --- expected frames --- */

enum { FRAMES_KEPT = 4096 };

struct truth {
    bool in_frame, known, uneven;
    uint64_t enabled_ns, running_ns;
    struct growth_event values[EVENTS_MAX];
};

struct true_frame {
    uint64_t end_ns, duration_ns;
    bool gap_before;
    struct truth rows[SLOTS_MAX];
};

struct log {
    struct true_frame *frames; /* indexed by number % FRAMES_KEPT */
    size_t n;
};

static struct truth truth_of(const struct simulated *machine, const struct slot *slot)
{
    bool paused = machine->snapshot.pauses != machine->pauses_then || machine->snapshot.pauses % 2;
    struct truth truth = {.uneven = slot->row.uneven};

    truth.in_frame = slot->exists && !slot->row.absent && !(slot->existed && slot->was_absent);
    truth.known = truth.in_frame && !paused && !is_unknown_now(machine, slot) &&
                  (slot->existed ? !slot->was_unknown : slot->row.cgroup && !slot->started_before);
    if (!truth.known)
        return truth;
    truth.enabled_ns = slot->enabled_ns;
    truth.running_ns = slot->running_ns;
    for (size_t i = 0; i < slot->row.n_counters; i++)
        if (slot->counters[i].known && (!slot->existed || slot->was_known[i]))
            truth.values[i] = (struct growth_event){slot->grown[i], true};
    return truth;
}

/* Logs the frame that the next reading should produce. */
static void log_frame(struct log *log, const struct simulated *machine, bool gap_before)
{
    struct true_frame *frame = &log->frames[log->n++ % FRAMES_KEPT];

    frame->end_ns = machine->snapshot.realtime_ns;
    frame->duration_ns = machine->snapshot.monotonic_ns - machine->last_ns;
    frame->gap_before = gap_before;
    for (size_t i = 0; i < machine->n_slots; i++)
        frame->rows[i] = truth_of(machine, &machine->slots[i]);
}

static void begin_interval(struct simulated *machine)
{
    machine->pauses_then = machine->snapshot.pauses;
    machine->last_ns = machine->snapshot.monotonic_ns;
    for (size_t i = 0; i < machine->n_slots; i++) {
        struct slot *slot = &machine->slots[i];
        slot->existed = slot->exists;
        slot->was_absent = slot->row.absent;
        slot->was_unknown = is_unknown_now(machine, slot);
        slot->enabled_ns = slot->running_ns = 0;
        slot->started_before = false;
        for (size_t k = 0; k < slot->row.n_counters; k++) {
            slot->was_known[k] = slot->counters[k].known;
            slot->grown[k] = 0;
        }
    }
}

/* --- comparing the history with the log --- */

/*
 * The sum of the cgroup rows that did not fit in a frame. There is one for each group's uneven rows, and one for its
 * other rows.
 */
struct left_out {
    size_t n;
    struct truth sum;
};

static const char *const groups[] = {"hw", "tasks"};
enum { N_GROUPS = 2, N_OTHERS = 2 * N_GROUPS };

static size_t others_index(const char *group, bool uneven)
{
    return (str_equal(group, groups[1]) ? 2 : 0) + uneven;
}

static bool same_texts(const struct history_row *line, const struct row *row)
{
    bool same = str_equal(line->collector, row->collector_name) && str_equal(line->group, row->group) &&
                str_equal(line->pmu, row->pmu) && line->n_events == row->n_counters && line->cpu == row->cpu &&
                !line->cgroup == !row->cgroup && (!row->cgroup || str_equal(line->cgroup, row->cgroup));

    for (size_t i = 0; same && i < row->n_counters; i++)
        same = str_equal(line->events[i].event, row->counters[i].event) &&
               str_equal(line->events[i].pmu, row->counters[i].pmu) &&
               str_equal(line->events[i].unit, row->counters[i].unit) &&
               line->events[i].decimals == row->counters[i].decimals;
    return same;
}

/* The lines of a table: those of the machine's slots, and those that sum up the cgroups that did not fit. */
struct lines {
    const struct history_line *of[2][SLOTS_MAX]; /* indexed by `uneven` and by slot */
    const struct history_line *others[N_OTHERS];
};

static void put_line(const struct history_line **to, const struct history_line *line)
{
    assert_null(*to);
    *to = line;
}

static void find_lines(const struct simulated *machine, const struct history_table *table, struct lines *ret)
{
    *ret = (struct lines){0};
    for (size_t i = 0; i < table->n_lines; i++) {
        const struct history_line *line = &table->lines[i];
        size_t slot = 0;
        if (line->row.others) {
            assert_null(line->row.cgroup);
            assert_int_equal(line->row.cpu, -1);
            put_line(&ret->others[others_index(line->row.group, line->row.uneven)], line);
            continue;
        }
        while (slot < machine->n_slots && !same_texts(&line->row, &machine->slots[slot].row))
            slot++;
        assert_true(slot < machine->n_slots);
        put_line(&ret->of[line->row.uneven][slot], line);
    }
}

static enum history_state state_at(const struct history_line *line, size_t step)
{
    return line ? line->cells[step].state : HISTORY_ABSENT;
}

/* Number of rows that a test has compared in each state, and number of rows that frames left out. */
static size_t seen[HISTORY_UNKNOWN + 1], seen_left_out;

static void check_cell(const struct history_line *line, size_t step, const struct truth *truth)
{
    const struct history_cell *cell = &line->cells[step];
    const struct growth_event *values = &line->values[step * line->row.n_events];

    assert_int_equal(cell->state, !truth->known                           ? HISTORY_UNKNOWN
                                  : truth->running_ns < truth->enabled_ns ? HISTORY_MULTIPLEXED
                                                                          : HISTORY_COUNTING);
    seen[cell->state]++;
    assert_int_equal(cell->enabled_ns, truth->enabled_ns);
    assert_int_equal(cell->running_ns, truth->running_ns);
    for (size_t i = 0; i < line->row.n_events; i++) {
        assert_int_equal(values[i].known, truth->known && truth->values[i].known);
        assert_int_equal(values[i].value, values[i].known ? truth->values[i].value : 0);
    }
}

static void add_left_out(struct left_out *to, const struct truth *truth, size_t n_events)
{
    if (to->n++ == 0) {
        to->sum = *truth;
        return;
    }
    to->sum.known = to->sum.known && truth->known;
    to->sum.enabled_ns += truth->enabled_ns;
    to->sum.running_ns += truth->running_ns;
    for (size_t i = 0; i < n_events; i++) {
        to->sum.values[i].known = to->sum.values[i].known && truth->values[i].known;
        to->sum.values[i].value += truth->values[i].value;
    }
    if (!to->sum.known)
        to->sum = (struct truth){.in_frame = true};
}

static bool is_inside(const struct simulated *machine, const struct true_frame *frame, const struct row *row)
{
    for (size_t i = 0; i < machine->n_slots; i++) {
        const struct row *above = &machine->slots[i].row;
        size_t size = above->cgroup ? strlen(above->cgroup) : 0;
        if (size > 0 && frame->rows[i].in_frame && above->group == row->group && above != row &&
            strncmp(row->cgroup, above->cgroup, size) == 0 && row->cgroup[size] == '/')
            return true;
    }
    return false;
}

static void check_frame(const struct simulated *machine, const struct true_frame *frame, const struct lines *lines,
                        size_t step, uint64_t left_out)
{
    struct left_out others[N_OTHERS] = {0};

    for (size_t i = 0; i < machine->n_slots; i++) {
        const struct row *row = &machine->slots[i].row;
        const struct truth *truth = &frame->rows[i];
        const struct history_line *line = lines->of[truth->uneven][i];
        assert_int_equal(state_at(lines->of[!truth->uneven][i], step), HISTORY_ABSENT);
        if (!truth->in_frame) {
            assert_int_equal(state_at(line, step), HISTORY_ABSENT);
            continue;
        }
        if (state_at(line, step) != HISTORY_ABSENT) {
            check_cell(line, step, truth);
            continue;
        }
        assert_non_null(row->cgroup);
        assert_true(left_out-- > 0);
        seen_left_out++;
        if (!is_inside(machine, frame, row))
            add_left_out(&others[others_index(row->group, truth->uneven)], truth, row->n_counters);
    }
    assert_int_equal(left_out, 0);
    for (size_t i = 0; i < N_OTHERS; i++)
        if (others[i].n > 0 && lines->others[i])
            check_cell(lines->others[i], step, &others[i].sum);
        else
            assert_true(others[i].n == 0 && state_at(lines->others[i], step) == HISTORY_ABSENT);
}

static const struct history_range always = {.until_ns = UINT64_MAX};

/* Returns the sum of a line's frames. A single step over these frames must have the same sum. */
static struct truth sum_line(const struct history_line *line, size_t n_steps)
{
    struct truth sum = {.known = true};

    for (size_t i = 0; i < line->row.n_events; i++)
        sum.values[i].known = true;
    for (size_t step = 0; step < n_steps && sum.known; step++) {
        const struct growth_event *values = &line->values[step * line->row.n_events];
        sum.known = line->cells[step].state != HISTORY_UNKNOWN;
        sum.enabled_ns += line->cells[step].enabled_ns;
        sum.running_ns += line->cells[step].running_ns;
        for (size_t i = 0; i < line->row.n_events && line->cells[step].state != HISTORY_ABSENT; i++) {
            double more;
            memcpy(&more, &values[i].value, sizeof(more));
            sum.values[i].known &= values[i].known;
            if (line->row.events[i].decimals == SERIES_REAL)
                add_real(&sum.values[i].value, more);
            else
                sum.values[i].value += values[i].value;
        }
    }
    return sum.known ? sum : (struct truth){0};
}

/* Asserts that a single step over all frames equals the sum of the frames. */
static void check_sums(const struct history *history, const struct history_table *frames)
{
    const struct history_range range = {0, UINT64_MAX, UINT64_MAX};
    _cleanup_(history_table_done) struct history_table table;

    assert_int_equal(history_read(history, &range, NULL, NULL, &table), 0);
    assert_int_equal(table.n_steps, 1);
    assert_int_equal(table.n_lines, frames->n_lines);
    for (size_t i = 0; i < table.n_lines; i++) {
        const struct truth sum = sum_line(&frames->lines[i], frames->n_steps);
        check_cell(&table.lines[i], 0, &sum);
    }
}

/* Compares all frames in the ring with the newest frames of the log. Returns the number of frames. */
static size_t check_history(const struct simulated *machine, const struct log *log, const struct history *history)
{
    _cleanup_(history_table_done) struct history_table table;
    struct lines lines;
    size_t n = 0;

    assert_int_equal(history_read(history, &always, NULL, NULL, &table), 0);
    find_lines(machine, &table, &lines);
    check_sums(history, &table);
    for (size_t step = table.n_steps; step-- > 0; n++) {
        assert_true(n < log->n);
        const struct true_frame *frame = &log->frames[(log->n - 1 - n) % FRAMES_KEPT];
        assert_int_equal(table.steps[step].end_ns, frame->end_ns);
        assert_int_equal(table.steps[step].covered_ns, frame->duration_ns);
        check_frame(machine, frame, &lines, step, table.steps[step].left_out);
        if (step > 0)
            assert_int_equal(table.steps[step - 1].covered_ns == 0, frame->gap_before);
        if (step > 0 && frame->gap_before) {
            step--;
            assert_int_equal(table.steps[step].end_ns, frame->end_ns - frame->duration_ns);
            for (size_t i = 0; i < table.n_lines; i++)
                assert_int_equal(table.lines[i].cells[step].state, HISTORY_ABSENT);
        }
    }
    return n;
}

/* --- running the machine --- */

static void happen_to(struct simulated *machine, struct slot *slot)
{
    struct row *row = &slot->row;
    bool comes_and_goes = row->cgroup || row->cpu == 2;

    row->removed = false;
    if (!slot->exists) {
        if (once_in(machine, 12))
            make_row(machine, slot);
        return;
    }
    if (comes_and_goes && once_in(machine, 40)) {
        slot->exists = false;
        row->removed = once_in(machine, 2);
        return;
    }
    if (comes_and_goes && once_in(machine, 300)) { /* removed and created again within one interval */
        make_row(machine, slot);
        slot->started_before = once_in(machine, 2);
    }
    if (once_in(machine, 60))
        row->state = row->state == ROW_STARVED ? ROW_COUNTING : ROW_STARVED;
    if (row->state == ROW_STARVED && once_in(machine, 3))
        row->state = ROW_MULTIPLEXED;
    if (row->cpu > 0 && once_in(machine, row->absent ? 5 : 80))
        row->absent = !row->absent;
    if ((row->cgroup || row->cpu == 1) && once_in(machine, 200))
        row->uneven = !row->uneven;
    if (once_in(machine, 50))
        slot->counters[draw(machine, row->n_counters)].known ^= true;
}

static void run_slot(struct simulated *machine, struct slot *slot, uint64_t duration_ns)
{
    uint64_t enabled = slot->row.cgroup ? draw(machine, duration_ns) : duration_ns;
    uint64_t running = once_in(machine, 4) ? draw(machine, enabled + 1) : enabled;

    if (slot->exists && slot->started_before)
        enabled += 3 * duration_ns;
    if (slot->exists && slot->row.state != ROW_STARVED && !once_in(machine, 10))
        count(machine, slot, enabled, running);
    else if (slot->started_before)
        slot->started_before = false;
}

/* Simulates an interval. Returns by how much the clock was set during the interval. */
static int64_t sim(struct simulated *machine)
{
    struct snapshot *snapshot = &machine->snapshot;
    uint64_t duration = SECOND * 9 / 10 + draw(machine, SECOND / 5);
    int64_t set = once_in(machine, 200) ? (int64_t)(20 * YEAR + draw(machine, YEAR)) : 0;

    if (snapshot->realtime_ns > START)
        set = -set;
    snapshot->metrics.failed = once_in(machine, 25) ? 1U << draw(machine, 3) : 0;
    if (once_in(machine, snapshot->pauses % 2 ? 3 : 100))
        snapshot->pauses += 1 + draw(machine, 2);
    for (size_t i = 0; i < machine->n_slots; i++) {
        happen_to(machine, &machine->slots[i]);
        run_slot(machine, &machine->slots[i], duration);
    }
    list_rows(machine);
    snapshot->monotonic_ns += duration;
    snapshot->realtime_ns += duration + (uint64_t)set;
    return set;
}

static const char *const hw[] = {"cycles", "instructions"};
static const char *const tasks[] = {"switches"};
static const char *const energy[] = {"energy"};

static void make_machine(struct simulated *machine)
{
    static const char *const cgroups[] = {"/a", "/a/x", "/a/x/deep", "/ab", "/b", "/b/y", "/c", "/d", "relative", "/e"};

    machine_init(machine);
    for (int cpu = 0; cpu < 3; cpu++) {
        make_row(machine, add_slot(machine, CPU, "hw", NULL, cpu, 2, hw));
        make_row(machine, add_slot(machine, CPU, "tasks", NULL, cpu, 1, tasks));
    }
    make_row(machine, add_slot(machine, UNCORE, "energy", NULL, 0, 1, energy));
    for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
        add_slot(machine, CGROUP, groups[0], cgroups[i], -1, 2, hw);
        add_slot(machine, CGROUP, groups[1], cgroups[i], -1, 1, tasks);
    }
}

/* AddressSanitizer makes each frame ten times slower. */
enum { SIMULATED_FRAMES = HAS_ASAN ? 10000 : 100000, SIMULATED_SIZE = 24 * 1024 };
static const struct history_settings simulated_settings = {SECOND, 80 * SECOND};

/* The words of a block's header in history.c: magic, version, size, begin, end. */
enum { HEAD_BYTES = 48, HEAD_VERSION = 1, HEAD_SIZE, HEAD_BEGIN, HEAD_END };

TEST(test_every_value_of_a_simulated_machine)
{
    _cleanup_(freep) uint64_t *block = calloc(1, SIMULATED_SIZE);
    _cleanup_(freep) struct simulated *machine = malloc(sizeof(*machine));
    struct log log = {.frames = calloc(FRAMES_KEPT, sizeof(log.frames[0]))};
    _cleanup_(history_freep) struct history *history = NULL;
    size_t until_check = 1, n_restarts = 0;
    int64_t missing = 0; /* the time between the last recorded frame and the next one */
    bool recorded = false;

    make_machine(machine);
    assert_int_equal(history_new(block, SIMULATED_SIZE, &simulated_settings, &history), 0);
    while (log.n < SIMULATED_FRAMES) {
        missing += sim(machine);
        if (recorded) {
            log_frame(&log, machine, missing > (int64_t)SECOND / 100);
            missing = 0;
        } else {
            missing += (int64_t)SECOND;
        }
        assert_int_equal(history_record(history, &machine->snapshot), 0);
        recorded = true;
        begin_interval(machine);
        if (once_in(machine, 100)) {
            history = history_free(history);
            assert_int_equal(history_new(block, SIMULATED_SIZE, &simulated_settings, &history), 0);
            recorded = false;
            n_restarts++;
        }
        if (--until_check == 0) {
            size_t n = check_history(machine, &log, history);
            assert_true(log.n < 100 || n >= 80);
            until_check = 60;
        }
    }
    print_message("%zu frames, %zu restarts, %zu rounds of the ring; counting %zu, multiplexed %zu, unknown %zu, "
                  "left out %zu\n",
                  log.n, n_restarts, (size_t)(block[HEAD_END] / (SIMULATED_SIZE - HEAD_BYTES)), seen[HISTORY_COUNTING],
                  seen[HISTORY_MULTIPLEXED], seen[HISTORY_UNKNOWN], seen_left_out);
    assert_true(seen[HISTORY_COUNTING] > 1000 && seen[HISTORY_MULTIPLEXED] > 1000 && seen[HISTORY_UNKNOWN] > 1000);
    assert_true(seen_left_out > 1000);
    free(log.frames);
}

/* --- steps --- */

/* A CPU whose counter grows by 1 in the first interval of 10 s, by 2 in the second one, and so on. */
struct counter_sim {
    uint64_t block[HISTORY_SIZE_MIN / sizeof(uint64_t)];
    struct simulated machine;
    struct history *history;
    uint64_t grown;
};

enum { INTERVAL = 10 };
static const struct history_settings settings = {INTERVAL * SECOND, HOUR};

static void pass(struct counter_sim *sim)
{
    struct slot *slot = &sim->machine.slots[0];

    slot->counters[0].value += sim->grown++;
    slot->row.enabled_ns += INTERVAL * SECOND;
    slot->row.running_ns += INTERVAL * SECOND;
    sim->machine.snapshot.monotonic_ns += INTERVAL * SECOND;
    sim->machine.snapshot.realtime_ns += INTERVAL * SECOND;
    assert_int_equal(history_record(sim->history, &sim->machine.snapshot), 0);
}

/* Frame i ends i intervals after START, where the first reading takes place. */
static int begin_sim(void **state)
{
    struct counter_sim *sim = calloc(1, sizeof(*sim));

    machine_init(&sim->machine);
    sim->machine.snapshot.realtime_ns -= INTERVAL * SECOND;
    make_row(&sim->machine, add_slot(&sim->machine, CPU, "tasks", NULL, 0, 1, tasks));
    list_rows(&sim->machine);
    assert_int_equal(history_new(sim->block, sizeof(sim->block), &settings, &sim->history), 0);
    *state = sim;
    return 0;
}

static int end_sim(void **state)
{
    struct counter_sim *sim = *state;

    history_free(sim->history);
    free(sim);
    return 0;
}

static struct history_range range_of(double since, double until, double step)
{
    const int64_t begin = (int64_t)(since * INTERVAL), end = (int64_t)(until * INTERVAL);

    return (struct history_range){START + (uint64_t)begin * SECOND, START + (uint64_t)end * SECOND,
                                  (uint64_t)(step * INTERVAL) * SECOND};
}

static const struct {
    const char *name;
    double in_since, in_until, in_step; /* in intervals after START */
    const char *out; /* for each step its end, its number of frames, and the growth ("-": absent, "?": unknown) */
} steps_cases[] = {
    {"each frame", 0, 4, 0, "1:1:1 2:1:2 3:1:3 4:1:4"},
    {"frames that end after `since`, up to `until`", 1, 3, 0, "2:1:2 3:1:3"},
    {"steps of two frames", 0, 4, 2, "2:2:3 4:2:7"},
    {"the last step is shorter", 0, 5, 2, "2:2:3 4:2:7 5:1:5"},
    {"steps that begin and end within frames", 0.5, 3.5, 1, "1.5:1:1 2.5:1:2 3.5:1:3"},
    {"steps that are shorter than frames", 1, 2.5, 0.5, "1.5:0:- 2:1:2 2.5:0:-"},
    {"before the first frame", -2, 1, 1, "-1:0:- 0:0:- 1:1:1"},
    {"starved in frame 6", 4, 8, 0, "5:1:5 6:1:? 7:1:? 8:1:8"},
    {"starved in one frame of the step", 4, 8, 4, "8:4:?"},
    {"offline in frames 10 and 11", 8, 12, 0, "9:1:9 10:1:- 11:1:- 12:1:12"},
    {"steps that contain an offline frame", 8, 12, 2, "10:2:9 12:2:12"},
    {"a gap", 12, 20, 0, "13:1:13 16:0:- 17:1:14 18:1:15 19:1:16 20:1:17"},
    {"a gap in steps of two frames", 12, 20, 2, "14:1:13 16:0:- 18:2:29 20:2:33"},
    {"steps after the last frame", 20, 22, 1, "21:0: 22:0:"},
    {"`until` is before `since`", 3, 2, 0, ""},
    {"`until` is before `since`, with a step", 3, 2, 1, ""},
    {"`until` equals `since`", 3, 3, 0, ""},
    {"all frames in one step", 0, 9, 100, "9:9:?"},
};

static void print_steps(const struct history_table *table, char *to, size_t size)
{
    size_t n = 0;

    to[0] = '\0';
    for (size_t i = 0; i < table->n_steps; i++) {
        const struct history_line *line = table->n_lines ? &table->lines[0] : NULL;
        double end = ((double)table->steps[i].end_ns - (double)START) / (double)SECOND / INTERVAL;
        n += (size_t)snprintf(to + n, size - n, "%s%g:%d:", i ? " " : "", end,
                              (int)(table->steps[i].covered_ns / SECOND / INTERVAL));
        if (line && line->cells[i].state == HISTORY_COUNTING)
            n += (size_t)snprintf(to + n, size - n, "%d", (int)line->values[i].value);
        else if (line)
            n += (size_t)snprintf(to + n, size - n, "%s", line->cells[i].state == HISTORY_ABSENT ? "-" : "?");
        assert_true(n < size);
    }
}

TEST_WITH(test_steps, begin_sim, end_sim)
{
    struct counter_sim *sim = *state;
    struct slot *slot = &sim->machine.slots[0];
    char text[512];

    for (size_t frame = 0; frame <= 17; frame++) {
        slot->row.state = frame == 6 ? ROW_STARVED : ROW_COUNTING;
        slot->row.absent = frame == 10;
        sim->machine.snapshot.realtime_ns += frame == 14 ? 3 * INTERVAL * SECOND : 0;
        pass(sim);
    }
    for (size_t i = 0; i < ARRAY_SIZE(steps_cases); i++) {
        _cleanup_(history_table_done) struct history_table table;
        const struct history_range range =
            range_of(steps_cases[i].in_since, steps_cases[i].in_until, steps_cases[i].in_step);
        assert_int_equal(history_read(sim->history, &range, NULL, NULL, &table), 0);
        print_steps(&table, text, sizeof(text));
        if (!str_equal(text, steps_cases[i].out))
            fail_msg("%s: \"%s\" instead of \"%s\"", steps_cases[i].name, text, steps_cases[i].out);
    }
}

/* A busy machine may delay a reading between the reads of its two clocks, which is not a gap. */
TEST_WITH(test_clocks_that_are_read_apart, begin_sim, end_sim)
{
    struct counter_sim *sim = *state;
    const uint64_t late_ns = INTERVAL * SECOND / 100 + 40 * NSEC_PER_MSEC;
    _cleanup_(history_table_done) struct history_table table;
    const struct history_range frames = range_of(0, 9, 0);

    for (size_t frame = 0; frame <= 8; frame++) {
        sim->machine.snapshot.realtime_ns += frame % 2 ? late_ns : 0;
        pass(sim);
        sim->machine.snapshot.realtime_ns -= frame % 2 ? late_ns : 0;
    }
    assert_int_equal(history_read(sim->history, &frames, NULL, NULL, &table), 0);
    assert_int_equal(table.n_steps, 8);
}

/* The busy times of CPUs are stored after the events, and must not be mistaken for the next row. */
TEST_WITH(test_busy_and_limited, begin_sim, end_sim)
{
    struct counter_sim *sim = *state;
    struct snapshot *snapshot = &sim->machine.snapshot;
    struct busy_time busy = {.cpu = 0, .known = true};
    struct clock_limit limit = {.known = true, .limit_hz = 1000, .max_hz = 2000};
    _cleanup_(history_table_done) struct history_table table, sum;
    const struct history_range frames = range_of(0, 4, 0), all = range_of(0, 4, 4);

    snapshot->busy = (struct busy_times){.items = &busy, .n = 1};
    snapshot->clock_limits = (struct clock_limits){.cpus = &limit, .n = 1};
    make_row(&sim->machine, add_slot(&sim->machine, CGROUP, "tasks", "/a", -1, 1, tasks));
    list_rows(&sim->machine);
    for (size_t frame = 0; frame <= 4; frame++) {
        sim->machine.slots[1].counters[0].value += 7;
        busy.known = frame != 2;
        busy.total_ns += 3 * SECOND;
        limit.lost_ns += frame > 3 ? 2 * SECOND : 0;
        snapshot->clock_limits.causes = frame > 3 ? CLOCK_COOLING : 0;
        pass(sim);
    }
    assert_int_equal(history_read(sim->history, &frames, NULL, NULL, &table), 0);
    assert_int_equal(table.n_lines, 2);
    assert_int_equal(table.n_steps, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct history_cell *cell = &table.lines[0].cells[i];
        assert_int_equal(cell->has_busy, i == 0 || i == 3); /* readings of the other frames lack busy times */
        assert_int_equal(cell->busy_ns, cell->has_busy ? 3 * SECOND : 0);
        assert_int_equal(cell->limited_ns, i == 3 ? 2 * SECOND : 0);
        assert_int_equal(table.steps[i].limited_by, i == 3 ? CLOCK_COOLING : 0);
        assert_int_equal(table.lines[0].values[i].value, i + 1);
        assert_int_equal(table.lines[1].values[i].value, 7);
    }
    assert_int_equal(history_read(sim->history, &all, NULL, NULL, &sum), 0);
    assert_false(sum.lines[0].cells[0].has_busy);
    assert_int_equal(sum.lines[0].cells[0].limited_ns, 2 * SECOND);
    assert_int_equal(sum.steps[0].limited_by, CLOCK_COOLING);
    *snapshot = (struct snapshot){0};
}

TEST_WITH(test_how_many_steps, begin_sim, end_sim)
{
    static const struct {
        struct history_range in;
        int out;
        size_t out_n;
    } cases[] = {
        {{0, HISTORY_STEPS_MAX, 1}, 0, HISTORY_STEPS_MAX},
        {{0, HISTORY_STEPS_MAX + 1, 1}, -E2BIG, 0},
        {{0, 2 * HISTORY_STEPS_MAX - 1, 2}, 0, HISTORY_STEPS_MAX},
        {{0, UINT64_MAX, 1}, -E2BIG, 0},
        {{0, START, 1000000}, -E2BIG, 0},
        {{0, UINT64_MAX, UINT64_MAX / 2 + 1}, 0, 2},
        {{UINT64_MAX - 5, UINT64_MAX, 3}, 0, 2},
        {{0, UINT64_MAX, UINT64_MAX}, 0, 1},
        {{0, UINT64_MAX, 0}, 0, 0},
        {{UINT64_MAX, 0, 1}, 0, 0},
    };
    struct counter_sim *sim = *state;
    uint64_t begin, end;

    history_span(sim->history, &begin, &end);
    assert_true(begin == 0 && end == 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(history_table_done) struct history_table table;
        assert_int_equal(history_read(sim->history, &cases[i].in, NULL, NULL, &table), cases[i].out);
        if (cases[i].out == 0)
            assert_int_equal(table.n_steps, cases[i].out_n);
        assert_int_equal(table.n_lines, 0);
    }
}

TEST_WITH(test_more_frames_than_steps, begin_sim, end_sim)
{
    enum { SIZE = 1 << 20 };
    struct counter_sim *sim = *state;
    _cleanup_(freep) uint64_t *block = calloc(1, SIZE);
    struct history_table table;

    sim->history = history_free(sim->history);
    assert_int_equal(history_new(block, SIZE, &settings, &sim->history), 0);
    for (size_t i = 0; i <= HISTORY_STEPS_MAX; i++)
        pass(sim);
    assert_int_equal(history_read(sim->history, &always, NULL, NULL, &table), 0);
    assert_int_equal(table.n_steps, HISTORY_STEPS_MAX);
    history_table_done(&table);
    pass(sim);
    assert_int_equal(history_read(sim->history, &always, NULL, NULL, &table), -E2BIG);
    history_table_done(&table);
}

TEST_WITH(test_when_a_frame_is_due, begin_sim, end_sim)
{
    struct counter_sim *sim = *state;
    struct snapshot *snapshot = &sim->machine.snapshot;
    uint64_t begin, end;

    assert_true(history_is_due(sim->history, snapshot->monotonic_ns));
    pass(sim);
    assert_false(history_is_due(sim->history, snapshot->monotonic_ns + INTERVAL * SECOND - 1));
    assert_true(history_is_due(sim->history, snapshot->monotonic_ns + INTERVAL * SECOND));
    history_span(sim->history, &begin, &end);
    assert_true(begin == 0 && end == 0);
    /* A second reading at the same time adds no frame; its counts are part of the next frame. */
    sim->machine.slots[0].counters[0].value += 100;
    assert_int_equal(history_record(sim->history, snapshot), 0);
    pass(sim);
    history_span(sim->history, &begin, &end);
    assert_true(begin == START && end == START + INTERVAL * SECOND);
    _cleanup_(history_table_done) struct history_table table;
    assert_int_equal(history_read(sim->history, &always, NULL, NULL, &table), 0);
    assert_int_equal(table.n_steps, 1);
    assert_int_equal(table.lines[0].values[0].value, 101);
}

static bool passes_group(const void *userdata, const struct history_row *row)
{
    return str_equal(row->group, userdata);
}

TEST_WITH(test_only_some_rows, begin_sim, end_sim)
{
    struct counter_sim *sim = *state;
    struct history_table table;

    make_row(&sim->machine, add_slot(&sim->machine, CPU, "hw", NULL, 0, 2, hw));
    list_rows(&sim->machine);
    pass(sim);
    pass(sim);
    assert_int_equal(history_read(sim->history, &always, passes_group, "hw", &table), 0);
    assert_int_equal(table.n_lines, 1);
    assert_string_equal(table.lines[0].row.events[1].event, "instructions");
    history_table_done(&table);
    assert_int_equal(history_read(sim->history, &always, passes_group, "no such", &table), 0);
    assert_int_equal(table.n_lines, 0);
    assert_int_equal(table.n_steps, 1);
    history_table_done(&table);
}

/* --- untrusted blocks --- */

static size_t count_frames(const struct history *history)
{
    _cleanup_(history_table_done) struct history_table table;

    assert_int_equal(history_read(history, &always, NULL, NULL, &table), 0);
    return table.n_steps;
}

/* Returns a copy of the block, in a heap allocation of exactly its size. */
static uint64_t *copy_block(const struct counter_sim *sim)
{
    uint64_t *copy = malloc(sizeof(sim->block));

    assert_non_null(copy);
    memcpy(copy, sim->block, sizeof(sim->block));
    return copy;
}

TEST_WITH(test_a_block_of_another_version, begin_sim, end_sim)
{
    struct counter_sim *sim = *state;
    static const struct {
        size_t in_word;
        uint64_t in_value;
        size_t out_frames;
    } cases[] = {
        {HEAD_BYTES / 8, 0, 0},
        {0, 1, 0},
        {HEAD_VERSION, 1, 0},
        {HEAD_SIZE, 0, 0},
        {HEAD_BEGIN, UINT64_MAX, 0},
        {HEAD_BEGIN, 1, 0},
        {HEAD_END, UINT64_MAX, 0},
        {HEAD_END, 0, 0},
        {HEAD_END, 99999, 0},
        {5, 0, 0},
        {5, UINT32_MAX, 0},
        {5, UINT64_MAX, 0},
        {HEAD_VERSION, 2, 5},
        {5, 2, 5},
        {HEAD_SIZE, HISTORY_SIZE_MIN, 5},
    };

    for (size_t i = 0; i <= 5; i++)
        pass(sim);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) uint64_t *block = copy_block(sim);
        struct history *history = NULL;
        block[cases[i].in_word] = cases[i].in_value;
        assert_int_equal(history_new(block, sizeof(sim->block), &settings, &history), 0);
        assert_int_equal(count_frames(history), cases[i].out_frames);
        history_free(history);
        assert_int_equal(history_new(block, sizeof(sim->block), &settings, &history), 0);
        assert_int_equal(count_frames(history), cases[i].out_frames);
        history_free(history);
    }
}

TEST_WITH(test_a_block_of_another_size, begin_sim, end_sim)
{
    struct counter_sim *sim = *state;
    struct history *history = NULL;

    for (size_t i = 0; i <= 5; i++)
        pass(sim);
    _cleanup_(freep) uint64_t *larger = calloc(2, sizeof(sim->block));
    memcpy(larger, sim->block, sizeof(sim->block));
    assert_int_equal(history_new(larger, 2 * sizeof(sim->block), &settings, &history), 0);
    assert_int_equal(count_frames(history), 0);
    history_free(history);
    _cleanup_(freep) uint64_t *small = copy_block(sim);
    assert_int_equal(history_new(small, HISTORY_SIZE_MIN - 1, &settings, &history), -EINVAL);
    assert_int_equal(history_new(small, 4096, &settings, &history), -EINVAL);
    assert_int_equal(history_new(small, 0, &settings, &history), -EINVAL);
    assert_memory_equal(small, sim->block, sizeof(sim->block));
}

/* Records a simulated machine while the block is corrupted at random times. */
TEST(test_a_block_that_changes)
{
    enum { ROUNDS = 1500 };
    static const struct history_settings short_settings = {SECOND, 8 * SECOND};
    _cleanup_(freep) uint8_t *block = calloc(1, HISTORY_SIZE_MIN);
    _cleanup_(freep) struct simulated *machine = malloc(sizeof(*machine));
    struct history *history = NULL;
    size_t n_emptied = 0, n_read = 0;
    uint64_t begin, end;

    make_machine(machine);
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t where = once_in(machine, 4) ? HEAD_BYTES : HISTORY_SIZE_MIN;
        if (!history)
            assert_int_equal(history_new(block, HISTORY_SIZE_MIN, &short_settings, &history), 0);
        for (size_t k = draw(machine, 8); k > 0; k--)
            block[draw(machine, where)] ^= (uint8_t)(1 << draw(machine, 8));
        for (size_t k = draw(machine, 20); k > 0; k--) {
            sim(machine);
            int r = history_record(history, &machine->snapshot);
            assert_true(r == 0 || r == -EBADMSG || r == -ENOSPC);
            n_emptied += r == -EBADMSG;
        }
        for (size_t k = draw(machine, 3); k > 0; k--)
            block[draw(machine, where)] = (uint8_t)draw(machine, 256);
        struct history_range range = {0, UINT64_MAX, once_in(machine, 2) ? 0 : YEAR};
        struct history_table table;
        int r = history_read(history, &range, NULL, NULL, &table);
        assert_true(r == 0 || r == -E2BIG);
        n_read += table.n_steps > 0;
        history_table_done(&table);
        history_span(history, &begin, &end);
        if (once_in(machine, 3))
            history = history_free(history);
    }
    history_free(history);
    print_message("emptied %zu times, read %zu times\n", n_emptied, n_read);
    assert_true(n_emptied > 0 && n_read > ROUNDS / 2);
}

/* --- memory --- */

/* Returns the number of allocated bytes on the heap. */
static size_t heap_bytes(void)
{
    extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

    if (__sanitizer_get_current_allocated_bytes)
        return __sanitizer_get_current_allocated_bytes();
#if __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks + mallinfo2().hblkhd;
#else
    skip_because("a C library that reports how much is allocated");
    return 0; /* gcc 10 does not know that skip_because() never returns */
#endif
}

enum { CGROUPS = 4096, GUARD = 64 };

struct crowd {
    struct snapshot snapshot;
    struct row rows[CGROUPS], *list[CGROUPS];
    struct counter counters[CGROUPS][3];
    char names[CGROUPS][40];
};

static const char *const bpf_events[] = {"cycles", "instructions", "cache_misses"};

/* Replaces all cgroups with `n` new ones, whose names `generation` makes unique. */
static void replace_crowd(struct crowd *crowd, size_t n, unsigned generation)
{
    for (size_t i = 0; i < n; i++) {
        struct row *row = &crowd->rows[i];
        snprintf(crowd->names[i], sizeof(crowd->names[i]), "/kubepods/pod%u-%zu", generation, i);
        *row = (struct row){.id = crowd->snapshot.next_row_id++,
                            .collector = CGROUP,
                            .collector_name = "cgroup",
                            .cpu = -1,
                            .group = "hw",
                            .pmu = "cpu",
                            .cgroup = crowd->names[i],
                            .n_counters = ARRAY_SIZE(bpf_events),
                            .counters = crowd->counters[i]};
        for (size_t k = 0; k < row->n_counters; k++)
            crowd->counters[i][k] = (struct counter){.event = bpf_events[k], .pmu = "cpu", .unit = "", .known = true};
        crowd->list[i] = row;
    }
    crowd->snapshot.rows = crowd->list;
    crowd->snapshot.n_rows = n;
}

static void run_crowd(struct crowd *crowd, struct history *history, uint64_t interval_ns)
{
    crowd->snapshot.monotonic_ns += interval_ns;
    crowd->snapshot.realtime_ns += interval_ns;
    for (size_t i = 0; i < crowd->snapshot.n_rows; i++) {
        uint64_t ran = interval_ns / (1 + i % 97);
        crowd->rows[i].enabled_ns += ran;
        crowd->rows[i].running_ns += ran;
        for (size_t k = 0; k < crowd->rows[i].n_counters; k++)
            crowd->counters[i][k].value += ran * (k + 1);
    }
    assert_int_equal(history_record(history, &crowd->snapshot), 0);
}

/* Asserts that the lines of the last frame add up to all rows. Returns the number of rows that have their own line. */
static size_t check_crowd(const struct crowd *crowd, const struct history *history)
{
    _cleanup_(history_table_done) struct history_table table;
    const struct history_range last = {crowd->snapshot.realtime_ns - 1, crowd->snapshot.realtime_ns, 0};
    uint64_t sum = 0, all = 0;

    assert_int_equal(history_read(history, &last, NULL, NULL, &table), 0);
    assert_int_equal(table.n_steps, 1);
    assert_int_equal(table.n_lines - 1 + table.steps[0].left_out, crowd->snapshot.n_rows);
    for (size_t i = 0; i < table.n_lines; i++)
        sum += table.lines[i].cells[0].enabled_ns;
    for (size_t i = 0; i < crowd->snapshot.n_rows; i++)
        all += 10 * SECOND / (1 + i % 97);
    assert_int_equal(sum, all);
    return table.n_lines - 1;
}

static size_t heap_of(struct history **history, void *block, size_t size, const struct history_settings *kept)
{
    size_t before = heap_bytes();

    *history = history_free(*history);
    size_t bytes = before - heap_bytes();
    assert_int_equal(history_new(block, size, kept, history), 0);
    return bytes;
}

/* Over 120 frames, cgroups are replaced as often as they are in an hour if each of them lives for six frames. */
TEST(test_memory_with_4096_cgroups_that_are_replaced)
{
    enum { SIZE = 128 * 1024, FRAMES = 120 };
    static const struct history_settings kept = {10 * SECOND, FRAMES * 10 * SECOND};
    _cleanup_(freep) uint8_t *memory = malloc(SIZE + 2 * GUARD);
    _cleanup_(freep) struct crowd *crowd = calloc(1, sizeof(*crowd));
    struct history *history = NULL;
    size_t heap[2] = {0}, least = SIZE_MAX;

    memset(memory, 0x5a, SIZE + 2 * GUARD);
    crowd->snapshot.realtime_ns = START;
    crowd->snapshot.collector_names = collectors;
    assert_int_equal(history_new(memory + GUARD, SIZE, &kept, &history), 0);
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        if (frame % 2 == 0)
            replace_crowd(crowd, CGROUPS, frame);
        run_crowd(crowd, history, 10 * SECOND);
        if (frame % 2 == 1)
            least = MIN(least, check_crowd(crowd, history));
        if (frame == 19 || frame == FRAMES - 1)
            heap[frame == FRAMES - 1] = heap_of(&history, memory + GUARD, SIZE, &kept);
    }
    history_free(history);
    print_message("%zu bytes on the heap after 20 frames, %zu after %d; at least %zu cgroups by name\n", heap[0],
                  heap[1], FRAMES, least);
    assert_true(heap[1] <= heap[0] + heap[0] / 8);
    for (size_t i = 0; i < GUARD; i++)
        assert_true(memory[i] == 0x5a && memory[GUARD + SIZE + i] == 0x5a);
}

/* Some time after many short-lived cgroups are gone, there is room for the names of new ones. */
TEST(test_names_find_room_again)
{
    enum { SIZE = 64 * 1024, FEW = 20 };
    static const struct history_settings an_hour = {10 * SECOND, 100 * SECOND};
    _cleanup_(freep) uint64_t *block = calloc(1, SIZE);
    _cleanup_(freep) struct crowd *crowd = calloc(1, sizeof(*crowd));
    _cleanup_(history_freep) struct history *history = NULL;

    crowd->snapshot.realtime_ns = START;
    assert_int_equal(history_new(block, SIZE, &an_hour, &history), 0);
    for (unsigned frame = 0; frame < 40; frame++) {
        replace_crowd(crowd, 200, frame);
        run_crowd(crowd, history, 10 * SECOND);
    }
    replace_crowd(crowd, FEW, 1000);
    for (unsigned frame = 0; frame < 20; frame++)
        run_crowd(crowd, history, 10 * SECOND);
    _cleanup_(history_table_done) struct history_table table;
    const struct history_range last = {crowd->snapshot.realtime_ns - 1, crowd->snapshot.realtime_ns, 0};
    assert_int_equal(history_read(history, &last, NULL, NULL, &table), 0);
    assert_int_equal(table.steps[0].left_out, 0);
    assert_int_equal(table.n_lines, FEW);
}

/* CPUs that do not fit are left out, and are not added to the sum of cgroups. */
TEST(test_a_block_that_is_too_small)
{
    static const char *const long_names[] = {"an_event_with_a_long_name", "another_event_with_a_long_name"};
    _cleanup_(freep) uint64_t *block = calloc(1, HISTORY_SIZE_MIN);
    _cleanup_(freep) struct simulated *machine = malloc(sizeof(*machine));
    _cleanup_(history_freep) struct history *history = NULL;

    machine_init(machine);
    for (int cpu = 0; cpu < SLOTS_MAX - 1; cpu++)
        make_row(machine, add_slot(machine, CPU, "hw", NULL, cpu, 2, long_names));
    make_row(machine, add_slot(machine, CGROUP, "hw", "/a", -1, 2, long_names));
    list_rows(machine);
    assert_int_equal(history_new(block, HISTORY_SIZE_MIN, &settings, &history), 0);
    for (size_t frame = 0; frame < 500; frame++) {
        machine->snapshot.monotonic_ns += 10 * SECOND;
        machine->snapshot.realtime_ns += 10 * SECOND;
        assert_int_equal(history_record(history, &machine->snapshot), 0);
    }
    _cleanup_(history_table_done) struct history_table table;
    assert_int_equal(history_read(history, &always, NULL, NULL, &table), 0);
    assert_in_range(table.n_lines, 10, SLOTS_MAX / 2);
    for (size_t i = 0; i < table.n_lines; i++)
        assert_string_equal(table.lines[i].row.collector, "cpu");
    for (size_t i = 0; i < table.n_steps; i++)
        assert_int_equal(table.steps[i].left_out, SLOTS_MAX - table.n_lines);
}

/* --- an hour in 2 MiB --- */

TEST(test_2_mib_hold_an_hour)
{
    enum { SIZE = 2 << 20, FRAMES = 1500, BUSY = 60 };
    static const char *const seven[] = {"cycles",   "instructions",  "cache_references", "cache_misses",
                                        "branches", "branch_misses", "stalled_cycles"};
    static const char *const four[] = {"task_clock", "switches", "migrations", "faults"};
    static char names[BUSY][64];
    _cleanup_(freep) uint64_t *block = calloc(1, SIZE);
    _cleanup_(freep) struct simulated *machine = malloc(sizeof(*machine));
    _cleanup_(history_freep) struct history *history = NULL;
    uint64_t begin, end, written = 0;

    machine_init(machine);
    for (int cpu = 0; cpu < 8; cpu++) {
        make_row(machine, add_slot(machine, CPU, "hw", NULL, cpu, 7, seven));
        make_row(machine, add_slot(machine, CPU, "tasks", NULL, cpu, 4, four));
    }
    for (size_t i = 0; i < BUSY; i++) {
        snprintf(names[i], sizeof(names[i]), "/system.slice/some-service-number-%zu.service", i);
        make_row(machine, add_slot(machine, CGROUP, "hw", names[i], -1, 3, seven));
        make_row(machine, add_slot(machine, CGROUP, "tasks", names[i], -1, 3, four));
    }
    list_rows(machine);
    assert_int_equal(history_new(block, SIZE, &settings, &history), 0);
    for (size_t frame = 0; frame < FRAMES; frame++) {
        for (size_t i = 0; i < machine->n_slots; i++) {
            struct slot *slot = &machine->slots[i];
            bool hardware = str_equal(slot->row.group, "hw");
            uint64_t ran = (slot->row.cgroup ? 1 + draw(machine, 20) : 10 * 10) * SECOND / 10;
            slot->row.enabled_ns += ran;
            slot->row.running_ns += ran - (hardware ? ran / 3 : 0);
            for (size_t k = 0; k < slot->row.n_counters; k++)
                slot->counters[k].value += hardware ? 3 * ran / (k + 1) : k == 0 ? ran : ran >> 16;
        }
        machine->snapshot.monotonic_ns += INTERVAL * SECOND;
        machine->snapshot.realtime_ns += INTERVAL * SECOND;
        if (frame == FRAMES - 100)
            written = block[HEAD_END];
        assert_int_equal(history_record(history, &machine->snapshot), 0);
    }
    history_span(history, &begin, &end);
    print_message("%zu bytes per frame; %zu s\n", (size_t)(block[HEAD_END] - written) / 100,
                  (size_t)((end - begin) / SECOND));
    assert_true(end - begin >= HOUR);
    _cleanup_(history_table_done) struct history_table table;
    const struct history_range hour = {end - HOUR, end, 60 * SECOND};
    assert_int_equal(history_read(history, &hour, NULL, NULL, &table), 0);
    assert_int_equal(table.n_steps, 60);
    assert_int_equal(table.n_lines, machine->n_slots);
    for (size_t i = 0; i < table.n_steps; i++)
        assert_true(table.steps[i].left_out == 0 && table.steps[i].covered_ns == 60 * SECOND);
}

TEST_MAIN(NULL, NULL)
