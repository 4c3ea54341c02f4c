/* SPDX-License-Identifier: Apache-2.0 */
/* A tally that was started: see tally-run.h. */
#include "collectors/cgroup/tally-run.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "perf/sys.h"

/* A CPU that switches during a reading is read again; so often in a row it does not. */
#define TEST_READINGS 1000
/* Tries before a difference between the cgroups and the counters is believed. */
#define TEST_TRIES 10

struct tally_run *tally_run_free(struct tally_run *run)
{
    if (!run)
        return NULL;
    tally_reader_free(run->reader);
    free(run->sources);
    free(run);
    return NULL;
}

DEFINE_CLEANUP(struct tally_run *, tally_run_free);

int tally_run_set_cpus(struct tally_run *run, const struct tally_groups *groups, struct error *error)
{
    int any = 0, failed = 0;

    for (unsigned cpu = 0; cpu < run->shape.cpus; cpu++) {
        struct tally_sources sources;
        tally_groups_describe(groups, cpu, &sources);
        if (tally_sources_match(&sources, &run->sources[cpu]))
            continue;
        int r = run->sys->tally->set_cpu(run->sys, cpu, sources.events, sources.fds);
        /* The counters of the program are then none that can be read. */
        if (r < 0)
            sources = (struct tally_sources){0};
        tally_reader_set_cpu(run->reader, cpu, sources.events);
        run->sources[cpu] = sources;
        failed = r < 0 ? r : failed;
        any |= r == 0;
    }
    return failed == 0 ? any
                       : error_set(error, failed, "cannot give the counters to the program in the kernel: %s",
                                   strerror(-failed));
}

int tally_run_new(struct sys *sys, const struct tally_shape *shape, const struct tally_groups *groups,
                  struct tally_run **ret, struct error *error)
{
    _cleanup_(tally_run_freep) struct tally_run *run = calloc(1, sizeof(*run));
    struct tally_maps maps;

    if (!run)
        return error_oom(error);
    run->sys = sys;
    run->shape = *shape;
    run->sources = calloc(shape->cpus, sizeof(run->sources[0]));
    if (!run->sources)
        return error_oom(error);
    int r = sys->tally->start(sys, shape, &maps, error);
    if (r < 0)
        return r;
    r = tally_reader_new(sys, shape, &maps, &run->reader);
    sys->close(sys, maps.counts);
    sys->close(sys, maps.records);
    if (r < 0)
        return error_set(error, r, "cannot map what the program in the kernel counts: %s", strerror(-r));
    r = tally_run_set_cpus(run, groups, error);
    if (r < 0)
        return r;
    *ret = steal(run);
    return 0;
}

/* --- reading --- */

struct tally_counters {
    struct tally_groups *groups;
    struct sys *sys;
    uint64_t words[TALLY_WORDS_MAX], valid; /* as of the last reading */
};

static int counters_read(void *userdata, unsigned cpu, uint64_t *words, uint64_t *ret_valid)
{
    struct tally_counters *counters = userdata;
    int r = tally_groups_read(counters->groups, counters->sys, cpu, words, ret_valid);

    memcpy(counters->words, words, sizeof(counters->words));
    counters->valid = r == 0 ? *ret_valid : 0;
    return r;
}

static int run_read_cpu(struct tally_run *run, struct tally_counters *counters, unsigned cpu, uint32_t first,
                        uint32_t last, tally_credit credit, void *userdata)
{
    uint64_t delta[TALLY_WORDS_MAX];
    int r = tally_reader_read(run->reader, cpu, counters_read, counters);

    for (uint32_t slot = first; slot <= last; slot++) {
        slot = tally_reader_take(run->reader, cpu, slot, last + 1, delta);
        if (slot == TALLY_SLOT_NONE)
            break;
        credit(userdata, slot, cpu, delta);
    }
    return r;
}

static bool run_has_cpu(const struct tally_run *run, unsigned cpu)
{
    for (uint32_t i = 0; i < run->shape.events; i++)
        if (run->sources[cpu].events[i].source != TALLY_NONE)
            return true;
    return false;
}

size_t tally_run_read(struct tally_run *run, struct tally_groups *groups, uint32_t first, uint32_t last,
                      tally_credit credit, void *userdata)
{
    struct tally_counters counters = {.groups = groups, .sys = run->sys};
    size_t n = 0;

    last = MIN(last, run->shape.slots - 1);
    for (unsigned cpu = 0; cpu < run->shape.cpus; cpu++)
        if (run_has_cpu(run, cpu))
            n += run_read_cpu(run, &counters, cpu, first, last, credit, userdata) >= 0;
    return n;
}

bool tally_run_is_idle(const struct tally_run *run, uint32_t slot)
{
    for (unsigned cpu = 0; cpu < run->shape.cpus; cpu++)
        if (run_has_cpu(run, cpu) && tally_reader_running(run->reader, cpu) == slot)
            return false;
    return true;
}

/* --- the test --- */

/* The sums over all slots of a CPU. */
struct tally_sum {
    uint32_t words;
    uint64_t sums[TALLY_WORDS_MAX];
    tally_credit credit;
    void *userdata;
};

static void sum_add(void *userdata, uint32_t slot, unsigned cpu, const uint64_t *delta)
{
    struct tally_sum *sum = userdata;

    for (uint32_t i = 0; i < sum->words; i++)
        sum->sums[i] += delta[i];
    sum->credit(sum->userdata, slot, cpu, delta);
}

/* Reads until a reading is of one moment. */
static bool read_exactly(struct tally_run *run, struct tally_counters *counters, unsigned cpu, struct tally_sum *sum)
{
    for (size_t i = 0; i < TEST_READINGS; i++) {
        int r = run_read_cpu(run, counters, cpu, 0, run->shape.slots - 1, sum_add, sum);
        if (r < 0)
            return false;
        if (r == 1 && tally_reader_is_exact(run->reader, cpu))
            return true;
    }
    return false;
}

/* The first word with a sum that is not what its counter advanced; the number of words where all agree. */
static uint32_t find_difference(const struct tally_sum *sum, const struct tally_counters *before,
                                const struct tally_counters *after)
{
    uint32_t i = 0;

    while (i < sum->words &&
           (!((before->valid & after->valid) >> i & 1) || after->words[i] - before->words[i] == sum->sums[i]))
        i++;
    return i;
}

/* A difference that the next readings do not have was of stores that were not visible yet. */
static int run_test_cpu(struct tally_run *run, struct tally_groups *groups, unsigned cpu, struct tally_sum *sum,
                        struct error *error)
{
    struct tally_counters before = {.groups = groups, .sys = run->sys}, after = before;
    bool exact = read_exactly(run, &before, cpu, sum);
    uint32_t word = 0;

    memset(sum->sums, 0, sizeof(sum->sums));
    for (size_t i = 0; i < TEST_TRIES && exact; i++) {
        exact = read_exactly(run, &after, cpu, sum);
        word = find_difference(sum, &before, &after);
        if (exact && word == sum->words)
            return 0;
    }
    if (!exact)
        return error_set(error, -EBADE, "the program in the kernel does not say what runs on CPU %u", cpu);
    return error_set(error, -EBADE,
                     "the program in the kernel gave %" PRIu64 " to cgroups on CPU %u where a counter says %" PRIu64,
                     sum->sums[word], cpu, after.words[word] - before.words[word]);
}

int tally_run_test(struct tally_run *run, struct tally_groups *groups, tally_credit credit, void *userdata,
                   struct error *error)
{
    struct tally_sum sum = {.words = tally_words(&run->shape), .credit = credit, .userdata = userdata};
    int r = 0;

    for (unsigned cpu = 0; cpu < run->shape.cpus && r == 0; cpu++)
        if (run_has_cpu(run, cpu))
            r = run_test_cpu(run, groups, cpu, &sum, error);
    return r;
}
