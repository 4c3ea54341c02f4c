/* SPDX-License-Identifier: Apache-2.0 */
/* The search for offsets of kernel struct members, on simulated kernel memory. */
#include "base/util.h"
#include "bpf/offsets.h"
#include "tests/unit/test.h"

#define BASE UINT64_C(0xffff888000000000)
#define WORDS 32768
#define TASK_SIZE 0x4000
#define OTHER_SIZE 0x800

/* Offsets of struct members in the simulated kernel, in bytes. */
#define CGROUPS 0x950
#define DFL_CGRP 0x80
#define KN 0xf8
#define ID 0x68
#define PARENT 0x80

static struct {
    uint64_t words[WORDS];
    uint64_t end; /* address after the last word in use */
    uint64_t cgroups[4];
    struct peeked_task tasks[3]; /* the current tasks: this process, and those of two CPUs */
    uint64_t root;
} kernel;

static uint64_t make(size_t size)
{
    uint64_t address = kernel.end;

    kernel.end += size;
    assert_true(kernel.end <= BASE + sizeof(kernel.words));
    return address;
}

static void put(uint64_t address, uint64_t word)
{
    kernel.words[(address - BASE) / sizeof(word)] = word;
}

static uint64_t make_cgroup(uint64_t id, uint64_t parent)
{
    uint64_t cgroup = make(OTHER_SIZE), node = make(OTHER_SIZE);

    put(cgroup, cgroup);
    put(cgroup + KN, node);
    put(cgroup + PARENT, parent);
    put(cgroup + 0x180,
        kernel.root); /* every cgroup also points to the root at another offset, as cgroup.dom_cgrp may do */
    put(node + ID, id);
    return cgroup;
}

static struct peeked_task make_task(uint64_t cgroup, uint64_t id)
{
    uint64_t task = make(TASK_SIZE), css_set = make(OTHER_SIZE);

    put(task + 0x10, task + 0x10); /* an empty list */
    put(task + CGROUPS, css_set);
    put(css_set + DFL_CGRP, cgroup);
    return (struct peeked_task){task, id};
}

/* This process is in /service/instance, CPU 0 is idle, and CPU 1 runs a task in /other. */
static void make_kernel(void)
{
    memset(&kernel, 0, sizeof(kernel));
    kernel.end = BASE;
    kernel.root = BASE;
    kernel.cgroups[0] = make_cgroup(1, 0);
    put(kernel.root + 0x180, kernel.root);
    kernel.cgroups[1] = make_cgroup(40, kernel.root);
    kernel.cgroups[2] = make_cgroup(57, kernel.cgroups[1]);
    kernel.cgroups[3] = make_cgroup(8812, kernel.root);
    kernel.tasks[0] = make_task(kernel.cgroups[2], 57);
    /* If a css_set has a single task, its task list points from the task back into the css_set. */
    put(kernel.tasks[0].address + 0x100, kernel.words[(kernel.tasks[0].address + CGROUPS - BASE) / 8] + 8);
    kernel.tasks[1] = make_task(kernel.root, 1);
    kernel.tasks[2] = make_task(kernel.cgroups[3], 8812);
}

static int simulated_task(void *userdata, int cpu, struct peeked_task *ret)
{
    if (cpu >= 0 && !kernel.tasks[cpu + 1].address)
        return -ENXIO;
    *ret = kernel.tasks[cpu + 1];
    return 0;
}

static int simulated_words(void *userdata, uint64_t address, size_t n, uint64_t *ret)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t at = address + i * sizeof(*ret) - BASE;
        ret[i] = at < sizeof(kernel.words) && at % sizeof(*ret) == 0 ? kernel.words[at / sizeof(*ret)] : 0;
    }
    return 0;
}

static void as_it_is(void)
{
}

static void alone_in_root(void)
{
    kernel.tasks[0] = kernel.tasks[1];
}

static void idle_otherwise(void)
{
    kernel.tasks[2] = (struct peeked_task){0};
}

/*
 * The address that bpf_get_current_task() returns on 32-bit ARM with the usual 3 GB for user space. of_32_bits_below()
 * uses a kernel with 1 GB for user space.
 */
static void of_32_bits(void)
{
    kernel.tasks[0].address = UINT64_C(0xffffffffc1234560);
}

static void of_32_bits_below(void)
{
    kernel.tasks[0].address = UINT64_C(0x41234560);
}

static void one_cgroup(void)
{
    kernel.tasks[1] = kernel.tasks[2] = kernel.tasks[0];
}

static void only_root(void)
{
    kernel.tasks[0] = kernel.tasks[2] = kernel.tasks[1];
}

/* Each task_struct is followed by another one in the same cgroup. */
static void neighbours(void)
{
    for (size_t i = 0; i < 3; i++)
        put(kernel.tasks[i].address + 0xf00 + CGROUPS, kernel.words[(kernel.tasks[i].address + CGROUPS - BASE) / 8]);
}

static void two_ways(void)
{
    for (size_t i = 0; i < 4; i++)
        put(kernel.cgroups[i] + KN + 8, kernel.words[(kernel.cgroups[i] + KN - BASE) / 8]);
}

/* In one task's cgroup, the cgroup id is also found at another offset. */
static void by_chance(void)
{
    put(kernel.cgroups[2] + KN + 8, kernel.words[(kernel.cgroups[2] + KN - BASE) / 8]);
    put(kernel.words[(kernel.cgroups[2] + KN - BASE) / 8] + 8, 57);
}

static void two_parents(void)
{
    for (size_t i = 0; i < 4; i++)
        put(kernel.cgroups[i] + 0x90, kernel.words[(kernel.cgroups[i] + PARENT - BASE) / 8]);
}

static void no_parent(void)
{
    put(kernel.cgroups[1] + PARENT, 0);
}

/* The sampled task is not the one whose cgroup id was reported. */
static void ended(void)
{
    kernel.tasks[1].cgroup = 4711;
}

TEST(test_search)
{
    static const struct {
        const char *name;
        void (*in_change)(void);
        const char *out_message; /* NULL: the search succeeds */
    } cases[] = {
        {"an unchanged kernel", as_it_is, NULL},
        {"this process is in the root cgroup", alone_in_root, NULL},
        {"only this process and the idle task", idle_otherwise, NULL},
        {"the cgroup id is also found at another offset", by_chance, NULL},
        {"a task that has exited", ended, NULL},
        {"each task_struct is followed by another one", neighbours, NULL},
        {"a 32-bit kernel", of_32_bits, "needs a 64-bit kernel (arm64, amd64)"},
        {"a 32-bit kernel with 1 GB for user space", of_32_bits_below, "needs a 64-bit kernel (arm64, amd64)"},
        {"all tasks are in one cgroup", one_cgroup, "needs tasks of two cgroups, but found tasks of only one"},
        {"all tasks are in the root cgroup", only_root,
         "needs a task that runs in a cgroup below the root: run perfcountd as a service"},
        {"two offsets lead to the cgroup", two_ways, "found 2 possible paths from a task to its cgroup"},
        {"two offsets lead to the parent", two_parents, "found 2 possible paths from a cgroup to its parent"},
        {"no offset leads to the parent", no_parent, "found 0 possible paths from a cgroup to its parent"},
    };
    const struct peek peek = {NULL, 2, simulated_task, simulated_words};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct bpf_offsets expected = {CGROUPS, DFL_CGRP, KN, ID, PARENT};
        struct bpf_offsets offsets = {0};
        struct error error = {0};
        make_kernel();
        cases[i].in_change();
        int r = offsets_find(&peek, &offsets, &error);
        if (r != (cases[i].out_message ? -ENOENT : 0) ||
            (r < 0 ? !strstr(error.message, cases[i].out_message) : memcmp(&offsets, &expected, sizeof(offsets))))
            fail_msg("%s: %d: %s", cases[i].name, r, error.message);
    }
}

static int failing_words(void *userdata, uint64_t address, size_t n, uint64_t *ret)
{
    return -EPERM;
}

TEST(test_refused)
{
    const struct peek peek = {NULL, 2, simulated_task, failing_words};
    struct bpf_offsets offsets;
    struct error error = {0};

    make_kernel();
    assert_int_equal(offsets_find(&peek, &offsets, &error), -EPERM);
    assert_non_null(strstr(error.message, "failed: Operation not permitted"));
}

TEST_MAIN(NULL, NULL)
