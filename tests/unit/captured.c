/* SPDX-License-Identifier: Apache-2.0 */
/* Machines as their /sys shows them: what all of them have. See captured.h. */
#include "tests/unit/captured-play.h"

/* The PMUs and files of every kernel. */
static const struct captured_pmu kernel_pmus[] = {
    {"software", PERF_TYPE_SOFTWARE, .software = true},
    {"tracepoint", PERF_TYPE_TRACEPOINT, .software = true},
    {"breakpoint", PERF_TYPE_BREAKPOINT, .software = true},
    {"kprobe", 6, .software = true},
    {"uprobe", 7, .software = true},
    {0},
};
static const struct captured_file kernel_files[] = {
    {"kprobe", "format/retprobe", "config:0"},
    {"uprobe", "format/retprobe", "config:0"},
    {"uprobe", "format/ref_ctr_offset", "config:32-63"},
    {0},
};

static void add_pmus(struct fake_sys *fake, const char *all, const struct captured_pmu *pmus)
{
    for (; pmus->name; pmus++) {
        struct fake_pmu *pmu = fake_add_pmu(fake, pmus->name, pmus->type, pmus->file, pmus->file ? pmus->cpus : all);
        pmu->core = pmus->core;
        pmu->software = pmus->software;
        pmu->counters = pmus->counters ? pmus->counters : FAKE_UNLIMITED;
    }
}

static void add_files(struct fake_sys *fake, const struct captured_file *files)
{
    for (; files->pmu; files++)
        fake_pmu_file(fake, files->pmu, files->path, files->text);
}

struct fake_sys *captured_play(const struct captured *captured)
{
    struct fake_sys *fake = fake_sys_new();

    fake_cpus(fake, captured->cpus);
    fake_file(fake, "/proc/sys/kernel/perf_event_paranoid", "%s\n", captured->paranoid);
    fake_file(fake, "/proc/sys/kernel/osrelease", "%s\n", captured->release);
    fake_file(fake, "/sys/kernel/tracing/events/sched/sched_switch/id", "316\n");
    add_pmus(fake, captured->cpus, kernel_pmus);
    add_files(fake, kernel_files);
    add_pmus(fake, captured->cpus, captured->pmus);
    add_files(fake, captured->files);
    fake->extended_types = captured->extended_types;
    return fake;
}
