/* SPDX-License-Identifier: Apache-2.0 */
/* Processes built from records, the bounds on their number and size, and lines of /proc/PID/maps. */
#include <stdio.h>
#include <sys/mman.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "symbols/processes.h"
#include "tests/unit/process-rig.h"
#include "tests/unit/test.h"

static void take_comm(struct process_rig *rig, uint32_t pid, uint32_t tid, const char *comm, bool exec)
{
    const struct record record = {.type = PERF_RECORD_COMM,
                                  .misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
                                  .comm = {.pid = pid, .tid = tid, .comm = comm}};
    processes_update(rig->processes, &record);
}

static void take_mmap(struct process_rig *rig, uint32_t pid, uint64_t start, uint64_t end, uint64_t offset,
                      const char *file)
{
    const struct record record = {.type = PERF_RECORD_MMAP2,
                                  .misc = PERF_RECORD_MISC_USER,
                                  .mmap = {.pid = pid,
                                           .tid = pid,
                                           .address = start,
                                           .length = end - start,
                                           .offset = offset,
                                           .protection = PROT_READ | PROT_EXEC,
                                           .file = file}};
    processes_update(rig->processes, &record);
}

static void take_task(struct process_rig *rig, uint32_t type, uint32_t pid, uint32_t tid, uint32_t parent_pid)
{
    const struct record record = {.type = type,
                                  .task = {.pid = pid, .tid = tid, .parent_pid = parent_pid, .parent_tid = parent_pid}};
    processes_update(rig->processes, &record);
}

static uint32_t jit_pid(struct process_rig *rig, uint32_t pid, uint64_t address)
{
    struct process *process = processes_find(rig->processes, pid);
    const struct mapping *mapping = process ? mappings_find(&process->mappings, address) : NULL;

    return mapping ? mapping->dso->jit_pid : UINT32_MAX;
}

/* Functions generated at run time belong to their process; a child inherits those of its parent. */
TEST_WITH(test_anonymous, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;

    take_mmap(rig, 1, 0x1000, 0x2000, 0, "//anon");
    take_mmap(rig, 1, 0x2000, 0x3000, 0, "/a");
    take_mmap(rig, 2, 0x1000, 0x2000, 0, "//anon");
    take_task(rig, PERF_RECORD_FORK, 3, 3, 1);
    take_mmap(rig, 3, 0x5000, 0x6000, 0, "//anon");
    assert_int_equal(jit_pid(rig, 1, 0x1000), 1);
    assert_int_equal(jit_pid(rig, 1, 0x2000), 0);
    assert_int_equal(jit_pid(rig, 2, 0x1000), 2);
    assert_int_equal(jit_pid(rig, 3, 0x1000), 1);
    assert_int_equal(jit_pid(rig, 3, 0x5000), 3);
    assert_string_equal(process_rig_at(rig, 1, 0x1000), "//anon+1000");
}

TEST_WITH(test_overlaps, process_rig_setup, process_rig_teardown)
{
    static const struct {
        uint64_t in_start, in_end; /* range of /c, which is mapped over /a at 0x3000-0x6000 and /b at 0x7000-0x9000 */
        const char *out[8];        /* the files that are then found at 0x2800, 0x3800 ... 0x9800 */
    } cases[] = {
        {0x1000, 0x2000, {"", "/a+800", "/a+1800", "/a+2800", "", "/b+800", "/b+1800", ""}},
        {0x2000, 0x4000, {"/c+800", "/c+1800", "/a+1800", "/a+2800", "", "/b+800", "/b+1800", ""}},
        {0x3000, 0x6000, {"", "/c+800", "/c+1800", "/c+2800", "", "/b+800", "/b+1800", ""}},
        {0x4000, 0x5000, {"", "/a+800", "/c+800", "/a+2800", "", "/b+800", "/b+1800", ""}},
        {0x5000, 0x8000, {"", "/a+800", "/a+1800", "/c+800", "/c+1800", "/c+2800", "/b+1800", ""}},
        {0x2000, 0xa000, {"/c+800", "/c+1800", "/c+2800", "/c+3800", "/c+4800", "/c+5800", "/c+6800", "/c+7800"}},
        {0x6000, 0x7000, {"", "/a+800", "/a+1800", "/a+2800", "/c+800", "/b+800", "/b+1800", ""}},
    };
    struct process_rig *rig = *state;

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        take_mmap(rig, i + 1, 0x7000, 0x9000, 0, "/b");
        take_mmap(rig, i + 1, 0x3000, 0x6000, 0, "/a");
        take_mmap(rig, i + 1, cases[i].in_start, cases[i].in_end, 0, "/c (deleted)");
        for (uint64_t k = 0; k < 8; k++)
            assert_string_equal(process_rig_at(rig, i + 1, 0x2800 + k * 0x1000), cases[i].out[k]);
    }
    assert_string_equal(process_rig_at(rig, 99, 0x3000), "");
    take_mmap(rig, 98, UINT64_MAX - 10, UINT64_MAX + UINT64_C(20), 0, "/wraps");
    assert_string_equal(process_rig_at(rig, 98, UINT64_MAX - 5), "");
}

TEST_WITH(test_lives, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;

    take_comm(rig, 10, 10, "shell", false);
    take_mmap(rig, 10, 0x1000, 0x2000, 0, "/shell");
    take_task(rig, PERF_RECORD_FORK, 11, 11, 10);
    assert_string_equal(process_rig_comm(rig, 11, 11), "shell");
    assert_string_equal(process_rig_at(rig, 11, 0x1001), "/shell+1");
    take_task(rig, PERF_RECORD_FORK, 11, 12, 11); /* a new thread */
    assert_string_equal(process_rig_comm(rig, 11, 12), "shell");
    take_comm(rig, 11, 12, "a-name-that-is-too-long", false);
    assert_string_equal(process_rig_comm(rig, 11, 12), "a-name-that-is-");
    assert_string_equal(process_rig_comm(rig, 11, 11), "shell");
    assert_string_equal(process_rig_comm(rig, 11, 13), "shell");
    take_task(rig, PERF_RECORD_EXIT, 11, 12, 10);
    assert_string_equal(process_rig_comm(rig, 11, 12), "shell");
    take_comm(rig, 11, 11, "tool", true);
    assert_string_equal(process_rig_at(rig, 11, 0x1001), "");
    assert_string_equal(process_rig_comm(rig, 11, 11), "tool");
    take_mmap(rig, 11, 0x1000, 0x2000, 0x5000, "/tool");
    take_task(rig, PERF_RECORD_EXIT, 11, 11, 10);
    assert_string_equal(process_rig_at(rig, 11, 0x1001), "/tool+5001"); /* late samples are still resolved */
    take_task(rig, PERF_RECORD_FORK, 11, 11, 10);                       /* the pid is reused */
    assert_string_equal(process_rig_at(rig, 11, 0x1001), "/shell+1");
    take_task(rig, PERF_RECORD_FORK, 20, 20, 19); /* the parent is unknown */
    assert_string_equal(process_rig_comm(rig, 20, 20), "");
    take_task(rig, PERF_RECORD_EXIT, 77, 77, 19);
    assert_string_equal(process_rig_comm(rig, 77, 77), "(none)");
    for (uint32_t pid = 1000; pid <= 1000 + PROCESSES_ENDED_MAX; pid++) {
        take_comm(rig, pid, pid, "short", false);
        take_task(rig, PERF_RECORD_EXIT, pid, pid, 10);
    }
    assert_string_equal(process_rig_comm(rig, 1000, 1000), "(none)");
    assert_string_equal(process_rig_comm(rig, 1001, 1001), "short");
}

/*
 * Two captures send the same records, one after the other. Addresses are still resolved correctly with the later ones.
 */
TEST_WITH(test_two_sources, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;

    take_comm(rig, 10, 10, "shell", false);
    take_mmap(rig, 10, 0x1000, 0x2000, 0, "/shell");
    for (unsigned capture = 0; capture < 2; capture++) {
        take_task(rig, PERF_RECORD_FORK, 11, 11, 10);
        assert_string_equal(process_rig_comm(rig, 11, 11), "shell");
        assert_string_equal(process_rig_at(rig, 11, 0x1000), "/shell+0");
        take_comm(rig, 11, 11, "tool", true);
        assert_string_equal(process_rig_comm(rig, 11, 11), "tool");
        assert_string_equal(process_rig_at(rig, 11, 0x1000), "");
        take_mmap(rig, 11, 0x1000, 0x2000, 0, "/tool");
        take_task(rig, PERF_RECORD_EXIT, 11, 11, 10);
        assert_string_equal(process_rig_at(rig, 11, 0x1000), "/tool+0");
    }
}

static void count_of(void *userdata, uint32_t pid, uint32_t tid, const char *name, const struct mapping *mapping)
{
    unsigned *n = userdata;

    (void)tid;
    (void)name;
    (void)mapping;
    n[pid]++;
}

/* After a gap in the records, only the processes that /proc shows are running, including those that reuse a pid. */
TEST_WITH(test_running, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;
    const struct mapping mapping = {.start = 0x1000, .end = 0x2000, .file = "/new", .protection = PROT_EXEC};
    unsigned n[8] = {0};

    for (uint32_t pid = 1; pid < 7; pid++) {
        take_comm(rig, pid, pid, "x", false);
        if (pid != 2)
            take_mmap(rig, pid, 0x1000, 0x2000, 0, "/old");
    }
    take_task(rig, PERF_RECORD_EXIT, 6, 6, 1); /* the main thread exits before another thread executes a new program */
    take_comm(rig, 6, 6, "y", true);
    processes_each(rig->processes, count_of, n);
    assert_int_equal(n[6], 1);
    processes_end_all(rig->processes);
    assert_string_equal(process_rig_at(rig, 1, 0x1000), "/old+0");
    processes_set_comm(rig->processes, 2, 2, "kthread");
    processes_set_comm(rig->processes, 3, 3, "dead");
    processes_set_comm(rig->processes, 4, 4, "new");
    processes_map(rig->processes, 4, &mapping);
    memset(n, 0, sizeof(n));
    processes_each(rig->processes, count_of, n);
    assert_memory_equal(n, ((unsigned[]){0, 0, 1, 0, 2, 0, 0, 0}), sizeof(n));
    assert_string_equal(process_rig_at(rig, 4, 0x1000), "/new+0");
}

/* A process that is mapped again, for example for the next client, keeps its files and thus their symbol tables. */
TEST_WITH(test_mapped_again, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;
    const struct mapping mapping = {.start = 0x1000, .end = 0x2000, .file = "/x", .inode = 7, .protection = PROT_EXEC};

    processes_map(rig->processes, 1, &mapping);
    struct process *process = processes_find(rig->processes, 1);
    mappings_find(&process->mappings, 0x1000)->dso->seen_size = 42;
    processes_end_all(rig->processes);
    processes_map(rig->processes, 1, &mapping);
    assert_int_equal(mappings_find(&process->mappings, 0x1000)->dso->seen_size, 42);
}

TEST_WITH(test_ignored, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;
    struct record record = {
        .type = PERF_RECORD_MMAP2,
        .mmap = {.pid = 1, .address = 0x1000, .length = 0x1000, .protection = PROT_READ, .file = "/x"}};

    processes_update(rig->processes, &record); /* a data mapping */
    record.mmap.protection |= PROT_EXEC;
    record.misc = PERF_RECORD_MISC_MMAP_DATA;
    processes_update(rig->processes, &record);
    record.misc = PERF_RECORD_MISC_KERNEL;
    processes_update(rig->processes, &record);
    record.misc = PERF_RECORD_MISC_USER;
    record.mmap.length = 0;
    processes_update(rig->processes, &record);
    record.type = PERF_RECORD_LOST;
    processes_update(rig->processes, &record);
    assert_int_equal(processes_n(rig->processes), 0);
    record.type = PERF_RECORD_MMAP;
    record.mmap.protection = 0; /* MMAP records have no protection */
    record.mmap.length = 1;
    processes_update(rig->processes, &record);
    assert_string_equal(process_rig_at(rig, 1, 0x1000), "/x+0");
}

static unsigned number_at(struct process_rig *rig, uint32_t pid, uint64_t address)
{
    return mappings_find(&processes_find(rig->processes, pid)->mappings, address)->number;
}

/* Each mapped part of a file has a number. All anonymous mappings have offset 0 in /proc, yet their numbers differ. */
TEST_WITH(test_numbers, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;

    take_mmap(rig, 1, 0x1000, 0x2000, 0, "/a");
    take_mmap(rig, 1, 0x2000, 0x3000, 0x1000, "/a");
    take_mmap(rig, 2, 0x8000, 0x9000, 0, "/a");
    assert_true(number_at(rig, 1, 0x1000) > 0);
    assert_int_equal(number_at(rig, 2, 0x8000), number_at(rig, 1, 0x1000));
    assert_true(number_at(rig, 1, 0x2000) != number_at(rig, 1, 0x1000));
    take_mmap(rig, 1, 0x1000, 0x4000, 0, "//anon");
    take_mmap(rig, 1, 0x8000, 0x9000, 0, "//anon");
    take_mmap(rig, 1, 0x2000, 0x3000, 0, "/a");
    unsigned number = number_at(rig, 1, 0x1000);
    assert_true(number_at(rig, 1, 0x8000) != number);
    assert_true(number_at(rig, 1, 0x3000) != number);
    take_mmap(rig, 1, 0x1000, 0x4000, 0x1000, "//anon"); /* an MMAP record of the first mapping */
    assert_int_equal(number_at(rig, 1, 0x3000), number);
}

/* Thousands of processes with different long file names, including forks and exits, stay within the bounds. */
TEST_WITH(test_bounded, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;
    char file[4000];
    size_t most = 0, most_n = 0;

    memset(file, 'x', sizeof(file));
    file[0] = '/';
    for (uint32_t pid = 1; pid < 12000; pid++) {
        take_comm(rig, pid, pid, "x", false);
        for (uint64_t i = 0; i < 4; i++) {
            snprintf(file + sizeof(file) - 32, 32, "%u-%llu", pid, (unsigned long long)i);
            take_mmap(rig, pid, i << 12, (i + 1) << 12, 0, pid % 3 ? "/lib" : file);
        }
        take_task(rig, PERF_RECORD_FORK, pid + 100000, pid + 100000, pid);
        take_task(rig, PERF_RECORD_EXIT, pid + 100000, pid + 100000, pid);
        most = MAX(most, processes_bytes(rig->processes));
        most_n = MAX(most_n, processes_n(rig->processes));
        assert_string_not_equal(process_rig_at(rig, pid, 0), ""); /* the newest process is always known */
    }
    assert_in_range(most, PROCESSES_BYTES_MAX / 2, PROCESSES_BYTES_MAX);
    assert_true(most_n <= PROCESSES_MAX);
    for (uint32_t pid = 200000; pid < 210000; pid++)
        take_comm(rig, pid, pid, "y", false);
    assert_int_equal(processes_n(rig->processes), PROCESSES_MAX);
    /* The mappings and threads of a single process are bounded, too. */
    for (uint64_t i = 0; i < 5000; i++) {
        take_mmap(rig, 1, i << 12, (i + 1) << 12, i << 13, "/jit");
        take_comm(rig, 1, (uint32_t)i + 1, "thread", false);
    }
    const struct process *process = processes_find(rig->processes, 1);
    assert_int_equal(process->mappings.n, MAPPINGS_MAX);
    assert_int_equal(process->threads.n, THREADS_MAX);
    for (uint64_t i = 0; i < 5000; i++) {
        snprintf(file + sizeof(file) - 32, 32, "%llu", (unsigned long long)i);
        take_mmap(rig, 1, i << 12, (i + 1) << 12, 0, file);
        assert_true(processes_bytes(rig->processes) <= PROCESSES_BYTES_MAX);
    }
}

/* Linked with -Wl,--wrap=reallocarray, so that allocations can be made to fail. */
static bool no_memory;
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return no_memory ? NULL : __real_reallocarray(old, n, size);
}

/*
 * On ENOMEM a new name or mapping is not stored, and a mapping that is split loses its second part. All other names and
 * mappings are kept.
 */
TEST_WITH(test_no_memory, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;

    take_comm(rig, 1, 1, "one", false);
    take_mmap(rig, 1, 0x1000, 0x4000, 0, "/a");
    no_memory = true;
    take_comm(rig, 1, 2, "two", false);
    take_comm(rig, 1, 1, "again", false);
    take_mmap(rig, 1, 0x8000, 0x9000, 0, "/b");
    take_mmap(rig, 1, 0x2000, 0x3000, 0, "/c");
    take_task(rig, PERF_RECORD_FORK, 3, 3, 1);
    no_memory = false;
    assert_string_equal(process_rig_comm(rig, 1, 1), "again");
    assert_string_equal(process_rig_comm(rig, 1, 2), "again");
    assert_string_equal(process_rig_at(rig, 1, 0x1fff), "/a+fff");
    assert_string_equal(process_rig_at(rig, 1, 0x3000), "");
    assert_string_equal(process_rig_at(rig, 1, 0x8000), "");
    assert_string_equal(process_rig_at(rig, 3, 0x1000), "");
}

/* --- lines of /proc/PID/maps --- */

static const struct {
    const char *in, *out; /* "START-END OFFSET MAJOR:MINOR INODE PROTECTION FLAGS FILE" */
} good_lines[] = {
    {"00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus-daemon",
     "400000-452000 1000 8:2 173521 5 2 /usr/bin/dbus-daemon"},
    {"7ffe-7fff rw-s 00000000 fd:1f 0", "7ffe-7fff 0 fd:1f 0 3 1 //anon"},
    {"1-2 ---p 00000000 00:00 0 ", "1-2 0 0:0 0 0 2 //anon"},
    {"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
     "ffffffffff600000-ffffffffff601000 0 0:0 0 4 2 [vsyscall]"},
    {"1-2 r-xp 00000000 00:01 5 /a b\\012c (deleted)", "1-2 0 0:1 5 5 2 /a b\nc"},
    {"1-2 r-xp 00000000 00:01 5 /a\\9\\", "1-2 0 0:1 5 5 2 /a\\9\\"}, /* "\9" is not an escape sequence */
};

TEST(test_lines)
{
    for (size_t i = 0; i < ARRAY_SIZE(good_lines); i++) {
        struct mapping mapping;
        char line[256], shown[256];
        strcpy(line, good_lines[i].in);
        assert_int_equal(proc_maps_parse_line(line, &mapping), 0);
        snprintf(shown, sizeof(shown), "%llx-%llx %llx %x:%x %llu %x %x %s", (unsigned long long)mapping.start,
                 (unsigned long long)mapping.end, (unsigned long long)mapping.offset, (unsigned)mapping.major,
                 (unsigned)mapping.minor, (unsigned long long)mapping.inode, (unsigned)mapping.protection,
                 (unsigned)mapping.flags, mapping.file);
        assert_string_equal(shown, good_lines[i].out);
    }
}

TEST(test_anonymous_files)
{
    static const struct {
        const char *in;
        bool out;
    } cases[] = {
        {"//anon", true},         {"[anon:v8]", true}, {"/dev/zero", true},    {"/anon_hugepage", true},
        {"[heap]", false},        {"[stack]", false},  {"[vdso]", false},      {"/dev/null", false},
        {"/usr/bin/anon", false}, {"", false},         {"/memfd:code", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(proc_maps_is_anonymous(cases[i].in), cases[i].out);
}

TEST(test_bad_lines)
{
    char lines[] = "|x|1-|1-2|1-2 |1-2 r-x|1-2 r-xp|1-2 r-xp |1-2 r-xp 0|1-2 r-xp 0 |1-2 r-xp 0 0|1-2 r-xp 0 0:0"
                   "|1-2 r-xp 0 0:0 |1-2 r-xp 0 0:0 x|2-2 r-xp 0 0:0 0|3-2 r-xp 0 0:0 0|1-2 q-xp 0 0:0 0"
                   "|11111111111111111-2 r-xp 0 0:0 0|1-2 r-xp 0 0:0 99999999999999999999";

    for (char *rest = lines, *line; (line = strsep(&rest, "|"));) {
        struct mapping mapping = {.start = 42};
        assert_int_equal(proc_maps_parse_line(line, &mapping), -EBADMSG);
        assert_int_equal(mapping.start, 42);
    }
}

TEST_MAIN(NULL, NULL)
