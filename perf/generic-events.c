/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/generic-events.h"

#include <stdio.h>
#include <strings.h>

#include "base/number.h"
#include "perf/perf-event.h"

#define HARDWARE(id) .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##id
#define SOFTWARE(id) .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##id

/* clang-format off */
const struct generic_event generic_events[] = {
    {"cycles", {"cpu-cycles"}, HARDWARE(CPU_CYCLES), "cycles", false, "CPU cycles."},
    {"instructions", {0}, HARDWARE(INSTRUCTIONS), "instructions", false, "Instructions retired."},
    {"branches", {"branch-instructions"}, HARDWARE(BRANCH_INSTRUCTIONS), "branches", false,
     "Branch instructions retired."},
    {"branch-misses", {0}, HARDWARE(BRANCH_MISSES), "branch_misses", false, "Mispredicted branches."},
    {"cache-references", {0}, HARDWARE(CACHE_REFERENCES), "cache_references", false,
     "Cache accesses, usually to the last level."},
    {"cache-misses", {0}, HARDWARE(CACHE_MISSES), "cache_misses", false,
     "Cache accesses that missed, usually in the last level."},
    {"bus-cycles", {0}, HARDWARE(BUS_CYCLES), "bus_cycles", false, "Bus cycles."},
    {"ref-cycles", {0}, HARDWARE(REF_CPU_CYCLES), "ref_cycles", false,
     "CPU cycles at the reference frequency, whatever the actual one."},
    {"stalled-cycles-frontend", {"idle-cycles-frontend"}, HARDWARE(STALLED_CYCLES_FRONTEND),
     "stalled_cycles_frontend", false, "Cycles in which the frontend of the pipeline stalled."},
    {"stalled-cycles-backend", {"idle-cycles-backend"}, HARDWARE(STALLED_CYCLES_BACKEND),
     "stalled_cycles_backend", false, "Cycles in which the backend of the pipeline stalled."},
    {"cpu-clock", {0}, SOFTWARE(CPU_CLOCK), "cpu_clock", true, "Time measured by the CPU clock."},
    {"task-clock", {0}, SOFTWARE(TASK_CLOCK), "task_clock", true, "Time that tasks ran."},
    {"page-faults", {"faults"}, SOFTWARE(PAGE_FAULTS), "page_faults", false, "Page faults."},
    {"context-switches", {"cs"}, SOFTWARE(CONTEXT_SWITCHES), "context_switches", false, "Context switches."},
    {"cpu-migrations", {"migrations"}, SOFTWARE(CPU_MIGRATIONS), "cpu_migrations", false,
     "Tasks that moved to another CPU."},
    {"minor-faults", {0}, SOFTWARE(PAGE_FAULTS_MIN), "minor_faults", false, "Page faults that needed no I/O."},
    {"major-faults", {0}, SOFTWARE(PAGE_FAULTS_MAJ), "major_faults", false, "Page faults that needed I/O."},
    {"alignment-faults", {0}, SOFTWARE(ALIGNMENT_FAULTS), "alignment_faults", false,
     "Unaligned accesses that the kernel had to handle."},
    {"emulation-faults", {0}, SOFTWARE(EMULATION_FAULTS), "emulation_faults", false,
     "Instructions that the kernel had to emulate."},
    {"cgroup-switches", {0}, SOFTWARE(CGROUP_SWITCHES), "cgroup_switches", false,
     "Context switches to a task of another cgroup."},
    {"bpf-output", {0}, SOFTWARE(BPF_OUTPUT), "bpf_output", false, "Records written by BPF programs."},
    {"dummy", {0}, SOFTWARE(DUMMY), "dummy", false, "Nothing: a placeholder that stays 0."},
};
/* clang-format on */
const size_t n_generic_events = ARRAY_SIZE(generic_events);

static bool same_name(const char *name, const char *text, size_t size)
{
    return name && strlen(name) == size && strncasecmp(name, text, size) == 0;
}

const struct generic_event *generic_find(const char *name, size_t size)
{
    for (size_t i = 0; i < n_generic_events; i++) {
        const struct generic_event *event = &generic_events[i];
        if (same_name(event->name, name, size))
            return event;
        for (size_t k = 0; k < ARRAY_SIZE(event->aliases); k++)
            if (same_name(event->aliases[k], name, size))
                return event;
    }
    return NULL;
}

#define RAW_DIGITS_MAX 16

int generic_parse_raw(const char *text, size_t size, uint64_t *ret_config)
{
    size_t prefix = size > 3 && text[1] == '0' && text[2] == 'x' ? 3 : 1;

    if (size <= prefix || text[0] != 'r' || strspn(text + prefix, "0123456789abcdefABCDEF") < size - prefix)
        return -EINVAL;
    return size - prefix > RAW_DIGITS_MAX ? -ERANGE : number_parse_hex_n(text + prefix, size - prefix, ret_config);
}

const struct generic_event *generic_find_config(uint32_t type, uint64_t config)
{
    for (size_t i = 0; i < n_generic_events; i++)
        if (generic_events[i].type == type && generic_events[i].config == config)
            return &generic_events[i];
    return NULL;
}

#define READ (1 << PERF_COUNT_HW_CACHE_OP_READ)
#define WRITE (1 << PERF_COUNT_HW_CACHE_OP_WRITE)
#define PREFETCH (1 << PERF_COUNT_HW_CACHE_OP_PREFETCH)
#define N_RESULTS 2

/*
 * A cache, operation or result in the name of a cache event. The index of a word in its table is the number that the
 * kernel uses.
 */
struct cache_word {
    const char *names[5];
    unsigned operations; /* the operations that a cache supports */
};

static const struct cache_word caches[] = {
    [PERF_COUNT_HW_CACHE_L1D] = {{"L1-dcache", "l1-d", "l1d", "L1-data"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_L1I] = {{"L1-icache", "l1-i", "l1i", "L1-instruction"}, READ | PREFETCH},
    [PERF_COUNT_HW_CACHE_LL] = {{"LLC", "L2"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_DTLB] = {{"dTLB", "d-tlb", "Data-TLB"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_ITLB] = {{"iTLB", "i-tlb", "Instruction-TLB"}, READ},
    [PERF_COUNT_HW_CACHE_BPU] = {{"branch", "branches", "bpu", "btb", "bpc"}, READ},
    [PERF_COUNT_HW_CACHE_NODE] = {{"node"}, READ | WRITE | PREFETCH},
};

static const struct cache_word operations[] = {
    [PERF_COUNT_HW_CACHE_OP_READ] = {.names = {"load", "loads", "read"}},
    [PERF_COUNT_HW_CACHE_OP_WRITE] = {.names = {"store", "stores", "write"}},
    [PERF_COUNT_HW_CACHE_OP_PREFETCH] = {.names = {"prefetch", "prefetches", "speculative-read", "speculative-load"}},
};

static const struct cache_word results[N_RESULTS] = {
    [PERF_COUNT_HW_CACHE_RESULT_ACCESS] = {.names = {"refs", "Reference", "ops", "access"}},
    [PERF_COUNT_HW_CACHE_RESULT_MISS] = {.names = {"misses", "miss"}},
};

/*
 * Finds the word at *at, which ends at the next "-" or at the end, and moves *at past it. The longest name wins,
 * because some names are prefixes of others. Returns the word's index, or -1.
 */
static int take_cache_word(const struct cache_word *words, size_t n, const char *text, size_t size, size_t *at)
{
    size_t longest = 0;
    int found = -1;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ARRAY_SIZE(words[i].names) && words[i].names[k]; k++) {
            size_t length = strlen(words[i].names[k]);
            if (length <= longest || length > size - *at || strncasecmp(words[i].names[k], text + *at, length) != 0)
                continue;
            if (*at + length != size && text[*at + length] != '-')
                continue;
            longest = length;
            found = (int)i;
        }
    *at = MIN(*at + longest + 1, size);
    return found;
}

static uint64_t cache_config(unsigned cache, unsigned operation, unsigned result)
{
    return cache | operation << 8 | result << 16;
}

void generic_format_cache(uint64_t config, char *text, size_t size)
{
    const struct cache_word *cache = &caches[config & 0xff], *operation = &operations[config >> 8 & 0xff];

    if (config >> 16 == PERF_COUNT_HW_CACHE_RESULT_MISS)
        snprintf(text, size, "%s-%s-misses", cache->names[0], operation->names[0]);
    else
        snprintf(text, size, "%s-%s", cache->names[0], operation->names[1]);
}

bool generic_parse_cache(const char *text, size_t size, uint64_t *ret_config)
{
    size_t at = 0;

    int operation = -1, result = -1, cache = take_cache_word(caches, ARRAY_SIZE(caches), text, size, &at);
    if (cache < 0 || text[size - 1] == '-')
        return false;
    /* Operation and result come in either order, and each may be omitted: "LLC-misses" are load misses. */
    while (at < size) {
        size_t before = at;
        if (operation < 0)
            operation = take_cache_word(operations, ARRAY_SIZE(operations), text, size, &at);
        if (at != before && operation >= 0)
            continue;
        at = before;
        if (result >= 0 || (result = take_cache_word(results, ARRAY_SIZE(results), text, size, &at)) < 0)
            return false;
    }
    operation = MAX(operation, PERF_COUNT_HW_CACHE_OP_READ);
    result = MAX(result, PERF_COUNT_HW_CACHE_RESULT_ACCESS);
    if (!(caches[cache].operations & 1u << operation))
        return false;
    *ret_config = cache_config((unsigned)cache, (unsigned)operation, (unsigned)result);
    return true;
}

bool generic_find_cache(size_t n, char *text, size_t size, uint64_t *ret_config)
{
    for (unsigned cache = 0; cache < ARRAY_SIZE(caches); cache++) {
        for (unsigned operation = 0; operation < ARRAY_SIZE(operations); operation++) {
            if (!(caches[cache].operations & 1u << operation))
                continue;
            if (n < N_RESULTS) {
                *ret_config = cache_config(cache, operation, (unsigned)n);
                generic_format_cache(*ret_config, text, size);
                return true;
            }
            n -= N_RESULTS;
        }
    }
    return false;
}
