/* SPDX-License-Identifier: Apache-2.0 */
/* Breakpoints, uprobes and kprobes on the kernel that the test runs on: each counts what this process does. */
#include <stdio.h>

#include <link.h>

#include "base/cleanup.h"
#include "perf/event/parse.h"
#include "perf/group.h"
#include "perf/reason.h"
#include "tests/unit/test.h"

#define TIMES 1000

static volatile uint64_t watched __attribute__((aligned(8)));

/* Not inlined, and large enough for a probe. */
__attribute__((noinline)) static int probed(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

static struct fixture {
    struct sys sys;
    struct machine *machine;
} fixture;

static int setup(void **state)
{
    (void)state;
    sys_init(&fixture.sys);
    return machine_load(&fixture.sys, &fixture.machine, NULL);
}

static int teardown(void **state)
{
    (void)state;
    machine_free(fixture.machine);
    return 0;
}

/* Opens `text` on this process; a kernel that has no such PMU or forbids it skips the test. */
static struct group *open_event(const char *text, struct event *event)
{
    const struct group_target target = {.pid = 0, .cpu = -1};
    struct group *group = NULL;
    struct error error;
    struct attr attr;
    char why[512];

    if (event_parse(text, event, &error) < 0)
        fail_msg("%s: %s", text, error.message);
    const struct pmu *pmu = attr_pmu(fixture.machine, event, 0);
    if (!pmu) {
        assert_int_equal(attr_check(&fixture.sys, fixture.machine, event, &error), -ENODEV);
        event_done(event);
        skip_because("%s: %s", text, error.message);
    }
    assert_int_equal(attr_build(&fixture.sys, fixture.machine, event, pmu, &attr, NULL), 0);
    int r = group_open(&fixture.sys, &attr, &target, &group);
    if (r < 0) {
        reason_format(fixture.machine, pmu, r, why, sizeof(why));
        if (r != -EACCES && r != -EPERM && r != -ENOSPC && r != -ENOSYS)
            fail_msg("%s: %s", text, why);
        event_done(event);
        skip_because("%s: %s", text, why);
    }
    assert_int_equal(group_enable(group), 0);
    return group;
}

static uint64_t close_event(struct group *group, struct event *event)
{
    struct group_reading reading;

    assert_int_equal(group_disable(group), 0);
    assert_int_equal(group_read(group, &reading), 0);
    assert_int_equal(reading.n, 1);
    group_free(group);
    event_done(event);
    return reading.values[0];
}

static void test_breakpoint(void **state)
{
    static const struct {
        const char *in_format;
        unsigned out; /* for each turn, which reads and writes once */
    } cases[] = {{"mem:0x%lx/8:w:u", 1}, {"mem:0x%lx/8:rw:u", 2}, {"mem:0x%lx/8:w", 1}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct event event = {0};
        char text[64];
        snprintf(text, sizeof(text), cases[i].in_format, (unsigned long)(uintptr_t)&watched);
        struct group *group = open_event(text, &event);
        for (int k = 0; k < TIMES; k++) {
            uint64_t value = watched;
            watched = value + 1;
        }
        assert_int_equal(close_event(group, &event), cases[i].out * TIMES);
    }
}

struct search {
    uintptr_t address, offset;
};

/* The offset in the file of an address of this program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *userdata)
{
    struct search *search = userdata;

    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && search->address >= start && search->address < start + header->p_filesz)
            search->offset = search->address - start + header->p_offset;
    }
    return search->offset != 0;
}

static void test_uprobe(void **state)
{
    struct search search = {.address = (uintptr_t)probed};
    struct event event = {0};
    char text[4096 + 64], path[4096];
    int sum = 0;

    (void)state;
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    assert_true(n > 0);
    path[n] = '\0';
    assert_int_equal(dl_iterate_phdr(find_offset, &search), 1);
    snprintf(text, sizeof(text), "uprobe/path=%s,offset=0x%lx,name=probed/", path, (unsigned long)search.offset);
    struct group *group = open_event(text, &event);
    for (int i = 0; i < TIMES; i++)
        sum = probed(sum);
    assert_int_equal(sum, TIMES);
    assert_int_equal(close_event(group, &event), TIMES);
}

static void test_kprobe(void **state)
{
    struct event event = {0};

    (void)state;
    struct group *group = open_event("kprobe/func=__x64_sys_getppid/", &event);
    for (int i = 0; i < TIMES; i++)
        getppid();
    assert_int_equal(close_event(group, &event), TIMES);
}

/* The kernel's error for a file that does not exist. */
static void test_no_such_file(void **state)
{
    const struct group_target target = {.pid = 0, .cpu = -1};
    const struct pmu *pmu = machine_find_pmu(fixture.machine, "uprobe");
    _cleanup_(event_done) struct event event = {0};
    struct group *group = NULL;
    struct attr attr;
    char why[512];

    (void)state;
    if (!pmu)
        skip_because("this kernel has no uprobes");
    assert_int_equal(event_parse("uprobe/path=/nonexistent,offset=0x10/", &event, NULL), 0);
    assert_int_equal(attr_build(&fixture.sys, fixture.machine, &event, pmu, &attr, NULL), 0);
    int r = group_open(&fixture.sys, &attr, &target, &group);
    if (r == -EACCES || r == -EPERM || r == -ENOSYS)
        skip_because("a uprobe cannot be opened (%s)", strerror(-r));
    assert_int_equal(r, -ENOENT);
    reason_format(fixture.machine, pmu, r, why, sizeof(why));
    assert_non_null(strstr(why, "no such function or file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_breakpoint),
        cmocka_unit_test(test_uprobe),
        cmocka_unit_test(test_kprobe),
        cmocka_unit_test(test_no_such_file),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
