/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of a capture. A lane is one online CPU: the events that sample there, and the ring buffer with their
 * records. The lane set merges the records of all lanes by time.
 *
 * If a process is sampled, each of its threads has its own events on each CPU, since the kernel maps no ring for
 * inherited events that are not bound to a CPU. The events of all threads share the ring of the lane. On a CPU that is
 * not sampled, a lane only tracks processes, see spec_tracks().
 */
#ifndef SAMPLER_RINGS_H
#define SAMPLER_RINGS_H

#include <systemd/sd-event.h>

#include "perf/ring.h"
#include "sampler/record-options.h"

struct lane {
    struct sys *sys;
    unsigned cpu;
    bool samples;            /* false: the lane only tracks */
    struct spec_group group; /* opened once for each thread, or once for the CPU if the spec has no process */
    int *fds;                /* `group.n` for each opening of the group; the first descriptor owns the ring */
    uint64_t *ids;           /* PERF_EVENT_IOC_ID of each descriptor */
    size_t n_fds;
    struct ring *ring;
    struct record record; /* the next record; valid if `has_record` */
    bool has_record;
    sd_event_source *io; /* watches the ring; set by the lane set */
};

/*
 * Decodes the next record into `lane->record`, unless that was done already. Returns 1 if there is a record, 0 if the
 * ring is empty, -ENOMEM on failure. Records that cannot be decoded are skipped and counted in *malformed.
 */
int lane_peek(struct lane *lane, const struct record_layout *layout, uint64_t *malformed);
/* Removes the record that lane_peek() decoded. Its room is returned to the kernel by lane_set_release(). */
void lane_take(struct lane *lane);

/* Limit of the descriptors that a capture opens for the threads of a process. */
#define LANE_SET_DESCRIPTORS_MAX 8192

/* The owner fills in the members up to `userdata`; the others start zeroed. */
struct lane_set {
    struct sys *sys;
    sd_event *event;
    const struct spec *spec;
    sd_event_io_handler_t on_ring; /* called with `userdata` when a ring is a quarter full or hangs up */
    void *userdata;
    struct lane **lanes;
    size_t n;
    bool enabled;
    struct record_layout layout; /* the same for all records */
    uint64_t malformed;          /* records that could not be decoded; a corrupt ring's whole content counts as one */
};

void lane_set_done(struct lane_set *set);

/*
 * Opens lanes on online CPUs that have none. If `all` is set, stops at the first CPU that cannot be sampled; otherwise
 * skips such CPUs. CPUs that cannot be tracked are always skipped.
 *
 * Returns with a sentence: -ENOENT if the process does not exist, -EINVAL if it has too many threads, -ENOMEM, errors
 * of spec_bind(), spec_refused() and ring_open(). The lanes opened before the error stay in the set.
 */
int lane_set_open(struct lane_set *set, const struct machine *machine, bool all, struct error *error);
/* Closes the lanes of CPUs that are offline or in `left` (may be NULL). */
void lane_set_close_left(struct lane_set *set, const struct machine *machine, const struct cpuset *left);
/* Closes the lanes that only track. Returns whether there were any. */
bool lane_set_close_tracking(struct lane_set *set);
/* Whether any CPU is sampled. */
bool lane_set_samples(const struct lane_set *set);

/* Enables or disables the events of all lanes. Returns -errno of the first lane that cannot be enabled. */
int lane_set_enable(struct lane_set *set, bool enabled);

/* Whether the lane has a record that is not later than `until_ns`. */
static inline bool lane_set_is_due(struct lane_set *set, struct lane *lane, uint64_t until_ns)
{
    return lane_peek(lane, &set->layout, &set->malformed) == 1 && lane->record.id.time <= until_ns;
}
/*
 * Returns the lane with the oldest record that is not later than `until_ns`; NULL if there is none. Its records up to
 * *ret_next_ns, the time of the oldest record of the other lanes (at most `until_ns`), can be taken without calling
 * this again.
 */
struct lane *lane_set_oldest(struct lane_set *set, uint64_t until_ns, uint64_t *ret_next_ns);
/* Returns the room of all taken records to the kernel. */
void lane_set_release(struct lane_set *set);

#endif
