/* SPDX-License-Identifier: Apache-2.0 */
/* Processes from a /proc that the test makes. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "symbols/proc-scan.h"
#include "tests/unit/process-rig.h"
#include "tests/unit/test.h"

static void put(const char *root, const char *path, const char *text)
{
    char full[256];

    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(full, 0700);
    }
    _cleanup_(fclosep) FILE *file = fopen(full, "we");
    assert_true(file && fputs(text, file) >= 0);
}

static void count_visits(void *userdata, uint32_t pid, uint32_t tid, const char *name, const struct mapping *mapping)
{
    unsigned *n = userdata;

    assert_true(pid && tid && name[0]);
    n[mapping ? 1 : 0]++;
}

/* Processes 7 and 9, a process that has ended, and files that are no processes. */
static void make_proc(const char *root)
{
    _cleanup_(buffer_done) struct buffer maps = {0};

    put(root, "/proc/7/task/7/comm", "seven\n");
    put(root, "/proc/7/task/8/comm", "eight\n");
    put(root, "/proc/7/task/x/comm", "no\n");
    put(root, "/proc/7/maps",
        "1000-2000 r-xp 00000000 08:01 5 /seven\n"
        "2000-3000 rw-p 00000000 08:01 5 /data\n"
        "nonsense\n"
        "4000-5000 r-xp 00000000 00:00 0 [vdso]\n"
        "5000-6000 r-xp 00000000 00:00 0 cut off");
    for (unsigned i = 0; i < 900; i++) /* more than one step reads */
        buffer_appendf(&maps, "%x000-%x000 r-xp 00000000 08:01 %u /a/rather/long/name\n", i + 1, i + 2, i + 10);
    _cleanup_(freep) char *text = buffer_string(&maps);
    put(root, "/proc/9/task/9/comm", "nine\n");
    put(root, "/proc/9/maps", text);
    put(root, "/proc/10/comm", "no task: it has ended\n");
    put(root, "/proc/self/task/1/comm", "not a number\n");
    put(root, "/proc/uptime", "1\n");
}

TEST_WITH(test_scan, process_rig_setup, process_rig_teardown)
{
    struct process_rig *rig = *state;
    char root[] = "/tmp/test-processes-XXXXXX", command[64];
    struct proc_scan *scan;
    unsigned steps = 0, visits[2] = {0};

    assert_non_null(mkdtemp(root));
    rig->sys.root = root;
    make_proc(root);
    assert_int_equal(proc_scan_new(&rig->sys, 0, &scan), 0);
    while (proc_scan_step(scan, rig->processes))
        assert_true(++steps < 100);
    proc_scan_free(scan);
    assert_int_equal(processes_n(rig->processes), 2);
    assert_string_equal(process_rig_comm(rig, 7, 8), "eight");
    assert_string_equal(process_rig_at(rig, 7, 0x1fff), "/seven+fff");
    assert_string_equal(process_rig_at(rig, 7, 0x2000), "");
    assert_string_equal(process_rig_at(rig, 7, 0x4000), "[vdso]+0");
    assert_string_equal(process_rig_at(rig, 7, 0x5000), "");
    assert_string_equal(process_rig_at(rig, 9, 900 << 12), "/a/rather/long/name+0");
    processes_each(rig->processes, count_visits, visits);
    assert_int_equal(visits[0], 3);
    assert_int_equal(visits[1], 902);
    assert_int_equal(proc_scan_new(&rig->sys, 12345, &scan), 0); /* it has ended */
    for (steps = 0; proc_scan_step(scan, rig->processes);)
        assert_true(++steps < 100);
    proc_scan_free(scan);
    rig->sys.root = "/nowhere";
    assert_int_equal(proc_scan_new(&rig->sys, 0, &scan), -ENOENT);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

TEST_MAIN(NULL, NULL)
