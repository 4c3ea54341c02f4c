/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The total of the slot that runs on a CPU is its entry plus the increase of the counters over the record's base. The
 * totals of all other slots are in their entries and do not change. The reader remembers the totals that it has
 * returned for each slot, so that the next reading returns only the increase.
 */
#include "bpf/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "perf/sys.h"

#define TRIES 3

/* Loads a 64-bit word in one access, even on 32-bit architectures. */
#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

struct reader_cpu {
    struct bpf_event events[BPF_EVENTS_MAX];
    uint8_t groups[BPF_GROUPS_MAX]; /* the groups with events on this CPU */
    uint8_t n_groups;
    /*
     * The times of groups[0] were unreadable once, so the times of other groups may have grown although those of
     * groups[0] have not.
     */
    bool is_split;
    bool over;         /* the events have been set: the record is outdated until its seq differs from over_seq */
    uint64_t over_seq; /* seq of the record when the events were set */
    /* State at the last reading. */
    uint64_t seq;
    uint32_t running;
    bool consistent;
    /* State at the last consistent reading. */
    uint32_t live, epoch;
};

struct bpf_reader {
    struct sys *sys;
    struct bpf_shape shape;
    size_t words;
    const uint64_t *counts;
    const struct bpf_record *records;
    size_t counts_size, records_size;
    uint64_t *taken;  /* the part of `counts` that was already read, with the same layout */
    uint64_t *clocks; /* compact copy of time_enabled of groups[0] in `taken`, by CPU and slot */
    struct reader_cpu *cpus;
    uint64_t totals[BPF_WORDS_MAX]; /* totals of the slot that ran at the last reading, if that was consistent */
    uint64_t moves;                 /* sum of `moves` of all CPUs at the last bpf_reader_saw_moves() */
};

static size_t slot_at(const struct bpf_reader *reader, unsigned cpu, uint32_t slot)
{
    return (size_t)cpu * reader->shape.slots + slot;
}

static size_t entry_at(const struct bpf_reader *reader, unsigned cpu, uint32_t slot)
{
    return slot_at(reader, cpu, slot) * reader->words;
}

/* The word of a group's time_enabled; the next word is its time_running. */
static size_t enabled_of(const struct bpf_reader *reader, uint8_t group)
{
    return reader->shape.events + 2 * (size_t)group;
}

static void clock_keep(struct bpf_reader *reader, unsigned cpu, uint32_t slot)
{
    reader->clocks[slot_at(reader, cpu, slot)] =
        reader->taken[entry_at(reader, cpu, slot) + enabled_of(reader, reader->cpus[cpu].groups[0])];
}

/* Maps zeros, at least one byte; untouched pages use no memory. Returns NULL if out of memory. */
static void *map_zeros(size_t size)
{
    void *address = mmap(NULL, MAX(size, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return address == MAP_FAILED ? NULL : address;
}

int bpf_reader_new(struct sys *sys, const struct bpf_shape *shape, const struct bpf_maps *maps, struct bpf_reader **ret)
{
    size_t size, entry = bpf_words(shape) * sizeof(uint64_t);
    bool overflows =
        __builtin_mul_overflow(shape->cpus, shape->slots, &size) || __builtin_mul_overflow(size, entry, &size);
    struct bpf_reader *reader = overflows ? NULL : calloc(1, sizeof(*reader));

    if (!reader)
        return -ENOMEM;
    *reader = (struct bpf_reader){
        .sys = sys,
        .shape = *shape,
        .words = bpf_words(shape),
        .counts_size = size,
        .records_size = shape->cpus * sizeof(struct bpf_record),
        .taken = map_zeros(size),
        .clocks = calloc((size_t)shape->cpus * shape->slots, sizeof(uint64_t)),
        .cpus = calloc(shape->cpus, sizeof(struct reader_cpu)),
    };
    int r = reader->taken && reader->clocks && reader->cpus ? 0 : -ENOMEM;
    if (r == 0)
        r = sys_mmap(sys, maps->counts, reader->counts_size, PROT_READ, (void **)&reader->counts);
    if (r == 0)
        r = sys_mmap(sys, maps->records, reader->records_size, PROT_READ, (void **)&reader->records);
    if (r < 0) {
        bpf_reader_free(reader);
        return r;
    }
    for (uint32_t cpu = 0; cpu < shape->cpus; cpu++)
        reader->cpus[cpu].running = reader->cpus[cpu].live = BPF_SLOT_NONE;
    *ret = reader;
    return 0;
}

struct bpf_reader *bpf_reader_free(struct bpf_reader *reader)
{
    if (!reader)
        return NULL;
    if (reader->counts)
        sys_munmap(reader->sys, (void *)reader->counts, reader->counts_size);
    if (reader->records)
        sys_munmap(reader->sys, (void *)reader->records, reader->records_size);
    if (reader->taken)
        munmap(reader->taken, MAX(reader->counts_size, 1));
    free(reader->clocks);
    free(reader->cpus);
    free(reader);
    return NULL;
}

void bpf_reader_set_cpu(struct bpf_reader *reader, unsigned cpu, const struct bpf_event *events)
{
    struct reader_cpu *c = &reader->cpus[cpu];
    uint64_t have = 0;

    memcpy(c->events, events, reader->shape.events * sizeof(*events));
    c->n_groups = 0;
    for (uint32_t i = 0; i < reader->shape.events; i++) {
        if (events[i].source == SOURCE_NONE || have & UINT64_C(1) << events[i].group)
            continue;
        have |= UINT64_C(1) << events[i].group;
        c->groups[c->n_groups++] = events[i].group;
    }
    for (uint32_t slot = 0; slot < reader->shape.slots && c->n_groups > 0; slot++)
        clock_keep(reader, cpu, slot);
    c->is_split = false;
    c->over = true;
    c->over_seq = LOAD(reader->records[cpu].seq);
}

/* Copies `switches` and the fields that the check covers. Returns whether the copy is consistent. */
static bool copy_record(const struct bpf_reader *reader, const struct bpf_record *from, struct bpf_record *ret)
{
    ret->check = LOAD(from->check);
    ret->seq = LOAD(from->seq);
    ret->slot = LOAD(from->slot);
    ret->epoch = LOAD(from->epoch);
    ret->valid = LOAD(from->valid);
    ret->switches = LOAD(from->switches);
    uint64_t check = bpf_check_begin(ret->seq, ret->slot, ret->epoch, ret->valid);
    for (size_t i = 0; i < reader->words; i++) {
        ret->base[i] = LOAD(from->base[i]);
        check = bpf_check_step(check, ret->base[i]);
    }
    return check == ret->check;
}

/* Fills in the words that are not read from counters. */
static void complete(const struct bpf_reader *reader, unsigned cpu, uint64_t switches, uint64_t *words, uint64_t *valid)
{
    const struct bpf_event *events = reader->cpus[cpu].events;

    for (uint32_t i = 0; i < reader->shape.events; i++) {
        uint32_t running = reader->shape.events + 2 * events[i].group + 1U;
        uint64_t bit = UINT64_C(1) << i;
        if (events[i].source == SOURCE_READ)
            continue;
        *valid &= ~bit;
        if (events[i].source == SOURCE_NONE)
            continue;
        words[i] = events[i].source == SOURCE_SWITCHES ? switches : words[running];
        if (events[i].source == SOURCE_SWITCHES || *valid >> running & 1)
            *valid |= bit;
    }
}

/*
 * When a new epoch begins, the program discards the counts of the running slot since the CPU's last switch. The reader
 * has already returned them, so it sets its remembered total back to the value in the entry.
 */
static void begin_epoch(struct bpf_reader *reader, unsigned cpu, uint32_t slot)
{
    size_t at = entry_at(reader, cpu, slot);

    for (size_t i = at; i < at + reader->words; i++) {
        uint64_t entry = LOAD(reader->counts[i]);
        if ((int64_t)(reader->taken[i] - entry) > 0)
            reader->taken[i] = entry;
    }
    clock_keep(reader, cpu, slot);
}

static void copy_entry(const struct bpf_reader *reader, unsigned cpu, uint32_t slot, uint64_t *ret)
{
    for (size_t i = 0; i < reader->words && slot < reader->shape.slots; i++)
        ret[i] = LOAD(reader->counts[entry_at(reader, cpu, slot) + i]);
}

/* Words only grow, so an entry that is equal before and after the counters were read had that value in between. */
static bool is_entry(const struct bpf_reader *reader, unsigned cpu, uint32_t slot, const uint64_t *words)
{
    for (size_t i = 0; i < reader->words && slot < reader->shape.slots; i++)
        if (LOAD(reader->counts[entry_at(reader, cpu, slot) + i]) != words[i])
            return false;
    return true;
}

/* `record`, `words` and the entry in reader->totals must be from the same moment. */
static void take_record(struct bpf_reader *reader, unsigned cpu, const struct bpf_record *record, uint64_t *words,
                        uint64_t valid)
{
    struct reader_cpu *c = &reader->cpus[cpu];

    if (c->epoch != record->epoch && c->live != BPF_SLOT_NONE)
        begin_epoch(reader, cpu, c->live);
    c->epoch = record->epoch;
    c->live = record->slot < reader->shape.slots ? record->slot : BPF_SLOT_NONE;
    if (c->live == BPF_SLOT_NONE)
        return;
    complete(reader, cpu, record->switches, words, &valid);
    valid &= record->valid;
    c->is_split |= !(valid >> enabled_of(reader, c->groups[0]) & 1);
    for (size_t i = 0; i < reader->words; i++)
        if (valid >> i & 1)
            reader->totals[i] += words[i] - record->base[i];
}

int bpf_reader_read(struct bpf_reader *reader, unsigned cpu, bpf_read_now now, void *userdata)
{
    const struct bpf_record *from = &reader->records[cpu];
    struct reader_cpu *c = &reader->cpus[cpu];
    uint64_t words[BPF_WORDS_MAX] = {0}, valid = 0;
    struct bpf_record record = {0};
    int r = 0;

    c->consistent = false;
    for (unsigned try = 0; try < TRIES && r == 0 && !c->consistent; try++) {
        uint32_t slot = LOAD(from->slot);
        c->seq = LOAD(from->seq);
        copy_entry(reader, cpu, slot, reader->totals);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        r = now(userdata, cpu, words, &valid);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        c->over = c->over && LOAD(from->seq) == c->over_seq;
        c->consistent = r == 0 && !c->over && copy_record(reader, from, &record) && record.seq == c->seq &&
                        record.slot == slot && is_entry(reader, cpu, slot, reader->totals);
    }
    if (c->consistent)
        take_record(reader, cpu, &record, words, valid);
    c->running = c->over ? BPF_SLOT_NONE : c->consistent ? record.slot : LOAD(from->slot);
    return r < 0 ? r : c->consistent;
}

/*
 * Returns how much a word has grown. The word is less than what was already returned if its entry is not visible yet,
 * or if more time was attributed to the slot than the slot ran.
 */
static uint64_t growth(uint64_t now, uint64_t taken)
{
    return (int64_t)(now - taken) > 0 ? now - taken : 0;
}

/* If a group's time_enabled has not grown, no word of the group has grown. */
static bool has_grown(const struct bpf_reader *reader, const struct reader_cpu *c, const uint64_t *words,
                      const uint64_t *taken)
{
    for (size_t i = 0; i < c->n_groups; i++) {
        size_t enabled = enabled_of(reader, c->groups[i]);
        if (growth(LOAD(words[enabled]), taken[enabled]))
            return true;
    }
    return false;
}

/*
 * Enabled time is returned even if nothing else has grown: then the group is starved, or the rest is not visible yet.
 * The growth of a value is returned only together with running time, and running time only together with enabled time
 * and never more than that.
 */
static void take_words(const struct bpf_reader *reader, const struct reader_cpu *c, const uint64_t *words,
                       uint64_t *taken, uint64_t *delta)
{
    uint32_t n = reader->shape.events;

    memset(delta, 0, reader->words * sizeof(*delta));
    for (size_t i = 0; i < c->n_groups; i++) {
        size_t enabled = enabled_of(reader, c->groups[i]), running = enabled + 1;
        delta[enabled] = growth(LOAD(words[enabled]), taken[enabled]);
        uint64_t limit = growth(taken[enabled] + delta[enabled], taken[running]);
        delta[running] = growth(LOAD(words[running]), taken[running]);
        if (delta[enabled] == 0 || delta[running] > limit)
            delta[running] = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        if (c->events[i].source != SOURCE_NONE && delta[n + 2 * c->events[i].group + 1])
            delta[i] = growth(LOAD(words[i]), taken[i]);
    for (size_t i = 0; i < reader->words; i++)
        taken[i] += delta[i];
}

uint32_t bpf_reader_take(struct bpf_reader *reader, unsigned cpu, uint32_t from, uint32_t slots, uint64_t *delta)
{
    const struct reader_cpu *c = &reader->cpus[cpu];
    size_t clock = enabled_of(reader, c->groups[0]);

    for (uint32_t slot = from; slot < slots && c->n_groups > 0; slot++) {
        size_t at = entry_at(reader, cpu, slot);
        const uint64_t *words = c->consistent && slot == c->live ? reader->totals : &reader->counts[at];
        if (!c->is_split && LOAD(words[clock]) == reader->clocks[slot_at(reader, cpu, slot)])
            continue;
        if (!has_grown(reader, c, words, &reader->taken[at]))
            continue;
        take_words(reader, c, words, &reader->taken[at], delta);
        clock_keep(reader, cpu, slot);
        return slot;
    }
    return BPF_SLOT_NONE;
}

bool bpf_reader_saw_moves(struct bpf_reader *reader)
{
    uint64_t moves = 0, before = reader->moves;

    for (uint32_t cpu = 0; cpu < reader->shape.cpus; cpu++)
        moves += LOAD(reader->records[cpu].moves);
    reader->moves = moves;
    return moves != before;
}

uint32_t bpf_reader_running(const struct bpf_reader *reader, unsigned cpu)
{
    return reader->cpus[cpu].running;
}

bool bpf_reader_is_exact(const struct bpf_reader *reader, unsigned cpu)
{
    const struct reader_cpu *c = &reader->cpus[cpu];

    return c->consistent && c->live != BPF_SLOT_NONE && LOAD(reader->records[cpu].seq) == c->seq;
}
