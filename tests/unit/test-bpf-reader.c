/* SPDX-License-Identifier: Apache-2.0 */
/* The map reader, when the stores of the BPF program become visible in arbitrary order. */
#include <errno.h>

#include "base/util.h"
#include "bpf/reader.h"
#include "perf/sys.h"
#include "tests/unit/test.h"

/*
 * The words of an entry: a hardware group of cycles and a clock, a software group of faults and switches, and the times
 * of both.
 */
enum { CYCLES, CLOCK, FAULTS, SWITCHES, ENABLED, RUNNING, ENABLED_2, RUNNING_2, WORDS };

#define CPUS 2
#define SLOTS 5
#define ALL 0xffU
#define STORES_MAX 256

struct simulated_store {
    void *to;
    uint64_t value;
};

static struct simulated {
    struct sys sys;
    /* The maps as the program has written them, and as the reader sees them. */
    uint64_t counts[CPUS][SLOTS][WORDS], seen[CPUS][SLOTS][WORDS];
    struct bpf_record records[CPUS], seen_records[CPUS];
    struct simulated_store stores[STORES_MAX]; /* stores that the reader does not see yet */
    size_t n_stores;
    uint64_t now[CPUS][WORDS], valid;
    int error, refused;              /* the errno of now(), and the descriptor that cannot be mapped */
    void (*meanwhile)(unsigned cpu); /* called at the end of now(), which reads the counters */
    unsigned calls;
    uint64_t random;
    uint64_t taken[SLOTS][WORDS], truth[SLOTS][WORDS];
    struct bpf_reader *reader;
} p;

static const struct bpf_shape shape = {.cpus = CPUS, .slots = SLOTS, .events = 4, .groups = 2};

static const struct bpf_event events[] = {
    {.source = SOURCE_READ, .group = 0, .gives_times = 1},
    {.source = SOURCE_RUNNING, .group = 0},
    {.source = SOURCE_READ, .group = 1, .gives_times = 1},
    {.source = SOURCE_SWITCHES, .group = 1},
};

static int simulated_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    assert_int_equal(protection, 1);
    assert_int_equal(size, fd == 3 ? sizeof(p.counts) : sizeof(p.records));
    if (fd == p.refused)
        return -EPERM;
    *ret = fd == 3 ? (void *)p.seen : (void *)p.seen_records;
    return 0;
}

static int simulated_munmap(struct sys *sys, void *address, size_t size)
{
    return 0;
}

/* Makes all stores visible. */
static void settle(void)
{
    memcpy(p.seen, p.counts, sizeof(p.seen));
    memcpy(p.seen_records, p.records, sizeof(p.seen_records));
    p.n_stores = 0;
}

static void store(void *own, void *seen, uint64_t value)
{
    memcpy(own, &value, sizeof(value));
    assert_true(p.n_stores < STORES_MAX);
    p.stores[p.n_stores++] = (struct simulated_store){seen, value};
}

/* Simulates the program at a switch to `slot`, when only the words in `valid` can be read. */
static void enter(unsigned cpu, uint32_t slot, uint64_t valid)
{
    struct bpf_record *r = &p.records[cpu], *seen = &p.seen_records[cpu];
    uint64_t check;

    p.now[cpu][SWITCHES]++;
    if (r->slot < SLOTS)
        p.truth[r->slot][SWITCHES]++;
    for (size_t i = 0; r->slot < SLOTS && r->check && i < WORDS; i++)
        if (r->valid & valid & 1U << i)
            store(&p.counts[cpu][r->slot][i], &p.seen[cpu][r->slot][i],
                  p.counts[cpu][r->slot][i] + p.now[cpu][i] - r->base[i]);
    store(&r->seq, &seen->seq, r->seq + 1);
    store(&r->valid, &seen->valid, valid);
    store(&r->switches, &seen->switches, p.now[cpu][SWITCHES]);
    uint64_t both = (uint64_t)r->epoch << 32 | slot;
    store(&r->slot, &seen->slot, both);
    check = bpf_check_begin(r->seq, slot, r->epoch, valid);
    for (size_t i = 0; i < WORDS; i++) {
        store(&r->base[i], &seen->base[i], p.now[cpu][i]);
        check = bpf_check_step(check, r->base[i]);
    }
    store(&r->check, &seen->check, check);
}

/* Lets `ns` nanoseconds pass on a CPU. The hardware group is on the PMU's counters for `ran` nanoseconds. */
static void run(unsigned cpu, uint64_t ns, uint64_t ran)
{
    uint64_t grown[WORDS] = {[CYCLES] = 3 * ran, [CLOCK] = ran,    [FAULTS] = ns / 10, [ENABLED] = ns,
                             [RUNNING] = ran,    [ENABLED_2] = ns, [RUNNING_2] = ns};
    uint32_t slot = p.records[cpu].slot;

    for (size_t i = 0; i < WORDS; i++) {
        p.now[cpu][i] += grown[i];
        if (slot < SLOTS)
            p.truth[slot][i] += grown[i];
    }
}

/*
 * Reads the counters of a CPU in the tests (bpf_read_now), and makes all earlier stores visible, as the IPI of a real
 * reading does.
 */
static int now(void *userdata, unsigned cpu, uint64_t *words, uint64_t *ret_valid)
{
    static const uint64_t given = ALL & ~(1U << CLOCK | 1U << SWITCHES);

    p.calls++;
    if (p.error)
        return -p.error;
    settle();
    for (size_t i = 0; i < WORDS; i++)
        words[i] = given & p.valid & 1U << i ? p.now[cpu][i] : 12345;
    *ret_valid = p.valid & given;
    if (p.meanwhile)
        p.meanwhile(cpu);
    return 0;
}

/* All slots start at zero, and each CPU is in the root's slot. */
static void begin(void)
{
    p = (struct simulated){
        .sys.calls = {.mmap = simulated_mmap, .munmap = simulated_munmap}, .valid = ALL, .random = 17};
    assert_int_equal(bpf_reader_new(&p.sys, &shape, &(struct bpf_maps){3, 4}, &p.reader), 0);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        for (size_t i = 0; i < WORDS; i++)
            p.now[cpu][i] = 1000 * (i + 1); /* not 0, since the cpu collector uses the counters as well */
        p.now[cpu][CLOCK] = p.now[cpu][RUNNING];
        p.records[cpu].slot = BPF_SLOT_NONE;
        p.records[cpu].epoch = 1;
        bpf_reader_set_cpu(p.reader, cpu, events);
        enter(cpu, BPF_SLOT_ROOT, ALL);
    }
    settle();
}

static void end(void)
{
    bpf_reader_free(p.reader);
}

static void take(unsigned cpu)
{
    uint64_t delta[WORDS];
    uint32_t slot = 0;

    while ((slot = bpf_reader_take(p.reader, cpu, slot, SLOTS, delta)) != BPF_SLOT_NONE)
        for (size_t i = 0; i < WORDS; i++)
            p.taken[slot][i] += delta[i];
}

/* Reads a CPU and takes the growth of all slots. Returns the result of bpf_reader_read(). */
static int read_cpu(unsigned cpu)
{
    p.calls = 0;
    int r = bpf_reader_read(p.reader, cpu, now, NULL);
    take(cpu);
    return r;
}

static const struct bpf_event none[4];

#define assert_taken(slot, ...)                                                                                        \
    do {                                                                                                               \
        const uint64_t wanted[WORDS] = {__VA_ARGS__};                                                                  \
        for (size_t word = 0; word < WORDS; word++)                                                                    \
            assert_int_equal(p.taken[slot][word], wanted[word]);                                                       \
    } while (0)

TEST(test_running)
{
    begin();
    assert_int_equal(bpf_reader_running(p.reader, 0), BPF_SLOT_NONE);
    run(0, 100, 50);
    assert_int_equal(read_cpu(0), 1);
    /* The reader itself adds the clock, from the running time, and the switches, from the record. */
    assert_taken(BPF_SLOT_ROOT, 150, 50, 10, 0, 100, 50, 100, 100);
    assert_int_equal(bpf_reader_running(p.reader, 0), BPF_SLOT_ROOT);
    /* An increase of the counters is counted only once. */
    assert_int_equal(read_cpu(0), 1);
    assert_taken(BPF_SLOT_ROOT, 150, 50, 10, 0, 100, 50, 100, 100);
    run(0, 10, 10);
    enter(0, 2, ALL);
    run(0, 30, 30);
    assert_int_equal(read_cpu(0), 1);
    assert_true(bpf_reader_is_exact(p.reader, 0));
    assert_taken(BPF_SLOT_ROOT, 180, 60, 11, 1, 110, 60, 110, 110);
    assert_taken(2, 90, 30, 3, 0, 30, 30, 30, 30);
    assert_int_equal(bpf_reader_running(p.reader, 0), 2);
    enter(0, 3, ALL);
    assert_true(bpf_reader_is_exact(p.reader, 0));
    settle();
    assert_false(bpf_reader_is_exact(p.reader, 0));
    end();
}

/* CPUs do not share entries. A slot that runs again continues its entry. */
TEST(test_slots)
{
    begin();
    enter(0, 2, ALL);
    enter(1, 4, ALL);
    run(0, 20, 20);
    run(1, 70, 70);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        assert_int_equal(read_cpu(cpu), 1);
    assert_int_equal(p.taken[2][ENABLED], 20);
    assert_int_equal(p.taken[4][ENABLED], 70);
    enter(0, BPF_SLOT_ROOT, ALL);
    assert_int_equal(read_cpu(0), 1);
    memset(p.taken, 0, sizeof(p.taken));
    enter(0, 2, ALL);
    run(0, 5, 5);
    assert_int_equal(read_cpu(0), 1);
    assert_taken(2, 15, 5, 0, 1, 5, 5, 5, 5); /* a switch is only taken once the slot's time has grown */
    end();
}

static uint32_t random_below(uint32_t n)
{
    p.random = p.random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(p.random >> 33) % n;
}

/* Lets a CPU switch up to twice, then makes a random selection of the stores visible. */
static void go_on(unsigned cpu)
{
    for (uint32_t n = random_below(3); n; n--) {
        uint32_t ns = random_below(1000);
        run(cpu, ns, random_below(2) ? ns : random_below(ns + 1));
        enter(cpu, random_below(SLOTS), ALL);
    }
    for (size_t i = 0; i < p.n_stores; i++)
        if (random_below(2))
            memcpy(p.stores[i].to, &p.stores[i].value, sizeof(uint64_t));
}

/*
 * In whatever order stores become visible, the reader never takes more than a slot has counted, and finally takes all
 * of it.
 */
TEST(test_any_order)
{
    unsigned consistent = 0;
    begin();
    p.meanwhile = go_on;
    for (unsigned i = 0; i < 20000; i++) {
        consistent += read_cpu(i % CPUS) == 1;
        for (size_t k = 0; k < sizeof(p.taken) / sizeof(uint64_t); k++)
            assert_true((&p.taken[0][0])[k] <= (&p.truth[0][0])[k]);
    }
    assert_in_range(consistent, 1000, 19999);
    p.meanwhile = NULL;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (unsigned cpu = 0; cpu < CPUS; cpu++) {
            enter(cpu, slot, ALL);
            run(cpu, 10, 10);
            assert_int_equal(read_cpu(cpu), 1);
            run(cpu, 10, 10);
        }
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        assert_int_equal(read_cpu(cpu), 1);
    assert_memory_equal(p.taken, p.truth, sizeof(p.taken));
    end();
}

/* The first reading sees only the words `visible` of an entry, and takes `first`; the next reading takes the rest. */
TEST(test_half_visible)
{
    static const struct {
        uint64_t visible, first[WORDS];
    } cases[] = {
        {1U << ENABLED, {[ENABLED] = 100}},
        {1U << RUNNING, {0}},
        {1U << CYCLES, {0}},
        {1U << ENABLED | 1U << CYCLES, {[ENABLED] = 100}},
        {1U << ENABLED | 1U << RUNNING, {[ENABLED] = 100, [RUNNING] = 40}},
        {1U << FAULTS | 1U << RUNNING_2, {0}},
        {1U << ENABLED | 1U << FAULTS | 1U << RUNNING_2, {[ENABLED] = 100}},
        {1U << ENABLED_2 | 1U << RUNNING_2 | 1U << SWITCHES, {0}}, /* the first group's time has not grown */
        {1U << ENABLED | 1U << ENABLED_2 | 1U << RUNNING_2, {[ENABLED] = 100, [ENABLED_2] = 100, [RUNNING_2] = 100}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin();
        assert_int_equal(read_cpu(0), 1);
        enter(0, 2, ALL);
        run(0, 100, 40);
        settle();
        enter(0, 3, ALL);
        for (size_t word = 0; word < WORDS; word++)
            if (cases[i].visible >> word & 1)
                p.seen[0][2][word] = p.counts[0][2][word];
        p.error = EBUSY; /* without an IPI no other store becomes visible */
        assert_int_equal(read_cpu(0), -EBUSY);
        assert_memory_equal(p.taken[2], cases[i].first, sizeof(p.taken[2]));
        p.error = 0;
        enter(0, 2, ALL);
        run(0, 10, 10);
        assert_int_equal(read_cpu(0), 1);
        assert_memory_equal(p.taken[2], p.truth[2], sizeof(p.taken[2]));
        end();
    }
}

/* The total of a word that cannot be read is the value in the slot's entry; words of other groups are still read. */
TEST(test_valid)
{
    const uint64_t hardware = 1U << CYCLES | 1U << CLOCK | 1U << ENABLED | 1U << RUNNING;
    begin();
    run(0, 100, 100);
    p.valid = ALL & ~hardware;
    assert_int_equal(read_cpu(0), 1);
    assert_taken(BPF_SLOT_ROOT, 0, 0, 10, 0, 0, 0, 100, 100);
    p.valid = ALL;
    enter(0, 2, ALL & ~hardware);
    run(0, 50, 50);
    assert_int_equal(read_cpu(0), 1);
    assert_taken(2, 0, 0, 5, 0, 0, 0, 50, 50);
    enter(0, 2, ALL); /* the hardware group can be read again */
    run(0, 10, 10);
    assert_int_equal(read_cpu(0), 1);
    assert_taken(2, 30, 10, 6, 1, 10, 10, 60, 60);
    /* Words that cannot be read now are taken from the entry. */
    run(0, 10, 10);
    enter(0, 3, ALL);
    enter(0, 2, ALL);
    run(0, 5, 5);
    p.valid = ALL & ~hardware;
    assert_int_equal(read_cpu(0), 1);
    assert_taken(2, 60, 20, 7, 2, 20, 20, 75, 75);
    end();
}

/*
 * bpf_reader_set_cpu() invalidates the record until the CPU writes a new one. Growth that was taken from the counters
 * but never written to the entry is not subtracted from later growth.
 */
TEST(test_set_cpu)
{
    begin();
    enter(0, 2, ALL);
    run(0, 100, 100);
    assert_int_equal(read_cpu(0), 1);
    assert_int_equal(p.taken[2][CYCLES], 300);
    for (size_t i = 0; i < WORDS; i++)
        p.now[0][i] += 1000000; /* the CPU gets new counters */
    bpf_reader_set_cpu(p.reader, 0, events);
    assert_int_equal(read_cpu(0), 0);
    assert_int_equal(p.taken[2][CYCLES], 300);
    assert_int_equal(bpf_reader_running(p.reader, 0), BPF_SLOT_NONE);
    p.records[0].slot = BPF_SLOT_NONE; /* as the program sets it at the start of an epoch */
    p.records[0].epoch++;
    enter(0, 2, ALL);
    run(0, 100, 100); /* as much as was taken but never written to the entry */
    assert_int_equal(read_cpu(0), 1);
    assert_int_equal(p.taken[2][CYCLES], 600);
    assert_int_equal(bpf_reader_running(p.reader, 0), 2);
    /* Nothing is taken from a CPU that went offline. */
    bpf_reader_set_cpu(p.reader, 0, none);
    enter(0, 3, ALL);
    run(0, 10, 10);
    assert_int_equal(read_cpu(0), 1);
    assert_int_equal(p.taken[3][ENABLED], 0);
    end();
}

/* If a CPU gets the events of another group, the times of the old group do not hold back those of the new one. */
TEST(test_other_group)
{
    const uint64_t software = 1U << FAULTS | 1U << SWITCHES | 1U << ENABLED_2 | 1U << RUNNING_2;
    struct bpf_event first[4] = {{0}}, second[4] = {{0}};
    memcpy(first, events, 2 * sizeof(first[0]));
    memcpy(second + 2, events + 2, 2 * sizeof(first[0]));
    begin();
    bpf_reader_set_cpu(p.reader, 0, first);
    enter(0, 3, ALL & ~software);
    run(0, 50, 50);
    assert_int_equal(read_cpu(0), 1);
    assert_taken(3, 150, 50, 0, 0, 50, 50, 0, 0);
    bpf_reader_set_cpu(p.reader, 0, second);
    enter(0, 3, software);
    run(0, 50, 50);
    assert_int_equal(read_cpu(0), 1);
    assert_taken(3, 150, 50, 5, 0, 50, 50, 50, 50);
    end();
}

/* Records that name no slot or a slot out of range, or that were never written. */
TEST(test_nothing)
{
    static const uint32_t slots[] = {BPF_SLOT_NONE, SLOTS};
    for (size_t i = 0; i < ARRAY_SIZE(slots); i++) {
        begin();
        run(0, 10, 10);
        enter(0, slots[i], ALL);
        run(0, 10, 10);
        assert_int_equal(read_cpu(0), 1);
        assert_true(bpf_reader_running(p.reader, 0) >= SLOTS);
        assert_false(bpf_reader_is_exact(p.reader, 0));
        assert_memory_equal(p.taken, p.truth, sizeof(p.taken));
        end();
    }
    begin();
    memset(p.seen_records, 0, sizeof(p.seen_records));
    memset(p.records, 0, sizeof(p.records));
    assert_int_equal(read_cpu(1), 0);
    end();
}

TEST(test_moves)
{
    begin();
    assert_false(bpf_reader_saw_moves(p.reader));
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        p.seen_records[cpu].moves += cpu + 1;
        assert_true(bpf_reader_saw_moves(p.reader));
        assert_false(bpf_reader_saw_moves(p.reader));
    }
    end();
}

TEST(test_refused)
{
    /* The map has 2^61 entries of 64 bytes, a size that overflows to 0. */
    const struct bpf_shape large = {.cpus = 1U << 31, .slots = 1U << 30, .events = 6, .groups = 1};
    const struct bpf_maps maps = {3, 4};
    struct bpf_reader *reader = NULL;
    begin();
    end();
    for (p.refused = 3; p.refused <= 4; p.refused++)
        assert_int_equal(bpf_reader_new(&p.sys, &shape, &maps, &reader), -EPERM);
    assert_int_equal(bpf_reader_new(&p.sys, &large, &maps, &reader), -ENOMEM);
    assert_null(reader);
    assert_null(bpf_reader_free(NULL));
}

TEST_MAIN(NULL, NULL)
