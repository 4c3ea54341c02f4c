/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups that a tally counts, on a machine that a test plays: see tallied-rig.h. */
#include "tests/unit/tallied-rig.h"

#include "tests/unit/test.h"

static void resume_rows(struct tallied_rig *rig)
{
    assert_int_equal(tally_rows_resume(&rig->rows, &rig->tally.rig.context, &rig->tally.groups), 0);
}

void tallied_rig_init(struct tallied_rig *rig, struct fake_sys *fake, const char *config)
{
    *rig = (struct tallied_rig){0};
    lending_rig_init(&rig->tally, fake, config);
    resume_rows(rig);
}

void tallied_rig_done(struct tallied_rig *rig)
{
    tally_rows_free(rig->rows);
    lending_rig_done(&rig->tally);
}

void tallied_rig_configure(struct tallied_rig *rig, const char *config)
{
    lending_rig_configure(&rig->tally, config);
    resume_rows(rig);
}

void tallied_rig_rescan(struct tallied_rig *rig, const char *left)
{
    lending_rig_rescan(&rig->tally, left);
    resume_rows(rig);
}

struct tallied_counts *tallied_rig_open(struct tallied_rig *rig, const char *label)
{
    struct tallied_counts *counts = NULL;

    assert_int_equal(tallied_counts_new(rig->rows, &rig->tally.rig.context, label, NULL, &counts), 0);
    return counts;
}

void tallied_rig_resume(struct tallied_rig *rig, struct tallied_counts *counts, const char *label)
{
    assert_int_equal(tallied_counts_resume(counts, rig->rows, &rig->tally.rig.context, label, NULL), 0);
}

void tallied_rig_close(struct tallied_rig *rig, struct tallied_counts *counts)
{
    tallied_counts_free(counts, &rig->tally.rig.snapshot);
}

const struct tally_part *tallied_rig_part(const struct tallied_rig *rig, unsigned cpu, const char *row)
{
    for (uint32_t i = tally_rows_on_cpu(rig->rows, cpu); i != TALLY_PART_NONE; i = rig->rows->parts[i].next_on_cpu)
        if (str_equal(rig->rows->rows[rig->rows->parts[i].row].draft->name, row))
            return &rig->rows->parts[i];
    fail_msg("no row %s of CPU %u", row, cpu);
    return NULL;
}

unsigned tallied_rig_word(const struct tallied_rig *rig, const struct tally_part *part, size_t event)
{
    const struct tally_groups *groups = &rig->tally.groups;

    for (size_t i = 0; i < groups->collector.n; i++)
        if (str_equal(groups->spans[i].group->signature, rig->rows->rows[part->row].signature))
            return tally_span_word(&groups->spans[i], event);
    fail_msg("no words of row %u", part->row);
    return 0;
}

void tallied_rig_credit(const struct tallied_rig *rig, struct tallied_counts *const *chain, size_t n, unsigned cpu,
                        const char *row, struct scale_times times, uint64_t value)
{
    const struct tally_part *part = tallied_rig_part(rig, cpu, row);
    uint64_t delta[TALLY_WORDS_MAX] = {0};

    EVENTS_FOREACH (event, part->events)
        delta[tallied_rig_word(rig, part, event)] = value;
    delta[part->enabled] = times.enabled;
    delta[part->enabled + 1] = times.running;
    tallied_counts_credit(chain, n, cpu, delta);
}

void tallied_rig_read(struct tallied_rig *rig)
{
    CPUSET_FOREACH (cpu, &rig->tally.rig.machine->online) {
        uint64_t words[TALLY_WORDS_MAX], valid;
        tally_groups_read(&rig->tally.groups, rig->tally.rig.sys, (unsigned)cpu, words, &valid);
    }
    tally_rows_update(rig->rows);
}

uint64_t tallied_value(const struct tallied_rig *rig, const char *cgroup, const char *metric, const char *pmu,
                       const char *group)
{
    return series_value(&rig->tally.rig.snapshot, "perf_cgroup_%s_total{cgroup=\"%s\",pmu=\"%s\",group=\"%s\"}", metric,
                        cgroup, pmu, group);
}

const struct row *tallied_row(const struct tallied_rig *rig, const char *cgroup, const char *pmu, const char *group)
{
    for (size_t i = 0; i < rig->tally.rig.snapshot.n_rows; i++) {
        const struct row *row = rig->tally.rig.snapshot.rows[i];
        if (str_equal(row->cgroup, cgroup) && str_equal(row->pmu, pmu) && str_equal(row->group, group))
            return row;
    }
    return NULL;
}
