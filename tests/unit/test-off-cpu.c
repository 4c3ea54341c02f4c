/* SPDX-License-Identifier: Apache-2.0 */
/* Off-CPU samples: a record that the BPF program has written to a ring buffer becomes a sample like any other. */
#include "sampler/off-cpu.h"

#include <sys/mman.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"

#define SAMPLE_TYPE                                                                                                    \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |                  \
     PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_CGROUP)

#define SCHEDULE UINT64_C(0xffffffff81002000)
#define BEHIND UINT64_C(0xffffffff81003000)
#define KALLSYMS                                                                                                       \
    "ffffffff81001000 t __schedule_bug\nffffffff81002000 t __schedule.isra.0\nffffffff81003000 T schedule\n"

/* --- a machine with BPF programs and kernel symbols --- */

static struct rig {
    struct sys sys;
    struct bpf_calls calls;
    struct off_cpu_kernel kernel;
    struct machine machine;
    struct record_options options;
    struct rings rings;
    const char *symbols; /* content of /proc/kallsyms; NULL: cannot be opened */
    size_t padding;      /* number of bytes of other symbols before `symbols` */
    unsigned n_started, n_stopped;
    uint64_t threshold_ns;
} rig;

static int open_symbols(struct sys *sys, const char *path, int flags)
{
    (void)sys;
    (void)flags;
    assert_string_equal(path, "/proc/kallsyms");
    if (!rig.symbols)
        return -EACCES;
    int fd = memfd_create("kallsyms", MFD_CLOEXEC);
    FILE *file = fdopen(dup(fd), "w");
    for (size_t n = 0; n + 40 <= rig.padding; n += 40)
        fprintf(file, "%016zx t a_function_%08zx\n", n, n);
    fprintf(file, "%s", rig.symbols);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static int start(void *owner, const struct off_cpu_shape *shape, uint32_t *ret_number, struct error *error)
{
    (void)owner;
    (void)error;
    rig.n_started++;
    rig.threshold_ns = shape->threshold_ns;
    *ret_number = 7;
    return 0;
}

static int read_totals(void *owner, uint32_t number, struct off_cpu_totals *ret)
{
    (void)owner;
    assert_int_equal(number, 7);
    *ret = (struct off_cpu_totals){.brief = 1, .brief_ns = 2, .missed = 3};
    return 0;
}

static void stop(void *owner, uint32_t number)
{
    (void)owner;
    assert_int_equal(number, 7);
    rig.n_stopped++;
}

static struct off_cpu *measure(const char *symbols, unsigned states)
{
    struct off_cpu *off_cpu;
    struct error error;

    rig = (struct rig){
        .sys.calls.open_file = open_symbols,
        .calls = {.off_cpu_start = start, .off_cpu_read = read_totals, .off_cpu_stop = stop},
        .options = {.threshold_ns = 5, .states = states, .callchain = true, .cgroups = true, .off_cpu = true},
        .rings.layout = {.sample_type = SAMPLE_TYPE, .sample_id_all = true},
        .symbols = symbols,
        .padding = rig.padding,
    };
    rig.kernel.calls = &rig.calls;
    assert_int_equal(off_cpu_open(&rig.sys, &rig.kernel, &rig.machine, &rig.options, &off_cpu, &error), 0);
    assert_int_equal(off_cpu_set_rings(off_cpu, &rig.rings, &error), 0);
    return off_cpu;
}

/* --- records --- */

#define CHAIN_MAX 8

/* A sample record in the kernel's format. */
struct written {
    uint64_t words[64];
    size_t n;
};

static void put(struct written *written, uint64_t word)
{
    written->words[written->n++] = word;
}

static struct written write_sample(const uint64_t *chain, size_t n_chain, const struct off_cpu_wait *wait,
                                   uint32_t raw_size)
{
    struct written written = {.n = 1};
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_KERNEL};
    char raw[32] = {0};

    put(&written, 11);                        /* id */
    put(&written, 0xffffffff81009999);        /* ip */
    put(&written, 100 | UINT64_C(101) << 32); /* pid, tid */
    put(&written, 123456);                    /* time */
    put(&written, 3);                         /* cpu */
    put(&written, 0);                         /* period */
    put(&written, n_chain);
    for (size_t i = 0; i < n_chain; i++)
        put(&written, chain[i]);
    memcpy(raw, &raw_size, sizeof(raw_size));
    memcpy(raw + sizeof(raw_size), wait, sizeof(*wait));
    memcpy(&written.words[written.n], raw, raw_size + sizeof(raw_size));
    written.n += (raw_size + sizeof(raw_size)) / sizeof(uint64_t);
    put(&written, 55); /* cgroup */
    header.size = (uint16_t)(written.n * sizeof(uint64_t));
    memcpy(written.words, &header, sizeof(header));
    return written;
}

#define RAW_SIZE 28 /* size of the raw data: the duration of the wait, and the kernel's padding */

static const uint64_t usual[] = {
    PERF_CONTEXT_KERNEL, 0xffffffff81008888, 0xffffffff81002abc, 0xffffffff81003abc, PERF_CONTEXT_USER, 0x1000, 0x2000};

static const struct record *translate(struct off_cpu *off_cpu, const struct written *written)
{
    static struct record record;

    assert_int_equal(record_decode(written->words, written->n * sizeof(uint64_t), &rig.rings.layout, &record), 0);
    return off_cpu_translate(off_cpu, &record);
}

/* --- tests --- */

TEST(test_sample)
{
    const struct off_cpu_wait wait = {.ns = 9000, .runnable_ns = 1000, .state = OFF_CPU_SLEEPING};
    static const uint64_t out[] = {
        PERF_CONTEXT_KERNEL, 0xffffffff81002abc, 0xffffffff81003abc, PERF_CONTEXT_USER, 0x1000, 0x2000};
    struct off_cpu *off_cpu = measure(KALLSYMS, 0);
    struct written written = write_sample(usual, ARRAY_SIZE(usual), &wait, RAW_SIZE);
    const struct record *record = translate(off_cpu, &written);

    assert_non_null(record);
    assert_int_equal(rig.threshold_ns, 5);
    assert_int_equal(record->id.id, 11);
    assert_int_equal(record->id.pid, 100);
    assert_int_equal(record->id.tid, 101);
    assert_int_equal(record->id.time, 123456);
    assert_int_equal(record->id.cpu, 3);
    assert_int_equal(record->sample.ip, 0xffffffff81002abc);
    assert_int_equal(record->sample.period, 9000);
    assert_int_equal(record->sample.cgroup, 55);
    assert_null(record->sample.raw);
    assert_int_equal(record->sample.n_callchain, ARRAY_SIZE(out));
    assert_memory_equal(record->sample.callchain, out, sizeof(out));
    assert_int_equal(record->sample.wait->ns, 9000);
    assert_int_equal(record->sample.wait->runnable_ns, 1000);
    assert_int_equal(off_cpu_totals(off_cpu).missed, 3);
    off_cpu_free(off_cpu);
    assert_int_equal(rig.n_started, 1);
    assert_int_equal(rig.n_stopped, 1);
}

/* If the kernel functions at the top of a callchain cannot be identified, the whole callchain is kept. */
TEST(test_chains)
{
    static const struct {
        const char *in_symbols;
        size_t in_padding;
        uint64_t in[CHAIN_MAX];
        size_t in_n;
        uint64_t out[CHAIN_MAX];
        size_t out_n;
    } cases[] = {
        {KALLSYMS, 65536 - 70, {PERF_CONTEXT_KERNEL, 1 + BEHIND, BEHIND, 5}, 4, {PERF_CONTEXT_KERNEL, BEHIND, 5}, 3},
        {KALLSYMS, 200000, {PERF_CONTEXT_KERNEL, 7, SCHEDULE + 1}, 3, {PERF_CONTEXT_KERNEL, SCHEDULE + 1}, 2},
        {KALLSYMS, 0, {PERF_CONTEXT_KERNEL, SCHEDULE, 7}, 3, {PERF_CONTEXT_KERNEL, SCHEDULE, 7}, 3},
        {KALLSYMS, 0, {PERF_CONTEXT_USER, 7}, 2, {PERF_CONTEXT_USER, 7}, 2},
        {KALLSYMS, 0, {0}, 0, {0}, 0},
        {NULL, 0, {PERF_CONTEXT_KERNEL, SCHEDULE + 1, 7}, 3, {PERF_CONTEXT_KERNEL, SCHEDULE + 1, 7}, 3},
        {"0000000000000000 t __schedule\n0000000000000000 T schedule\n",
         0,
         {PERF_CONTEXT_KERNEL, 7, 8},
         3,
         {PERF_CONTEXT_KERNEL, 7, 8},
         3},
        {"ffffffff81002000 t __schedule",
         0,
         {PERF_CONTEXT_KERNEL, SCHEDULE + 1},
         2,
         {PERF_CONTEXT_KERNEL, SCHEDULE + 1},
         2},
        {"", 0, {PERF_CONTEXT_KERNEL, 7}, 2, {PERF_CONTEXT_KERNEL, 7}, 2},
    };
    const struct off_cpu_wait wait = {.ns = 10};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        rig.padding = cases[i].in_padding;
        struct off_cpu *off_cpu = measure(cases[i].in_symbols, 0);
        struct written written = write_sample(cases[i].in, cases[i].in_n, &wait, RAW_SIZE);
        const struct record *record = translate(off_cpu, &written);
        if (!record || record->sample.n_callchain != cases[i].out_n ||
            memcmp(record->sample.callchain, cases[i].out, cases[i].out_n * sizeof(uint64_t)) != 0)
            fail_msg("case %zu", i);
        off_cpu_free(off_cpu);
    }
    rig.padding = 0;
}

TEST(test_states)
{
    enum { BLOCKED = 1U << OFF_CPU_SLEEPING | 1U << OFF_CPU_UNINTERRUPTIBLE, RUNNABLE = 1U << OFF_CPU_RUNNABLE };
    static const struct {
        unsigned in_states;
        struct off_cpu_wait in;
        struct off_cpu_wait out; /* ns 0: no sample */
    } cases[] = {
        {0, {9, 4, OFF_CPU_SLEEPING, 0}, {9, 4, OFF_CPU_SLEEPING, 0}},
        {BLOCKED, {9, 4, OFF_CPU_SLEEPING, 0}, {5, 0, OFF_CPU_SLEEPING, 0}},
        {RUNNABLE, {9, 4, OFF_CPU_SLEEPING, 0}, {4, 4, OFF_CPU_RUNNABLE, 0}},
        {RUNNABLE, {9, 0, OFF_CPU_SLEEPING, 0}, {0}},
        {RUNNABLE, {9, 9, OFF_CPU_RUNNABLE, 0}, {9, 9, OFF_CPU_RUNNABLE, 0}},
        {BLOCKED, {9, 9, OFF_CPU_RUNNABLE, 0}, {0}},
        {1U << OFF_CPU_UNINTERRUPTIBLE, {9, 4, OFF_CPU_SLEEPING, 0}, {0}},
        {1U << OFF_CPU_UNINTERRUPTIBLE, {9, 4, OFF_CPU_UNINTERRUPTIBLE, 0}, {5, 0, OFF_CPU_UNINTERRUPTIBLE, 0}},
        {0, {9, 10, OFF_CPU_SLEEPING, 0}, {0}}, /* the BPF program never writes this */
        {0, {9, 4, N_OFF_CPU_STATES, 0}, {0}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct off_cpu *off_cpu = measure(KALLSYMS, cases[i].in_states);
        struct written written = write_sample(usual, ARRAY_SIZE(usual), &cases[i].in, RAW_SIZE);
        const struct record *record = translate(off_cpu, &written);
        if (cases[i].out.ns == 0 ? record != NULL
                                 : !record || record->sample.period != cases[i].out.ns ||
                                       memcmp(record->sample.wait, &cases[i].out, sizeof(cases[i].out)) != 0)
            fail_msg("case %zu", i);
        off_cpu_free(off_cpu);
    }
}

TEST(test_other_records)
{
    const struct off_cpu_wait wait = {.ns = 10};
    struct off_cpu *off_cpu = measure(KALLSYMS, 0);
    struct written written = write_sample(usual, ARRAY_SIZE(usual), &wait, 20);
    const struct record lost = {.type = PERF_RECORD_LOST};

    assert_null(translate(off_cpu, &written)); /* the raw data is too short to contain the duration */
    assert_ptr_equal(off_cpu_translate(off_cpu, &lost), &lost);
    off_cpu_free(off_cpu);
}

TEST(test_without_programs)
{
    const struct bpf_calls none = {0};
    struct off_cpu_kernel kernel = {.calls = &none};
    struct off_cpu *off_cpu;
    struct error error;

    assert_int_equal(off_cpu_open(&rig.sys, &kernel, &rig.machine, &rig.options, &off_cpu, &error), -EOPNOTSUPP);
}

TEST_MAIN(NULL, NULL)
