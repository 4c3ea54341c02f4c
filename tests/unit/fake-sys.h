/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine to play: /sys and /proc in a temporary directory, and a kernel that counts by a clock which the test moves.
 *
 *     struct fake_sys *fake = fake_machine_big_little();
 *     struct machine *machine = machine_of(&fake->sys);     (fake-machine.h)
 *     ... open groups through &fake->sys ...
 *     fake_advance(fake, 1000);
 *     ... read: each counter shows 1000, unless fake_rate() said otherwise ...
 *     fake_sys_free(fake);     which checks that all is closed
 *
 * A mistake in the test itself (a fake PMU of unknown name, a full disk) ends it by assert().
 */
#ifndef TESTS_UNIT_FAKE_SYS_H
#define TESTS_UNIT_FAKE_SYS_H

#include "base/cleanup.h"
#include "bpf/calls.h"
#include "perf/cpuset.h"
#include "perf/sys.h"

enum fake_call { FAKE_OPEN, FAKE_READ, FAKE_IOCTL, FAKE_CLOSE, FAKE_MOUNT, FAKE_MMAP };
#define N_FAKE_CALLS 6

#define FAKE_UNLIMITED UINT32_MAX
#define FAKE_FD_FIRST 1000

struct fake_pmu {
    const char *name;
    uint32_t type;
    struct cpuset cpus; /* those on which its events can be opened */
    bool core;          /* counts the generic hardware and cache events and raw ones */
    bool software;      /* needs no counters */
    bool arm;           /* validate_event() of drivers/perf/arm_pmu.c skips a disabled event without enable_on_exec */
    /*
     * Programmable counters of each CPU. A group that needs more is refused when its next member is opened (EINVAL);
     * groups that together need more share the time evenly. 0 lets nothing run: starvation. The test may change it at
     * any time.
     */
    uint32_t counters;
};

/* Counts `count` in `ns` nanoseconds of running time. */
struct fake_rate {
    uint32_t type;
    uint64_t config, count, ns;
};

/* Matching calls fail: `after` of them succeed, and then `times` fail (0: all). */
struct fake_failure {
    enum fake_call call;
    int error; /* EMFILE; 0 for FAKE_READ is a read of 0 bytes, as of a pinned group in the error state */
    unsigned after, times;
    bool on_event; /* only events of this type and config */
    uint32_t type;
    uint64_t config;
    bool on_cpu; /* only on this CPU */
    int cpu;
};

struct fake_event;
struct fake_bpf;

struct fake_sys {
    struct sys sys;
    char root[32];
    struct cpuset possible, online;
    struct fake_pmu pmus[32];
    size_t n_pmus;
    bool user_reads;            /* see fake_user_reads() */
    bool extended_types;        /* PERF_TYPE_HARDWARE takes a PMU's type in the upper half of config */
    struct fake_event **events; /* by descriptor - FAKE_FD_FIRST; a number is never used twice */
    size_t n_events;
    unsigned n_open;              /* descriptors; 0 at the end of a test that leaks nothing */
    unsigned n_mapped;            /* pages; the same */
    unsigned calls[N_FAKE_CALLS]; /* made so far, failed ones included */
    struct fake_rate rates[16];
    size_t n_rates;
    struct fake_failure failures[8];
    size_t n_failures;
    int removed_cgroups[8];
    size_t n_removed_cgroups;
    uint64_t monotonic_ns, realtime_ns;
    /* Of a machine that can have a BPF program (fake-bpf.h). */
    struct bpf_calls bpf_calls;
    struct fake_bpf *bpf;
    void (*run_cgroup)(struct fake_sys *fake, int cgroup, unsigned cpu, uint64_t ns);
    void (*remove_bpf)(struct fake_sys *fake);
};

/* Four CPUs with a core PMU "cpu" (type 4) like an x86's, four counters; a RAPL-like "power" with a cpumask. */
struct fake_sys *fake_machine_one_pmu(void);
/* armv8_cortex_a55 (type 8) on CPUs 0-3, armv8_cortex_a76 (type 9) on 4-7; six counters each, different events. */
struct fake_sys *fake_machine_big_little(void);
/* Two CPUs without a hardware PMU. */
struct fake_sys *fake_machine_no_pmu(void);
/* Two CPUs whose PMU "cpu" (type 4) has two counters. */
struct fake_sys *fake_machine_two_counters(void);

/* A machine without anything; the ones above are made from it. */
struct fake_sys *fake_sys_new(void);
/* Nothing may be open or mapped any more. */
struct fake_sys *fake_sys_free(struct fake_sys *fake);
DEFINE_CLEANUP(struct fake_sys *, fake_sys_free);

/* Writes a file below the root, with the directories before it. */
void fake_file(struct fake_sys *fake, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);
/* Where a file of the machine is; the text is valid until the fourth call after. */
const char *fake_path(const struct fake_sys *fake, const char *path);
/* Declares the CPUs; all are online. */
void fake_cpus(struct fake_sys *fake, const char *list);
/* Adds a PMU to sysfs and the kernel; `file` is "cpus", "cpumask" or NULL. `cpus` must be within the machine's. */
struct fake_pmu *fake_add_pmu(struct fake_sys *fake, const char *name, uint32_t type, const char *file,
                              const char *cpus);
/* Writes the file "events/NAME" or the like of a PMU. */
void fake_pmu_file(struct fake_sys *fake, const char *pmu, const char *path, const char *text);
struct fake_pmu *fake_find_pmu(struct fake_sys *fake, const char *name);

/* Lets time pass: everything that is enabled counts, but for what counts a cgroup. */
void fake_advance(struct fake_sys *fake, uint64_t ns);
/* The task executes its program: what waits for that (enable_on_exec) is enabled. */
void fake_exec(struct fake_sys *fake);
/*
 * The cgroup whose directory is open as `fd` (any number that the test likes, from 0) runs on a CPU: what counts it
 * there counts. The clock does not move, since several CPUs may run at once.
 */
void fake_cgroup_run(struct fake_sys *fake, int fd, unsigned cpu, uint64_t ns);
/* rmdir: nothing can be opened on it any more (ENOENT); what is open can be read. */
void fake_cgroup_remove(struct fake_sys *fake, int fd);
/* From now on; the default is one per nanosecond. */
void fake_rate(struct fake_sys *fake, struct fake_rate rate);
void fake_fail(struct fake_sys *fake, struct fake_failure failure);
void fake_fail_no_more(struct fake_sys *fake);
/*
 * A CPU that leaves: sysfs says so, its events stop for good, and its groups fall apart, so that a read of a leader has
 * one member (kernel/events/core.c, perf_event_exit_cpu_context()). A CPU that comes back has nothing open.
 */
void fake_set_online(struct fake_sys *fake, unsigned cpu, bool online);
/*
 * Events may be read in user space: their pages offer it from now on. The numbers of the counters are those of
 * fake_user_counter(), 32 bits wide; the clock is monotonic_ns. No overflow interrupt writes the page: that is up to
 * fake_set_off_counter().
 */
void fake_user_reads(struct fake_sys *fake);
uint64_t fake_user_counter(const struct fake_sys *fake, unsigned number);
/* An event that is on no counter for now, as one of a kind of core on which the task does not run. */
void fake_set_off_counter(struct fake_sys *fake, int fd, bool off);
/* The attributes that a descriptor was opened with; NULL for a closed one. */
const struct perf_event_attr *fake_attr(const struct fake_sys *fake, int fd);

#endif
