/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a tally: see group-rows.h. */
#include "collectors/group-rows.h"

/* Whether the machine has CPUs of several kinds, and the group counts something that depends on the kind. */
static bool spans_kinds(const struct machine *machine, const struct config_group *group)
{
    size_t kinds = 0;
    bool depends = false;

    for (size_t i = 0; i < machine->n_pmus; i++)
        kinds += machine->pmus[i]->scope == PMU_CORE && cpuset_next(&machine->pmus[i]->cpus, -1) >= 0;
    for (int cpu = cpuset_next(&machine->possible, -1); cpu >= 0; cpu = cpuset_next(&machine->possible, cpu))
        for (size_t i = 0; i < group->n_events; i++) {
            const struct pmu *pmu = attr_pmu(machine, &group->events[i].event, (unsigned)cpu);
            depends |= pmu && pmu->scope != PMU_ANY;
        }
    return kinds > 1 && depends;
}

void sums_init(struct sums *sums, const struct machine *machine, const struct config_group *group, bool summed)
{
    *sums = (struct sums){.summed = summed, .spans = summed && spans_kinds(machine, group)};
}

void sums_done(struct sums *sums, struct snapshot *snapshot)
{
    for (size_t i = 0; i < sums->n; i++)
        sum_done(&sums->items[i], snapshot);
    free(sums->items);
    *sums = (struct sums){0};
}

/* Which row a part goes to */

/* How many perf groups the configured group became on the CPU of `parts[last]`. */
static unsigned count_parts(const struct part *parts, uint32_t last)
{
    unsigned n = 0;

    for (uint32_t i = 0; i <= last; i++)
        n += parts[i].cpu == parts[last].cpu;
    return n;
}

static struct sum *find_sum(const struct sums *sums, unsigned ordinal, int cpu, const char *pmu)
{
    for (size_t i = 0; i < sums->n; i++) {
        struct sum *sum = &sums->items[i];
        if (sum->ordinal == ordinal && sum->row->cpu == cpu && str_equal(sum->row->pmu, pmu))
            return sum;
    }
    return NULL;
}

/*
 * The hardware PMU of a perf group, else that of its first event. A sum goes by kinds of CPU: where these differ, or
 * where only this CPU lacks the hardware events that the others of its kind have, it is the CPU's PMU in any case.
 */
static const char *row_pmu(const struct sums *sums, const struct sum_key *key, const struct machine *machine,
                           const struct binding *binding, const struct part *part)
{
    const char *first = NULL;

    for (size_t i = 0; i < binding->n; i++) {
        const struct pmu *pmu = binding->attrs[i].pmu;
        if (!(part->members & event_bit(binding->events[i])))
            continue;
        if (pmu->scope != PMU_ANY)
            return pmu->name;
        first = first ? first : pmu->name;
    }
    if (sums->summed) {
        const char *core = machine_core_pmu(machine, (unsigned)part->cpu)->name;
        if (sums->spans || find_sum(sums, key->ordinal, key->cpu, core))
            return core;
    }
    return first;
}

/* Two rows of one name would show the same software event as the same series. */
static bool has_sibling(const struct sums *sums, const struct sum_key *key)
{
    for (size_t i = 0; i < sums->n; i++)
        if (sums->items[i].ordinal == key->ordinal && sums->items[i].row->cpu == key->cpu &&
            !str_equal(sums->items[i].row->pmu, key->pmu))
            return true;
    return false;
}

static struct sum_key key_of(const struct sums *sums, const struct collector_context *context,
                             const struct binding *binding, const struct place *place, const struct part *parts,
                             uint32_t part)
{
    struct sum_key key = {
        .ordinal = count_parts(parts, part),
        .cpu = sums->summed ? -1 : place->target.cpu,
        .group = binding->group->name,
        .cgroup = place->cgroup,
    };

    key.pmu = row_pmu(sums, &key, context->machine, binding, &parts[part]);
    key.own_pmu = !sums->spans && !has_sibling(sums, &key);
    return key;
}

int sums_add_part(struct sums *sums, const struct collector_context *context, const struct binding *binding,
                  const struct place *place, struct part *parts, uint32_t part)
{
    struct sum_key key = key_of(sums, context, binding, place, parts, part);
    struct sum *sum = find_sum(sums, key.ordinal, key.cpu, key.pmu);
    uint64_t members = parts[part].members;
    int r = 0;

    if (!sum) {
        r = array_grow(&sums->items, sums->n);
        if (r == 0)
            r = sum_init(&sums->items[sums->n], context, binding, &key, members);
        if (r < 0)
            return r;
        sum = &sums->items[sums->n++];
    } else if (members & ~sum->members) {
        r = sum_widen(sum, context, binding, &key, members | sum->members);
    }
    if (r == 0)
        sum_add_part(sum, parts, part);
    return r;
}

/* What they show */

void sums_check(struct sums *sums, const struct part *parts)
{
    for (size_t i = 0; i < sums->n; i++)
        sum_check(&sums->items[i], parts);
    sums->quiet = false;
}

bool sums_have(const struct sums *sums, size_t event, int cpu, const char *pmu)
{
    uint64_t bit = event_bit(event);

    for (size_t i = 0; i < sums->n; i++) {
        const struct sum *sum = &sums->items[i];
        int at = __builtin_popcountll(sum->members & (bit - 1));
        if ((sum->members & bit) && sum->row->cpu == cpu && str_equal(sum->row->counters[at].pmu, pmu))
            return true;
    }
    return false;
}

void sums_count(const struct sums *sums, size_t counts[N_ROW_STATES])
{
    for (size_t i = 0; i < sums->n; i++)
        counts[sums->items[i].row->state] += !sums->items[i].row->absent;
}
