/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of a daemon on a machine that is played: see played_describe() in played-daemon.h. Parts of a group
 * ("core" and "core-2") are added up: an event that was refused once, and then alone was not, is in one of its own.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "formats/exposition.h"
#include "tests/faults/faults.h"
#include "tests/faults/played-daemon.h"
#include "tests/faults/residue.h"

#define ROUND_NS 1000
/* The collector self is read no more often than once in a second. */
#define BEFORE_NS (2 * NSEC_PER_SEC)
#define AMOUNTS_MAX 512

/* A sum over the parts of a group. */
struct amount {
    char key[160];
    uint64_t value;
};

struct amounts {
    struct amount items[AMOUNTS_MAX];
    size_t n;
};

static void run_round(struct played *played)
{
    char path[8];

    truth_advance(&played->truth, ROUND_NS);
    for (unsigned i = 1; i <= 4; i++) {
        snprintf(path, sizeof(path), "/c%u", i);
        for (unsigned cpu = 0; cpu < 2; cpu++)
            if (cpuset_has(&played->fake->online, cpu))
                truth_run(&played->truth, path, cpu, (i + cpu) * ROUND_NS);
    }
    played_scrape(played);
}

/* Takes "-2" from the end of a group's name. */
static void cut_part(char *group)
{
    size_t length = strlen(group);

    if (length > 2 && group[length - 2] == '-' && group[length - 1] >= '2' && group[length - 1] <= '9')
        group[length - 2] = '\0';
}

static uint64_t *find_amount(struct amounts *amounts, const struct row *row, const char *what)
{
    char key[sizeof(amounts->items[0].key)], group[64];

    snprintf(group, sizeof(group), "%s", row->group);
    cut_part(group);
    snprintf(key, sizeof(key), "%s %s %s %s cpu %d: %s", row->collector_name, row->cgroup ? row->cgroup : "", group,
             row->pmu, row->cpu, what);
    for (size_t i = 0; i < amounts->n; i++)
        if (str_equal(amounts->items[i].key, key))
            return &amounts->items[i].value;
    fault_expect(amounts->n < AMOUNTS_MAX, "too many rows for this test");
    struct amount *amount = &amounts->items[amounts->n++];
    memcpy(amount->key, key, sizeof(key));
    amount->value = 0;
    return &amount->value;
}

static void add_up(struct amounts *amounts, const struct snapshot *snapshot, bool states)
{
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->removed)
            continue;
        *find_amount(amounts, row, "descriptors") += states ? row->n_descriptors : 0;
        if (states && (row->state != ROW_COUNTING || row->absent))
            (*find_amount(amounts, row, row->absent ? "absent" : row_state_name(row->state)))++;
        for (size_t k = 0; k < row->n_counters; k++)
            if (row->counters[k].known)
                *find_amount(amounts, row, row->counters[k].event) += row->counters[k].value;
    }
}

static void describe_growth(struct amounts *before, const struct amounts *after, struct buffer *out)
{
    for (size_t i = 0; i < after->n; i++) {
        uint64_t then = 0;
        for (size_t k = 0; k < before->n; k++)
            if (str_equal(before->items[k].key, after->items[i].key))
                then = before->items[k].value;
        buffer_appendf(out, "%s +%" PRIu64 "\n", after->items[i].key, after->items[i].value - then);
    }
}

/* Of `group="core-2"`, too. */
static void cut_label(char *line)
{
    char *group = strstr(line, ",group=\""), *end = group ? strchr(group + 8, '"') : NULL;

    if (!end)
        return;
    char rest[512];
    snprintf(rest, sizeof(rest), "%s", end);
    *end = '\0';
    cut_part(group);
    strcpy(group + strlen(group), rest);
}

/* The lines of the exposition, each without its value. */
static void describe_series(const struct snapshot *snapshot, struct buffer *out)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    char *line, *at;

    exposition_write(&text, &snapshot->metrics, UINT32_MAX, EXPOSITION_TEXT);
    buffer_append_char(&text, '\0');
    at = text.data;
    while ((line = strsep(&at, "\n"))) {
        char *space = strrchr(line, ' ');
        if (line[0] == '#' || !space)
            continue;
        *space = '\0';
        cut_label(line);
        buffer_appendf(out, "%s\n", line);
    }
}

static void describe_open(const struct played *played, struct buffer *out)
{
    struct residue now = residue_now();

    buffer_appendf(out, "%u events, %u pages, %" PRIu64 " descriptors, %zu watches\n", played->fake->n_open,
                   played->fake->n_mapped, now.descriptors - played->n_descriptors, residue_count_watches());
}

void played_describe(struct played *played, struct buffer *out)
{
    struct amounts before = {.n = 0}, after = {.n = 0};

    if (!played->runs) {
        buffer_appendf(out, "nothing runs: %u events are open\n", played->fake->n_open);
        return;
    }
    const struct snapshot *snapshot = registry_read(played->daemon.session.registry, 0, 0);
    truth_advance(&played->truth, BEFORE_NS);
    run_round(played);
    add_up(&before, snapshot, false);
    run_round(played);
    add_up(&after, snapshot, true);
    describe_growth(&before, &after, out);
    describe_series(snapshot, out);
    describe_open(played, out);
}
