/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings of a capture: each online CPU has one ring (struct cpu_ring), which consists of the events that sample on
 * the CPU and the ring buffer that holds their records. struct rings merges the records of all CPUs by time.
 *
 * If a process is sampled, separate events are opened for each thread on each CPU, because the kernel refuses to map a
 * ring buffer for an inherited event that is not bound to a CPU. The events of all threads share the ring buffer of the
 * CPU. The ring of a CPU that is not sampled only tracks processes (record_options_tracks()).
 */
#ifndef SAMPLER_RINGS_H
#define SAMPLER_RINGS_H

#include <systemd/sd-event.h>

#include "perf/ring.h"
#include "sampler/record-options.h"

struct cpu_ring {
    struct sys *sys;
    unsigned cpu;
    bool samples; /* the CPU is sampled; false if the ring only tracks processes */
    /* events, opened once for each thread of the process to sample or, without such a process, once for the CPU */
    struct record_group group;
    int *fds; /* group.n descriptors for each time the group was opened (fds[0] owns the ring), or NULL for a copy */
    uint64_t *ids; /* event id (PERF_EVENT_IOC_ID) of each descriptor */
    size_t n_fds;
    struct ring *ring;
    struct record record; /* the next record; valid if `has_record` */
    bool has_record;
    sd_event_source *io; /* watches the ring buffer; set by struct rings */
};

/*
 * Decodes the next record into `cpu_ring->record`, unless a decoded record is already there. Returns 1 if there is a
 * record, 0 if the ring is empty, and -ENOMEM on failure. Records that cannot be decoded, and records that are later
 * than both the current time and `until_ns`, are skipped and counted in *malformed.
 */
int cpu_ring_peek(struct cpu_ring *cpu_ring, const struct record_layout *layout, uint64_t until_ns,
                  uint64_t *malformed);
/* Removes the record that cpu_ring_peek() decoded. rings_release() returns the record's space to the kernel. */
void cpu_ring_take(struct cpu_ring *cpu_ring);

/* Maximum number of descriptors that a capture opens for the threads of a process. */
#define RINGS_DESCRIPTORS_MAX 8192

/* The owner fills in the members up to `userdata`; the others start zeroed. */
struct rings {
    struct sys *sys;
    sd_event *event;
    const struct record_options *options;
    sd_event_io_handler_t on_ring; /* called with `userdata` when a ring is a quarter full or hangs up; may be NULL */
    void *userdata;
    struct cpu_ring **cpu_rings;
    size_t n;
    bool enabled;
    struct record_layout layout; /* layout of the records in all rings */
    uint64_t malformed;          /* number of records that could not be decoded; a corrupt ring counts as one record */
};

void rings_done(struct rings *set);

/*
 * Opens a ring on each online CPU that has no ring yet. If `all` is true, stops at the first CPU that cannot be
 * sampled; otherwise skips CPUs that cannot be sampled. CPUs that cannot be tracked are always skipped.
 *
 * Returns these errors with a message: -ENOENT if the process does not exist, -EINVAL if the process has too many
 * threads, -ENOMEM, errors from record_options_bind(), record_options_refused() and ring_open(). The rings opened
 * before the error stay in the set.
 */
int rings_open(struct rings *set, const struct machine *machine, bool all, struct error *error);
/* Closes the rings of CPUs that are offline or in `went_offline` (may be NULL). */
void rings_close_offline(struct rings *set, const struct machine *machine, const struct cpuset *went_offline);
/* Closes the rings that only track processes. Returns whether any tracking ring was open. */
bool rings_close_tracking(struct rings *set);
/* Returns whether any CPU is sampled. */
bool rings_samples(const struct rings *set);

/* Enables or disables the events of all rings. Returns -errno of the first ring that cannot be enabled. */
int rings_enable(struct rings *set, bool enabled);

/* Returns whether the ring has a record that is not later than `until_ns`. */
static inline bool rings_is_due(struct rings *set, struct cpu_ring *cpu_ring, uint64_t until_ns)
{
    return cpu_ring_peek(cpu_ring, &set->layout, until_ns, &set->malformed) == 1 &&
           cpu_ring->record.id.time <= until_ns;
}
/*
 * Returns the ring with the oldest record that is not later than `until_ns`, or NULL if no ring has such a record.
 * *ret_next_ns is the time of the oldest record of the other rings, but at most `until_ns`. The caller may take the
 * records of the returned ring up to *ret_next_ns before calling rings_oldest() again.
 */
struct cpu_ring *rings_oldest(struct rings *set, uint64_t until_ns, uint64_t *ret_next_ns);
/* Returns the space of all taken records to the kernel. */
void rings_release(struct rings *set);

/* --- copies --- */

/*
 * Copies the current content of rings in which the kernel overwrites old samples. Writing is paused during the copy;
 * the kernel counts the samples that are lost in that time. *ret_since_ns is the time since which the samples of all
 * CPUs are complete, or 0 if no ring has overwritten samples. The copies of `set` are added to `ret`, which opens no
 * rings. Returns -ENOMEM, or an error from ioctl(2).
 */
int rings_copy(struct rings *set, const struct cpuset *cpus, struct rings *ret, uint64_t *ret_since_ns);
/*
 * Adds `size` bytes of records from the tracking rings `set`. Takes ownership of `bytes` even on failure. Returns
 * -ENOMEM on failure.
 */
int rings_add_records(struct rings *ret, const struct rings *set, void *bytes, size_t size);

#endif
