/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/faults/truth.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/faults/faults.h"

static const struct {
    const char *event;
    uint32_t type;
    uint64_t config, count;
} rates[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 3},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 5},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 7},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 11},
    {"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 13},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 17},
    {"minor_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 19},
    {"cpu_migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 23},
};

void truth_init(struct truth *truth, struct fake_sys *fake)
{
    *truth = (struct truth){.fake = fake};
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
        fake_rate(fake, (struct fake_rate){rates[i].type, rates[i].config, rates[i].count, 1});
}

void truth_done(struct truth *truth)
{
    free(truth->totals);
}

void truth_restart(struct truth *truth)
{
    for (size_t i = 0; i < truth->n_totals; i++)
        truth->totals[i].value = truth->totals[i].row = 0;
}

void truth_advance(struct truth *truth, uint64_t ns)
{
    faults_hold();
    fake_advance(truth->fake, ns);
    faults_release();
    for (size_t i = 0; i < TRUTH_CPUS_MAX; i++)
        truth->cpu_ns[i] += ns;
}

/* Looks up the inode each time, since a directory that was recreated is a new cgroup. */
static struct truth_cgroup *find_cgroup(struct truth *truth, const char *path)
{
    char full[PATH_MAX];
    struct stat st;

    snprintf(full, sizeof(full), "%s/sys/fs/cgroup%s", truth->fake->root, path);
    if (stat(full, &st) < 0)
        return NULL;
    for (size_t i = 0; i < truth->n_cgroups; i++)
        if (str_equal(truth->cgroups[i].path, path)) {
            truth->cgroups[i].inode = (int)st.st_ino;
            return &truth->cgroups[i];
        }
    fault_expect(truth->n_cgroups < TRUTH_CGROUPS_MAX, "too many cgroups for this test");
    struct truth_cgroup *cgroup = &truth->cgroups[truth->n_cgroups++];
    snprintf(cgroup->path, sizeof(cgroup->path), "%s", path);
    cgroup->inode = (int)st.st_ino;
    return cgroup;
}

void truth_run(struct truth *truth, const char *path, unsigned cpu, uint64_t ns)
{
    struct truth_cgroup *cgroup = find_cgroup(truth, path);

    if (!cgroup)
        return;
    faults_hold();
    fake_cgroup_run(truth->fake, cgroup->inode, cpu, ns);
    faults_release();
    cgroup->ns[cpu] += ns;
    if (truth->fake->bpf) /* with BPF, a cgroup's time also counts as time of the CPU */
        truth->cpu_ns[cpu] += ns;
}

static uint64_t sum_ns(const uint64_t *ns, int cpu)
{
    uint64_t sum = 0;

    for (int i = 0; i < TRUTH_CPUS_MAX; i++)
        sum += cpu < 0 || i == cpu ? ns[i] : 0;
    return sum;
}

/* Returns how long the row's target ran, in ns. */
static uint64_t time_of(const struct truth *truth, const struct row *row)
{
    if (!row->cgroup)
        return sum_ns(truth->cpu_ns, row->cpu);
    for (size_t i = 0; i < truth->n_cgroups; i++)
        if (str_equal(truth->cgroups[i].path, row->cgroup))
            return sum_ns(truth->cgroups[i].ns, row->cpu);
    return 0;
}

static uint64_t rate_of(const char *event)
{
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
        if (str_equal(rates[i].event, event))
            return rates[i].count;
    return 1;
}

/* Returns the last value of the total; 0 if it was never served. */
static struct truth_total *find_total(struct truth *truth, const struct row *row, const char *event)
{
    char key[sizeof(truth->totals[0].key)];

    snprintf(key, sizeof(key), "%s %s %s %s cpu %d %s", row->collector_name, row->cgroup ? row->cgroup : "", row->group,
             row->pmu, row->cpu, event);
    for (size_t i = 0; i < truth->n_totals; i++)
        if (str_equal(truth->totals[i].key, key))
            return &truth->totals[i];
    fault_expect(array_grow(&truth->totals, truth->n_totals) == 0, "out of memory");
    struct truth_total *total = &truth->totals[truth->n_totals++];
    *total = (struct truth_total){.value = 0};
    memcpy(total->key, key, sizeof(key));
    return total;
}

static void check_value(struct truth *truth, const struct row *row, const char *event, uint64_t value, uint64_t rate)
{
    struct truth_total *total = find_total(truth, row, event);
    uint64_t counted = time_of(truth, row) * rate;

    if ((truth->comes_and_goes && str_equal(row->group, truth->comes_and_goes)) ||
        (truth->cgroups_restart && row->cgroup))
        total->value = total->row = 0;
    fault_expect(!total->row || total->row == row->id + 1, "%s restarts at 0", total->key);
    total->row = row->id + 1;
    fault_expect(value >= total->value, "%s fell from %" PRIu64 " to %" PRIu64, total->key, total->value, value);
    fault_expect(value <= counted, "%s is %" PRIu64 ", but the machine counted %" PRIu64, total->key, value, counted);
    fault_expect(value % rate == 0, "%s is %" PRIu64 ", which includes counts of another event", total->key, value);
    total->value = value;
}

void truth_check_growth(const struct truth *truth, const char *event, int cpu, uint64_t growth)
{
    uint64_t rate = rate_of(event);

    fault_expect(growth <= sum_ns(truth->cpu_ns, cpu) * rate && growth % rate == 0,
                 "%s of CPU %d: the history has %" PRIu64 ", which was never counted", event, cpu, growth);
}

void truth_check(struct truth *truth, const struct snapshot *snapshot)
{
    faults_hold();
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->removed || row->state == ROW_UNAVAILABLE)
            continue;
        check_value(truth, row, "(enabled)", row->enabled_ns, 1);
        fault_expect(row->running_ns <= row->enabled_ns, "%s ran for longer than it was enabled", row->group);
        for (size_t k = 0; k < row->n_counters; k++)
            if (row->counters[k].known)
                check_value(truth, row, row->counters[k].event, row->counters[k].value,
                            rate_of(row->counters[k].event));
    }
    faults_release();
}
