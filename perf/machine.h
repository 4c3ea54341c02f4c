/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured machine: its CPUs, its PMUs and the kernel settings that matter to perf.
 *
 * A struct machine never changes once it is loaded; a new one is loaded when CPUs go online or offline. Each possible
 * CPU has a core PMU. CPUs for which sysfs has none (virtual machines, boards without a PMU in the device tree) get an
 * `absent` one, "cpu", so that no other code needs to handle a CPU without a PMU.
 *
 * This module also receives the kernel's hotplug messages and reads how long each CPU was idle.
 */
#ifndef PERF_MACHINE_H
#define PERF_MACHINE_H

#include "base/util.h"
#include "perf/pmu.h"
#include "perf/sys.h"

/*
 * Over NETLINK_KOBJECT_UEVENT, the kernel sends messages about CPUs that go online or offline (lib/kobject_uevent.c).
 * The socket listens to multicast group 1, to which the kernel itself sends, so it works without udevd.
 */
enum uevent_change { UEVENT_ONLINE, UEVENT_OFFLINE };

/* Parses "offline@/devices/system/cpu/cpu3", NUL, KEY=VALUE pairs. Pure. Returns -ENOENT for any other message. */
int uevent_parse(const char *message, size_t size, enum uevent_change *ret_change, unsigned *ret_cpu);

/*
 * Opens a non-blocking socket that receives the messages; the caller closes it. Returns errors of socket(2) and
 * bind(2).
 */
int uevent_open(void);

/*
 * Gets the next pending message about a CPU. Skips messages about other things, and messages that the kernel did not
 * send. Returns -EAGAIN if no message is pending; -ENOBUFS if messages were lost, after which any CPU may have gone
 * online or offline unnoticed; or the error of recvmsg(2).
 */
int uevent_receive(int fd, enum uevent_change *ret_change, unsigned *ret_cpu);

struct idle_time {
    unsigned cpu;
    double seconds; /* idle time since boot, including waiting for I/O; may decrease a little (proc(5)) */
    double stolen;  /* seconds since boot in which the hypervisor ran other guests, or 0 if unknown */
};

/* The CPUs that are online, in ascending order. */
struct idle_times {
    struct idle_time *items;
    size_t n;
};

/* Maximum size of /proc/stat, in bytes. It has a line for each CPU and a number for each interrupt of the machine. */
#define STAT_MAX (2 * 1024 * 1024)

/* Reads /proc/stat, which needs no privilege. Returns -errno if it cannot be read, -EBADMSG if it has no CPU. */
int idle_times_load(struct sys *sys, struct idle_times *ret);
/* Parses the text of /proc/stat, whose times are in units of 1/`ticks` seconds. Pure. */
int idle_times_parse(const char *text, long ticks, struct idle_times *ret);
void idle_times_done(struct idle_times *times);

struct machine {
    unsigned references; /* reference count, changed only in the event loop's thread */
    struct cpuset possible, online;
    struct pmu **pmus; /* sorted by name; the absent PMU comes last */
    size_t n_pmus;
    bool lists_pmus;        /* sysfs has a list of PMUs */
    struct defects defects; /* PMUs that cannot be used */
    int paranoid;           /* kernel.perf_event_paranoid, or INT_MIN if it cannot be read */
    char *release;          /* kernel release, "6.1.0-35-arm64" */
    const char *tracefs;    /* "/sys/kernel/tracing" or "/sys/kernel/debug/tracing", or NULL if not mounted */
};

/*
 * Reads /sys and /proc. If there are several core PMUs, tests whether generic events can name them. Mounts tracefs if
 * it is not mounted and mounting is allowed, and leaves it mounted, as perf does. Fails only if out of memory, or if
 * the lists of online and possible CPUs in /sys/devices/system/cpu or the list of PMUs cannot be read. If sysfs has no
 * such list, the machine has no PMUs, which is not an error.
 */
int machine_load(struct sys *sys, struct machine **ret, struct error *error);
/*
 * Like machine_load(), for a machine that was loaded before. Also fails if the machine's list of PMUs no longer exists.
 */
int machine_load_again(struct sys *sys, const struct machine *before, struct machine **ret, struct error *error);
/* Adds a reference, so that the machine lasts as long as a thread reads it. */
struct machine *machine_ref(struct machine *machine);
/* Drops a reference; dropping the last one frees the machine. */
struct machine *machine_free(struct machine *machine);

/*
 * Mounts tracefs if that is necessary and allowed. Returns its directory, a static string, or NULL if tracefs is not
 * available.
 */
const char *machine_find_tracefs(struct sys *sys);

/*
 * Reads the tracepoints that tracefs lists: "SYSTEM:EVENT" and a newline for each, in no particular order. The caller
 * frees the text. machine->tracefs must not be NULL. Returns errors of open(2) and read(2), -EFBIG, or -ENOMEM.
 */
int machine_list_tracepoints(struct sys *sys, const struct machine *machine, char **ret_text);

/*
 * Returns 1 if the set of online CPUs has changed since the machine was loaded, 0 if not, or an error of
 * sys_read_file() or cpuset_parse().
 */
int machine_is_outdated(struct sys *sys, const struct machine *machine);

/* Returns NULL if there is no PMU of that name. */
const struct pmu *machine_find_pmu(const struct machine *machine, const char *name);
/* The PMU that counts hardware events on `cpu`; never NULL for a possible CPU. */
const struct pmu *machine_core_pmu(const struct machine *machine, unsigned cpu);

#endif
