/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine: CPUs, PMUs, perf_event_paranoid, hotplug messages, idle times.
 *
 * CPUs that come and go, from the kernel's messages over NETLINK_KOBJECT_UEVENT (lib/kobject_uevent.c): those of group
 * 1, which the kernel itself sends, so that it works without udevd.
 *
 * How long each CPU has had nothing to run, as /proc/stat says.
 *
 * The machine that is measured: its CPUs and the list of its PMUs. Immutable once loaded.
 *
 * Each possible CPU has a core PMU. CPUs for which sysfs has none (virtual machines, boards without the device tree
 * node) have an `absent` one, "cpu", so that no other code needs to handle a CPU without a PMU.
 */
#ifndef PERF_MACHINE_H
#define PERF_MACHINE_H

#include "base/util.h"
#include "perf/pmu.h"
#include "perf/sys.h"

enum uevent_change { UEVENT_ONLINE, UEVENT_OFFLINE };

/* Pure: "offline@/devices/system/cpu/cpu3", NUL, pairs... -ENOENT where the message is about something else. */
int uevent_parse(const char *message, size_t size, enum uevent_change *ret_change, unsigned *ret_cpu);

/* A non-blocking socket that receives the messages; errors of socket(2) and bind(2). The caller closes it. */
int uevent_open(void);

/*
 * The next change of a CPU that waits in the socket; messages about other things, and from anybody but the kernel, are
 * skipped. -EAGAIN: there is none. -ENOBUFS: messages were lost, so any CPU may have come or gone. Errors of
 * recvmsg(2).
 */
int uevent_receive(int fd, enum uevent_change *ret_change, unsigned *ret_cpu);

struct idle_time {
    unsigned cpu;
    double seconds; /* since the system started, waiting for I/O included (proc(5)): now and then it falls a little */
};

/* Of the CPUs that are online, in their order. */
struct idle_times {
    struct idle_time *items;
    size_t n;
};

/* -errno where /proc/stat cannot be read; -EBADMSG where it has no CPU. Needs no privilege. */
int idle_times_load(struct sys *sys, struct idle_times *ret);
/* The same of a text, in which a second has `ticks`. */
int idle_times_parse(const char *text, long ticks, struct idle_times *ret);
void idle_times_done(struct idle_times *times);

struct machine {
    unsigned references; /* counted by the event loop's thread alone */
    struct cpuset possible, online;
    struct pmu **pmus; /* in order of name, the absent one last */
    size_t n_pmus;
    struct defects defects; /* PMUs */
    int paranoid;           /* kernel.perf_event_paranoid; INT_MIN where it cannot be read */
    char *release;          /* kernel release, "6.1.0-35-arm64" */
    const char *tracefs;    /* "/sys/kernel/tracing", or "/sys/kernel/debug/tracing"; NULL where there is none */
};

/*
 * Reads /sys and /proc. With several core PMUs, tries whether generic events can name them. Mounts tracefs where it is
 * not mounted, if that is allowed, and leaves it mounted, as perf does. Fails only when out of memory, and where
 * /sys/devices/system/cpu/online is missing or garbled.
 */
int machine_load(struct sys *sys, struct machine **ret, struct error *error);
/* Adds an owner, so that the machine lasts as long as a thread that reads it. */
struct machine *machine_ref(struct machine *machine);
/* Removes an owner; the last one frees it. */
struct machine *machine_free(struct machine *machine);

/* The directory of tracefs, which is mounted if need be and allowed; NULL where there is none. */
const char *machine_find_tracefs(struct sys *sys);

/*
 * The names of the tracepoints as tracefs lists them, "SYSTEM:EVENT" and a newline each, in no order; the caller frees
 * the text. machine->tracefs is not NULL. Errors of open(2) and read(2); -EFBIG; -ENOMEM.
 */
int machine_list_tracepoints(struct sys *sys, const struct machine *machine, char **ret_text);

/* Whether other CPUs are online than when it was loaded; errors of sys_read_file() and cpuset_parse(). */
int machine_is_outdated(struct sys *sys, const struct machine *machine);

/* NULL where there is none of that name. */
const struct pmu *machine_find_pmu(const struct machine *machine, const char *name);
/* The PMU that counts hardware events on `cpu`; never NULL for a possible CPU. */
const struct pmu *machine_core_pmu(const struct machine *machine, unsigned cpu);

#endif
