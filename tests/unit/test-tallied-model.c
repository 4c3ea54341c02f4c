/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of cgroups on two kinds of CPU, with whatever their slots may have had: beside it a model that adds up what
 * each slot had, exactly. A cgroup shows the sum of its own and of all that were inside it, whether or not they are
 * still there; it never falls, and never has less than those inside it together.
 */
#include <stdio.h>

#include "tests/unit/tallied-rig.h"
#include "tests/unit/test.h"

#define NODES 12
#define MODEL_CPUS 8
#define EVENTS 2

/* The rows of the configured groups, by name and PMU; all events of a group have a counter in each. */
static const struct {
    const char *group, *pmu, *metrics[EVENTS];
} rows[] = {
    {"core", "armv8_cortex_a55", {"cycles", "instructions"}},
    {"core", "armv8_cortex_a76", {"cycles", "instructions"}},
    {"software", "software", {"page_faults", "migrations"}},
    {"mixed", "armv8_cortex_a55", {"branches", "context_switches"}},
    {"mixed", "armv8_cortex_a76", {"branches", "context_switches"}},
};
#define N_ROWS 5

#define CORE "{name: core, events: '{cycles,instructions}'}"
#define SOFTWARE "{name: software, events: '{faults,migrations}'}"
#define MIXED "{name: mixed, events: '{branches,cs}'}"
static const char *const configs[] = {
    TALLIED("[" CORE ", " SOFTWARE ", " MIXED "]"),
    TALLIED("[" MIXED ", {name: other, events: cycles}, " CORE ", " SOFTWARE "]"),
};

struct model_total {
    struct fixed scaled;
    uint64_t raw;
};

struct model_row {
    struct model_total totals[EVENTS];
    struct scale_times times;
    uint64_t shown[EVENTS];
};

struct model_node {
    char label[32];
    int parent;                    /* -1: it is at the top */
    struct tallied_counts *counts; /* NULL: it was never there */
    bool there;
    struct model_row rows[N_ROWS];
    uint64_t pending[MODEL_CPUS][N_ROWS];
};

struct model {
    struct tallied_rig rig;
    struct model_node nodes[NODES];
};

static unsigned choose(unsigned n)
{
    return (unsigned)rand() % n;
}

static size_t row_of(const struct tallied_rig *rig, const struct tally_part *part)
{
    const struct tally_row *planned = &rig->rows->rows[part->row];

    for (size_t i = 0; i < N_ROWS; i++)
        if (str_equal(rows[i].group, planned->draft->name) && str_equal(rows[i].pmu, planned->planned->pmu))
            return i;
    return N_ROWS;
}

/* --- what a slot had --- */

static struct fixed model_scale(uint64_t value, uint64_t enabled, uint64_t running)
{
    return running > 0 && running < enabled ? muldiv_portable(value, enabled, running) : (struct fixed){.whole = value};
}

static void model_add(struct model *model, int at, unsigned cpu, size_t row, struct scale_times times,
                      const uint64_t values[EVENTS])
{
    uint64_t *pending = &model->nodes[at].pending[cpu][row];
    uint64_t enabled = times.enabled + *pending;
    bool ran = times.running > 0 || values[0] > 0 || values[1] > 0;

    *pending = times.running > 0 ? 0 : enabled;
    for (; at >= 0; at = model->nodes[at].parent) {
        struct model_row *to = &model->nodes[at].rows[row];
        to->times.enabled += times.enabled;
        to->times.running += times.running;
        for (size_t i = 0; i < EVENTS && ran; i++) {
            to->totals[i].scaled = fixed_add(to->totals[i].scaled, model_scale(values[i], enabled, times.running));
            to->totals[i].raw += values[i];
        }
    }
}

/* Counted, multiplexed, starved, or nothing; now and then a value whose time comes later. */
static void make_increment(struct scale_times *times, uint64_t values[EVENTS])
{
    uint64_t span = 1 + (uint64_t)choose(1 << 20) * (1 + choose(1000));
    unsigned kind = choose(8);

    times->enabled = kind == 0 || kind == 7 ? 0 : span;
    times->running = kind == 1 || kind == 7 ? 0 : kind < 4 ? span / (1 + choose(9)) : times->enabled;
    if (kind == 0)
        times->running = 0;
    for (size_t i = 0; i < EVENTS; i++)
        values[i] = times->running > 0 || kind == 7 ? (uint64_t)choose(1 << 30) * (1 + choose(64)) : 0;
}

static void credit_random(struct model *model, int at)
{
    const struct tally_rows *plan = model->rig.rows;
    struct tallied_counts *chain[NODES];
    uint64_t delta[TALLY_WORDS_MAX] = {0};
    unsigned cpu = choose(MODEL_CPUS);
    size_t n = 0;

    for (uint32_t i = tally_rows_on_cpu(plan, cpu); i != TALLY_PART_NONE; i = plan->parts[i].next_on_cpu) {
        const struct tally_part *part = &plan->parts[i];
        size_t row = row_of(&model->rig, part);
        struct scale_times times;
        uint64_t values[EVENTS];
        if (row == N_ROWS)
            continue;
        make_increment(&times, values);
        model_add(model, at, cpu, row, times, values);
        delta[part->enabled] = times.enabled;
        delta[part->enabled + 1] = times.running;
        EVENTS_FOREACH (event, part->events)
            delta[tallied_rig_word(&model->rig, part, event)] = values[event];
    }
    for (; at >= 0; at = model->nodes[at].parent)
        chain[n++] = model->nodes[at].counts;
    tallied_counts_credit(chain, n, cpu, delta);
}

/* --- cgroups come and go --- */

static bool has_children(const struct model *model, int at)
{
    for (int i = 0; i < NODES; i++)
        if (model->nodes[i].there && model->nodes[i].parent == at)
            return true;
    return false;
}

static void come(struct model *model, int at)
{
    struct model_node *node = &model->nodes[at];

    if (node->parent >= 0 && !model->nodes[node->parent].there)
        return;
    if (node->counts)
        tallied_rig_resume(&model->rig, node->counts, node->label);
    else
        node->counts = tallied_rig_open(&model->rig, node->label);
    node->there = true;
}

static void go(struct model *model, int at)
{
    struct model_node *node = &model->nodes[at];

    if (has_children(model, at))
        return;
    tallied_counts_end(node->counts, node->parent >= 0 ? model->nodes[node->parent].counts : NULL);
    for (size_t k = 0; k < MODEL_CPUS * N_ROWS; k++) {
        if (node->parent >= 0)
            (&model->nodes[node->parent].pending[0][0])[k] += (&node->pending[0][0])[k];
        (&node->pending[0][0])[k] = 0;
    }
    node->there = false;
}

static void reload(struct model *model)
{
    tallied_rig_configure(&model->rig, configs[choose(2)]);
    for (int i = 0; i < NODES; i++)
        if (model->nodes[i].there)
            tallied_rig_resume(&model->rig, model->nodes[i].counts, model->nodes[i].label);
}

/* --- what is shown --- */

static void check_row(struct model *model, int at, size_t i)
{
    struct model_node *node = &model->nodes[at];
    const struct model_row *expected = &node->rows[i];
    const struct row *row = tallied_row(&model->rig, node->label, rows[i].pmu, rows[i].group);

    assert_non_null(row);
    assert_int_equal(row->enabled_ns, expected->times.enabled);
    assert_int_equal(row->running_ns, expected->times.running);
    for (size_t k = 0; k < EVENTS; k++) {
        assert_int_equal(row->counters[k].value, expected->totals[k].scaled.whole);
        assert_int_equal(row->counters[k].raw, expected->totals[k].raw);
        assert_true(row->counters[k].value >= node->rows[i].shown[k]);
        assert_int_equal(row->counters[k].series->visible, row->state != ROW_STARVED && row->counters[k].known);
        node->rows[i].shown[k] = row->counters[k].value;
    }
}

/* Those inside, also such as are gone and still shown, together have no more. */
static void check_sums(const struct model *model, int at, size_t i)
{
    for (size_t k = 0; k < EVENTS; k++) {
        uint64_t inside = 0;
        for (int c = 0; c < NODES; c++)
            inside += model->nodes[c].parent == at ? model->nodes[c].rows[i].shown[k] : 0;
        assert_true(inside <= model->nodes[at].rows[i].shown[k]);
    }
}

static void check_all(struct model *model)
{
    for (int at = 0; at < NODES; at++)
        for (size_t i = 0; i < N_ROWS && model->nodes[at].there; i++) {
            if (i == 0)
                tallied_counts_update(model->nodes[at].counts);
            check_row(model, at, i);
        }
    for (int at = 0; at < NODES; at++)
        for (size_t i = 0; i < N_ROWS && model->nodes[at].there; i++)
            check_sums(model, at, i);
}

static void test_model(void **state)
{
    struct model *model = calloc(1, sizeof(*model));

    (void)state;
    srand(17);
    assert_non_null(model);
    tallied_rig_init(&model->rig, fake_machine_big_little(), configs[0]);
    for (int i = 0; i < NODES; i++) {
        model->nodes[i].parent = i == 0 ? -1 : (int)choose((unsigned)i);
        snprintf(model->nodes[i].label, sizeof(model->nodes[i].label), "/%d", i);
    }
    for (size_t step = 0; step < 8000; step++) {
        int at = (int)choose(NODES);
        unsigned what = choose(200);
        if (!model->nodes[at].there)
            come(model, at);
        else if (what < 4)
            go(model, at);
        else
            credit_random(model, at);
        if (what == 199 && choose(10) == 0)
            reload(model);
        if (what % 20 == 5)
            check_all(model);
    }
    for (int i = 0; i < NODES; i++)
        tallied_rig_close(&model->rig, model->nodes[i].counts);
    tallied_rig_done(&model->rig);
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
