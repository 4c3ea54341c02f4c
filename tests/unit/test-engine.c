/* SPDX-License-Identifier: Apache-2.0 */
/* A reload that has cgroups counted by another engine: collectors/cgroup/engine.c, by the collector. */
#include "base/cleanup.h"
#include "formats/exposition.h"
#include "tests/unit/fake-tally.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define ENGINE(name) "collectors: {cgroup: {engine: " name ", include: ['/*'], groups: [{name: f, events: faults}]}}"

static void assert_unknown_created(struct rig *rig, const char *expected)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    exposition_write(&text, &rig_read(rig)->metrics, UINT32_MAX, EXPOSITION_OPENMETRICS);
    _cleanup_(freep) char *page = buffer_string(&text);
    const char *line = strstr(page, "perfcountd_cgroup_unknown_seconds_created ");
    assert_true(line && strncmp(strchr(line, ' ') + 1, expected, strlen(expected)) == 0);
}

/* Another engine begins at 0, and says so; the same one goes on. */
static void test_engine_changes(void **state)
{
    struct fake_sys *fake = fake_machine_no_pmu();
    struct rig rig;

    (void)state;
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    fake_tally_add(fake);
    rig_init(&rig, fake, ENGINE("bpf"));
    assert_unknown_created(&rig, "1700000000\n");
    fake_advance(fake, 2 * NSEC_PER_SEC);
    rig_configure(&rig, ENGINE("bpf"));
    assert_unknown_created(&rig, "1700000000\n");
    rig_configure(&rig, ENGINE("perf"));
    rig_configure(&rig, ENGINE("bpf"));
    assert_unknown_created(&rig, "1700000002\n");
    rig_done(&rig);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
