/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings of a capture. Each online CPU has one (struct cpu_ring): the events that sample there, and the kernel's
 * ring buffer with their records. struct rings merges the records of all CPUs by time.
 *
 * If a process is sampled, each of its threads has its own events on each CPU, since the kernel maps no ring for
 * inherited events that are not bound to a CPU. The events of all threads share the ring buffer of the CPU. On a CPU
 * that is not sampled, a ring only tracks processes, see record_options_tracks().
 */
#ifndef SAMPLER_RINGS_H
#define SAMPLER_RINGS_H

#include <systemd/sd-event.h>

#include "perf/ring.h"
#include "sampler/record-options.h"

struct cpu_ring {
    struct sys *sys;
    unsigned cpu;
    bool samples;              /* false: the ring only tracks processes */
    struct record_group group; /* opened once for each thread, or once for the CPU if the options have no process */
    int *fds;      /* `group.n` for each opening of the group; the first one owns the ring; NULL for a copy */
    uint64_t *ids; /* PERF_EVENT_IOC_ID of each descriptor */
    size_t n_fds;
    struct ring *ring;
    struct record record; /* the next record; valid if `has_record` */
    bool has_record;
    sd_event_source *io; /* watches the ring buffer; set by struct rings */
};

/*
 * Decodes the next record into `cpu_ring->record`, unless that was done already. Returns 1 if there is a record, 0 if
 * the ring is empty, -ENOMEM on failure. Records that cannot be decoded are skipped and counted in *malformed, and so
 * are records that are later than both the current time and `until_ns`.
 */
int cpu_ring_peek(struct cpu_ring *cpu_ring, const struct record_layout *layout, uint64_t until_ns,
                  uint64_t *malformed);
/* Removes the record that cpu_ring_peek() decoded. Its room is returned to the kernel by rings_release(). */
void cpu_ring_take(struct cpu_ring *cpu_ring);

/* Limit of the descriptors that a capture opens for the threads of a process. */
#define RINGS_DESCRIPTORS_MAX 8192

/* The owner fills in the members up to `userdata`; the others start zeroed. */
struct rings {
    struct sys *sys;
    sd_event *event;
    const struct record_options *options;
    sd_event_io_handler_t on_ring; /* called with `userdata` when a ring is a quarter full or hangs up; NULL: never */
    void *userdata;
    struct cpu_ring **cpu_rings;
    size_t n;
    bool enabled;
    struct record_layout layout; /* layout of all records */
    uint64_t malformed;          /* records that could not be decoded; a corrupt ring's whole content counts as one */
};

void rings_done(struct rings *set);

/*
 * Opens rings on online CPUs that have none. If `all` is set, stops at the first CPU that cannot be sampled; otherwise
 * skips such CPUs. CPUs that cannot be tracked are always skipped.
 *
 * Returns with a sentence: -ENOENT if the process does not exist, -EINVAL if it has too many threads, -ENOMEM, errors
 * of record_options_bind(), record_options_refused() and ring_open(). The rings opened before the error stay in the
 * set.
 */
int rings_open(struct rings *set, const struct machine *machine, bool all, struct error *error);
/* Closes the rings of CPUs that are offline or in `went_offline` (may be NULL). */
void rings_close_offline(struct rings *set, const struct machine *machine, const struct cpuset *went_offline);
/* Closes the rings that only track processes. Returns whether there were any. */
bool rings_close_tracking(struct rings *set);
/* Whether any CPU is sampled. */
bool rings_samples(const struct rings *set);

/* Enables or disables the events of all rings. Returns -errno of the first ring that cannot be enabled. */
int rings_enable(struct rings *set, bool enabled);

/* Whether the ring has a record that is not later than `until_ns`. */
static inline bool rings_is_due(struct rings *set, struct cpu_ring *cpu_ring, uint64_t until_ns)
{
    return cpu_ring_peek(cpu_ring, &set->layout, until_ns, &set->malformed) == 1 &&
           cpu_ring->record.id.time <= until_ns;
}
/*
 * Returns the ring with the oldest record that is not later than `until_ns`; NULL if there is none. Its records up to
 * *ret_next_ns, the time of the oldest record of the other rings (at most `until_ns`), can be taken without calling
 * this again.
 */
struct cpu_ring *rings_oldest(struct rings *set, uint64_t until_ns, uint64_t *ret_next_ns);
/* Returns the room of all taken records to the kernel. */
void rings_release(struct rings *set);

/* --- copies --- */

/*
 * Copies the current content of rings that the kernel overwrites. The kernel does not write to them meanwhile: it loses
 * the samples of that time, and counts them. *ret_since_ns is the time from which on the samples of all CPUs are
 * complete; 0 if no ring has overwritten any. The copies of `set` are added to `ret`, which opens no rings. Returns
 * -ENOMEM, or an error of ioctl(2).
 */
int rings_copy(struct rings *set, const struct cpuset *cpus, struct rings *ret, uint64_t *ret_since_ns);
/*
 * Adds `size` bytes of records from the tracking rings `set`. Takes the bytes even on failure. Returns -ENOMEM on
 * failure.
 */
int rings_add_records(struct rings *ret, const struct rings *set, void *bytes, size_t size);

#endif
