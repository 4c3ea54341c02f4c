/* SPDX-License-Identifier: Apache-2.0 */
/* Samples are aggregated by stack, wherever processes have mapped their files, even after the processes have exited. */
#include <stdio.h>

#include "base/cleanup.h"
#include "formats/profile.h"
#include "tests/unit/fake-symbols.h"
#include "tests/unit/test.h"

DEFINE_CLEANUP(struct profile *, profile_free);

#define USER PERF_CONTEXT_USER
#define KERNEL PERF_CONTEXT_KERNEL
#define GUEST PERF_CONTEXT_GUEST_USER
#define READ 0xffffffff81000010
#define ENTRY 0xffffffff82000010
#define DEPTH 6

static struct record sample_of(uint32_t pid, const uint64_t *chain, size_t n, uint64_t period)
{
    return (struct record){.type = PERF_RECORD_SAMPLE,
                           .misc = PERF_RECORD_MISC_USER,
                           .id = {.pid = pid, .tid = pid},
                           .sample = {.ip = 0x10250, .period = period, .callchain = chain, .n_callchain = n}};
}

static size_t chain_length(const uint64_t *chain)
{
    size_t n = 0;

    while (n < DEPTH && chain[n])
        n++;
    return n;
}

static void append_name(struct profile *profile, uint32_t number, struct buffer *out)
{
    const struct locations *locations = profile_locations(profile);
    const struct location *location = &locations->locations[number];

    location_append_name(locations, location, out);
    buffer_appendf(out, "%s %llx,", location_is_kernel(locations, location) ? "*" : "",
                   (unsigned long long)location->address);
}

struct shown {
    struct profile *profile;
    struct buffer text;
};

static int show(void *userdata, const struct profile_stack *stack)
{
    struct shown *shown = userdata;

    buffer_appendf(&shown->text, "%d %llu %llu: ", (int)stack->pid, (unsigned long long)stack->weight.samples,
                   (unsigned long long)stack->weight.period);
    for (size_t i = 0; i < stack->n; i++)
        append_name(shown->profile, stack->locations[i], &shown->text);
    buffer_append_char(&shown->text, '\n');
    return 0;
}

static void assert_shown(struct profile *profile, const char *expected)
{
    struct shown shown = {.profile = profile};

    assert_int_equal(profile_each(profile, show, &shown), 0);
    _cleanup_(freep) char *text = buffer_string(&shown.text);
    assert_string_equal(text ? text : "", expected);
}

/*
 * Each chain is added to its own profile. A caller is shown at its return address minus one byte, which is within the
 * call instruction.
 */
static const struct {
    const char *name;
    uint32_t in_pid;
    uint64_t in[DEPTH];
    const char *out;
} cases[] = {
    {"no chain: the address of the sample", 100, {0}, "100 1 7: leaf 10250,\n"},
    {"a chain that consists only of a context marker", 100, {USER}, "100 1 7: leaf 10250,\n"},
    {"user", 100, {USER, 0x10200, 0x10100}, "100 1 7: leaf 10200,main 100ff,\n"},
    {"kernel and user: the first address of each is exact",
     100,
     {KERNEL, READ, ENTRY, USER, 0x10200, 0x10100},
     "100 1 7: sys_read* ffffffff81000010,entry* ffffffff8200000f,leaf 10200,main 100ff,\n"},
    {"no context marker: the sample's mode decides", 100, {0x10200}, "100 1 7: leaf 10200,\n"},
    {"addresses of a guest are not resolved", 100, {GUEST, 0x10200}, "100 1 7: [unknown] 10200,\n"},
    {"an address without a symbol in a file", 100, {USER, 0x7f0100}, "100 1 7: [libx.so.1] 7f0100,\n"},
    {"an address without a symbol in the kernel",
     100,
     {KERNEL, 0xffffffff83000000},
     "100 1 7: [kernel.kallsyms]* ffffffff83000000,\n"},
    {"a mapping without a file", 200, {USER, 0x90010}, "200 1 7: [unknown] 90010,\n"},
    {"an address outside all mappings", 100, {USER, 0x1}, "100 1 7: [unknown] 1,\n"},
    {"no such process", 300, {USER, 0x10200}, "300 1 7: [unknown] 10200,\n"},
    {"outside this pid namespace", 0, {USER, 0x10200}, "0 1 7: [unknown] 10200,\n"},
    {"an unknown process", UINT32_MAX, {KERNEL, READ}, "-1 1 7: sys_read* ffffffff81000010,\n"},
};

static void assert_shown_sentence(const struct buffer *sentence, const char *files)
{
    char expected[512];

    snprintf(expected, sizeof(expected),
             "stacks end after one function in %s: callers are missing, as in code without frame pointers; compile it "
             "with -fno-omit-frame-pointer",
             files);
    assert_int_equal(sentence->size, strlen(expected));
    assert_memory_equal(sentence->data, expected, sentence->size);
}

TEST(test_chains)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct symbols symbols;
        fake_symbols_init(&symbols);
        struct profile *profile = profile_new(&symbols, (struct profile_keys){0});
        struct record record = sample_of(cases[i].in_pid, cases[i].in, chain_length(cases[i].in), 7);
        print_message("%s\n", cases[i].name);
        assert_int_equal(profile_add(profile, &record), 0);
        assert_shown(profile, cases[i].out);
        struct writer_unnamed unnamed;
        profile_unnamed(profile, &unnamed);
        assert_int_equal(unnamed.samples, strstr(cases[i].out, ": [") != NULL);
        assert_int_equal(unnamed.kernel, strstr(cases[i].out, ": [kernel") != NULL);
        assert_int_equal(unnamed.outside, cases[i].in_pid == 0);
        assert_string_equal(unnamed.file, strstr(cases[i].out, ": [libx.so.1]") ? "libx.so.1" : "");
        assert_int_equal(unnamed.of_file, *unnamed.file != '\0');
        profile_free(profile);
        assert_int_equal(symbols.kept, 0);
    }
}

/* Equal stacks of a process are aggregated. A place in a file is one location for all processes. */
TEST(test_sums)
{
    static const uint64_t one[] = {USER, 0x10200, 0x10081}, other[] = {USER, 0x10200, 0x10100},
                          moved[] = {USER, 0x50200, 0x50081};
    struct symbols symbols;

    fake_symbols_init(&symbols);
    _cleanup_(profile_freep) struct profile *profile = profile_new(&symbols, (struct profile_keys){0});
    const struct record records[] = {
        sample_of(100, one, 3, 10),
        sample_of(100, other, 3, 100),
        sample_of(200, moved, 3, 1000),
        sample_of(100, one, 3, 20),
    };
    for (size_t i = 0; i < ARRAY_SIZE(records); i++)
        assert_int_equal(profile_add(profile, &records[i]), 0);
    assert_shown(profile, "100 2 30: leaf 10200,main 10080,\n"
                          "100 1 100: leaf 10200,main 100ff,\n"
                          "200 1 1000: leaf 10200,main 10080,\n");
    assert_int_equal(profile_locations(profile)->n, 3);
    assert_int_equal(profile_locations(profile)->n_mappings, 1);
    assert_int_equal(profile_total(profile).samples, 4);
    assert_int_equal(profile_total(profile).period, 1130);
    assert_int_equal(profile_skipped(profile).samples, 0);
    struct writer_unnamed unnamed;
    profile_unnamed(profile, &unnamed);
    assert_int_equal(unnamed.samples, 0);
    /* The same process after it has executed another program. */
    symbols.comm = "other";
    assert_int_equal(profile_add(profile, &records[0]), 0);
    assert_shown(profile, "100 2 30: leaf 10200,main 10080,\n"
                          "100 1 100: leaf 10200,main 100ff,\n"
                          "200 1 1000: leaf 10200,main 10080,\n"
                          "100 1 10: leaf 10200,main 10080,\n");
}

/* Symbol tables may be loaded only after the process has exited. */
TEST(test_late_symbols)
{
    static const uint64_t chain[] = {KERNEL, READ, USER, 0x50200, 0x50081, 0x1};
    static const struct fake_mapping none[] = {{0}};
    struct symbols symbols;

    fake_symbols_init(&symbols);
    symbols.known = false;
    _cleanup_(profile_freep) struct profile *profile = profile_new(&symbols, (struct profile_keys){0});
    struct record record = sample_of(200, chain, ARRAY_SIZE(chain), 1);
    assert_int_equal(profile_add(profile, &record), 0);
    symbols.mappings = none;
    assert_shown(profile, "200 1 1: [kernel.kallsyms]* ffffffff81000010,[app] 50200,[app] 50080,[unknown] 0,\n");
    assert_false(profile_settle(profile, SIZE_MAX));
    symbols.known = true;
    symbols.asked = 0;
    assert_false(profile_settle(profile, 2)); /* the argument limits the number of lookups */
    assert_int_equal(symbols.asked, 2);
    assert_true(profile_settle(profile, 2));
    assert_shown(profile, "200 1 1: sys_read* ffffffff81000010,leaf 50200,main 50080,[unknown] 0,\n");
    symbols.asked = 0;
    assert_true(profile_settle(profile, 2)); /* resolved locations are not looked up again */
    assert_int_equal(symbols.asked, 0);
    /* profile_finish() resolves the remaining locations, however far profile_settle() has got. */
    fake_symbols_init(&symbols);
    symbols.known = false;
    _cleanup_(profile_freep) struct profile *other = profile_new(&symbols, (struct profile_keys){0});
    assert_int_equal(profile_add(other, &record), 0);
    assert_false(profile_settle(other, 1));
    symbols.known = true;
    profile_finish(other);
    assert_shown(other, "200 1 1: sys_read* ffffffff81000010,leaf 50200,main 50080,[unknown] 0,\n");
}

/* Counts the stacks in which only one function of the program is known. Kernel functions do not count. */
TEST(test_early_ends)
{
    static const uint64_t single[] = {USER, 0x10200}, called[] = {USER, 0x10200, 0x10081},
                          of_kernel[] = {KERNEL, READ, USER, 0x10200}, kernel[] = {KERNEL, READ};
    static const struct {
        const uint64_t *in;
        size_t in_n;
        unsigned in_times;
    } samples[] = {{single, 2, 10}, {called, 3, 10}, {of_kernel, 4, 2}, {kernel, 2, 50}};
    _cleanup_(early_ends_done) struct early_ends ends = {0};
    _cleanup_(buffer_done) struct buffer sentence = {0};
    struct symbols symbols;

    fake_symbols_init(&symbols);
    _cleanup_(profile_freep) struct profile *profile = profile_new(&symbols, (struct profile_keys){.threads = true});
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
        for (unsigned k = 0; k < samples[i].in_times; k++) {
            struct record record = sample_of(100, samples[i].in, samples[i].in_n, 1);
            record.id.tid = k;
            assert_int_equal(profile_add(profile, &record), 0);
        }
    profile_count_early_ends(profile, &ends);
    early_ends_describe(&ends, &sentence);
    assert_shown_sentence(&sentence, "app (54 % of 22 samples)");
}

TEST(test_early_sentence)
{
    static const struct {
        const char *in_file;
        uint64_t in_samples, in_single;
    } files[] = {
        {"/few", 19, 19},     {"/half", 40, 20}, {"/usr/bin/a\x1b[31m", 20, 11},
        {"[vdso]", 100, 100}, {"", 100, 100},    {"//anon", 21, 21},
        {"/b", 22, 22},       {"/c", 22, 22},    {"/d", 20, 20},
    };
    _cleanup_(early_ends_done) struct early_ends ends = {0};
    _cleanup_(buffer_done) struct buffer sentence = {0};

    early_ends_describe(&ends, &sentence);
    assert_int_equal(sentence.size, 0);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        early_ends_add(&ends, files[i].in_file, true, files[i].in_single);
        early_ends_add(&ends, files[i].in_file, false, files[i].in_samples - files[i].in_single);
        if (i == 1) {
            early_ends_describe(&ends, &sentence);
            assert_int_equal(sentence.size, 0);
        }
    }
    early_ends_describe(&ends, &sentence);
    assert_shown_sentence(&sentence, "[vdso] (100 % of 100 samples), b (100 % of 22 samples), c (100 % of 22 samples), "
                                     "anon (100 % of 21 samples) and 2 other files");
}

/*
 * Threads are counted separately and share their frames. Once half of the stacks are in use, new threads are no longer
 * told apart.
 */
TEST(test_threads)
{
    static const uint64_t chain[] = {USER, 0x10200, 0x10081};
    struct symbols symbols;

    fake_symbols_init(&symbols);
    _cleanup_(profile_freep) struct profile *profile = profile_new(&symbols, (struct profile_keys){.threads = true});
    size_t before = 0;
    for (uint32_t tid = 1; tid <= 2 * PROFILE_STACKS_MAX; tid++) {
        struct record record = sample_of(100, chain, 3, 1);
        record.id.tid = tid;
        assert_int_equal(profile_add(profile, &record), 0);
        before = tid == 1 ? profile_bytes(profile) : before;
    }
    assert_int_equal(profile_skipped(profile).samples, 0);
    print_message("%zu bytes per thread\n", (profile_bytes(profile) - before) / (PROFILE_STACKS_MAX / 2));
    assert_true(profile_bytes(profile) - before < (size_t)64 * PROFILE_STACKS_MAX / 2);
}

enum fullness { MANY_STACKS, MANY_FRAMES, MANY_LOCATIONS, MANY_COMMS };

/* Makes the n-th sample of an endless sequence of this kind. Returns the length of the sample's callchain. */
static size_t fill(enum fullness kind, size_t n, struct symbols *symbols, uint64_t *chain)
{
    static char comm[16];

    chain[0] = kind == MANY_LOCATIONS ? USER : KERNEL;
    chain[1] = kind == MANY_STACKS || kind == MANY_FRAMES ? 0x1000 + n % 100 : 0x1000 + n;
    chain[2] = 0x1000 + n / 100;
    if (kind == MANY_COMMS) {
        chain[1] = 0x1000;
        snprintf(comm, sizeof(comm), "c%zu", n);
        symbols->comm = comm;
        return 2;
    }
    if (kind != MANY_FRAMES)
        return 3;
    for (size_t i = 3; i < 100; i++)
        chain[i] = 0x1000 + i;
    return 100;
}

TEST(test_bound)
{
    enum { SAMPLES = 40000 };

    for (enum fullness kind = MANY_STACKS; kind <= MANY_COMMS; kind++) {
        struct symbols symbols;
        uint64_t chain[100], skipped = 0;
        fake_symbols_init(&symbols);
        _cleanup_(profile_freep) struct profile *profile = profile_new(&symbols, (struct profile_keys){0});
        for (size_t n = 0; n < SAMPLES; n++) {
            size_t length = fill(kind, n, &symbols, chain);
            struct record record = sample_of(100, chain, length, 2);
            int r = profile_add(profile, &record);
            assert_true(r == 0 || r == -ENOSPC);
            skipped += r < 0;
        }
        assert_true(skipped > 0 && skipped < SAMPLES);
        assert_int_equal(profile_skipped(profile).samples, skipped);
        assert_int_equal(profile_skipped(profile).period, 2 * skipped);
        assert_int_equal(profile_total(profile).samples, SAMPLES);
        assert_true(profile_bytes(profile) <= PROFILE_BYTES_MAX);
        print_message("%d: %zu samples kept in %zu bytes\n", kind, SAMPLES - (size_t)skipped, profile_bytes(profile));
        /* Stacks that are already in the profile are still counted. */
        size_t length = fill(kind, 0, &symbols, chain);
        struct record record = sample_of(100, chain, length, 2);
        assert_int_equal(profile_add(profile, &record), 0);
    }
}

TEST_MAIN(NULL, NULL)
