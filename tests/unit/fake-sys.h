/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated machine: /sys and /proc in a temporary directory, and a kernel whose counters follow a clock that the
 * test advances.
 *
 *     struct fake_sys *fake = fake_machine_big_little();
 *     struct machine *machine = machine_of(&fake->sys);     (fake-machine.h)
 *     ... open groups through &fake->sys ...
 *     fake_advance(fake, 1000);
 *     ... read: each counter is 1000, unless fake_rate() has set another rate ...
 *     fake_sys_free(fake);     (checks that everything is closed)
 *
 * An error in the simulation itself (an unknown fake PMU, a full disk) aborts the test by assert().
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
    struct cpuset cpus; /* the CPUs on which its events can be opened */
    bool core;          /* counts the generic hardware and cache events, and raw events */
    bool software;      /* needs no hardware counters */
    bool arm;           /* a disabled event without enable_on_exec needs no counter, as in drivers/perf/arm_pmu.c */
    /*
     * Programmable counters per CPU. If a group needs more counters, opening the member that exceeds their number fails
     * with EINVAL. If several groups together need more, the groups share the time evenly. With 0 counters, all groups
     * starve. A test may change the number at any time.
     */
    uint32_t counters;
};

/* The event's count grows by `count` per `ns` nanoseconds of running time. */
struct fake_rate {
    uint32_t type;
    uint64_t config, count, ns;
};

/* Of the matching calls, `after` succeed and the next `times` fail (0: all further ones). */
struct fake_failure {
    enum fake_call call;
    int error; /* errno of the failure; 0 makes FAKE_READ return 0 bytes, as for a pinned group in the error state */
    unsigned after, times;
    bool on_event; /* the failure applies only to events with this type and config */
    uint32_t type;
    uint64_t config;
    bool on_cpu; /* the failure applies only to events on this CPU */
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
    struct fake_event **events; /* indexed by descriptor - FAKE_FD_FIRST; numbers are never reused */
    size_t n_events;
    unsigned n_open;              /* open descriptors; a test that ends with 0 leaks none */
    unsigned n_mapped;            /* mapped pages; a test that ends with 0 leaks none */
    unsigned calls[N_FAKE_CALLS]; /* calls so far, failed ones included */
    struct fake_rate rates[16];
    size_t n_rates;
    struct fake_failure failures[8];
    size_t n_failures;
    int removed_cgroups[8];
    size_t n_removed_cgroups;
    uint64_t monotonic_ns, realtime_ns;
    /* Used if the machine supports BPF programs (fake-bpf.h). */
    struct bpf_calls bpf_calls;
    struct fake_bpf *bpf;
    void (*run_cgroup)(struct fake_sys *fake, int cgroup, unsigned cpu, uint64_t ns);
    void (*remove_bpf)(struct fake_sys *fake);
};

/* Four CPUs with an x86-like core PMU "cpu" (type 4) of four counters, and a RAPL-like "power" with a cpumask. */
struct fake_sys *fake_machine_one_pmu(void);
/* armv8_cortex_a55 (type 8) on CPUs 0-3, armv8_cortex_a76 (type 9) on 4-7; six counters each, with different events. */
struct fake_sys *fake_machine_big_little(void);
/* Two CPUs without a hardware PMU. */
struct fake_sys *fake_machine_no_pmu(void);
/* Two CPUs whose PMU "cpu" (type 4) has two counters. */
struct fake_sys *fake_machine_two_counters(void);

/* An empty machine, from which the machines above are built. */
struct fake_sys *fake_sys_new(void);
/* Asserts that no descriptor is open and no page is mapped. */
struct fake_sys *fake_sys_free(struct fake_sys *fake);
DEFINE_CLEANUP(struct fake_sys *, fake_sys_free);

/* Writes a file below the machine's root, and creates its parent directories. */
void fake_file(struct fake_sys *fake, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);
/* Returns the real path of a file of the machine. The text is valid until the fourth call after this one. */
const char *fake_path(const struct fake_sys *fake, const char *path);
/* Declares the machine's CPUs and sets them online. */
void fake_cpus(struct fake_sys *fake, const char *list);
/*
 * Adds a PMU to sysfs and the kernel. `file` is "cpus", "cpumask" or NULL. `cpus` must be a subset of the machine's
 * CPUs.
 */
struct fake_pmu *fake_add_pmu(struct fake_sys *fake, const char *name, uint32_t type, const char *file,
                              const char *cpus);
/* Writes a file of a PMU; `path` is like "events/NAME". */
void fake_pmu_file(struct fake_sys *fake, const char *pmu, const char *path, const char *text);
struct fake_pmu *fake_find_pmu(struct fake_sys *fake, const char *name);

/* Lets `ns` nanoseconds pass on all CPUs. All enabled events count, except those of cgroups. */
void fake_advance(struct fake_sys *fake, uint64_t ns);
/* Simulates an exec of the task, which enables its events with enable_on_exec. */
void fake_exec(struct fake_sys *fake);
/*
 * Runs the cgroup with the descriptor `fd`, which may be any number from 0, on a CPU for `ns` nanoseconds. Only events
 * of this cgroup on this CPU count. The clock does not move, since several CPUs may run at the same time.
 */
void fake_cgroup_run(struct fake_sys *fake, int fd, unsigned cpu, uint64_t ns);
/* Removes a cgroup, as rmdir(2) does. Further opens fail with ENOENT; open events can still be read. */
void fake_cgroup_remove(struct fake_sys *fake, int fd);
/* Sets the rate of an event from now on. The default rate is one per nanosecond. */
void fake_rate(struct fake_sys *fake, struct fake_rate rate);
void fake_fail(struct fake_sys *fake, struct fake_failure failure);
void fake_fail_no_more(struct fake_sys *fake);
/*
 * Takes a CPU offline or online. When a CPU goes offline, sysfs reports it, its events stop for good, and its groups
 * are dissolved: a read of a leader returns one member (kernel/events/core.c, perf_event_exit_cpu_context()). When the
 * CPU returns, it has no events.
 */
void fake_set_online(struct fake_sys *fake, unsigned cpu, bool online);
/*
 * Allows events to be read in user space; their pages say so from now on. The counter numbers are those of
 * fake_user_counter(), which are 32 bits wide; the clock is monotonic_ns. No overflow interrupt updates the page; only
 * fake_set_off_counter() does.
 */
void fake_user_reads(struct fake_sys *fake);
uint64_t fake_user_counter(const struct fake_sys *fake, unsigned number);
/* Takes an event off its counter for the time being, as if its task ran on the other kind of core. */
void fake_set_off_counter(struct fake_sys *fake, int fd, bool off);
/* Returns the attributes that a descriptor was opened with, or NULL if it is closed. */
const struct perf_event_attr *fake_attr(const struct fake_sys *fake, int fd);

#endif
