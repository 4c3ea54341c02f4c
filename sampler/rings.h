/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CPU of a capture: the events that sample there, and the ring that takes their records.
 *
 * If a process is sampled, each of its threads has events of its own here. They share the ring, since the kernel maps
 * none for events that move from CPU to CPU. On a CPU that is not sampled, a lane only tracks processes: see
 * spec_tracks().
 *
 * The lanes of a capture: one on each CPU that is online, their records in the order of time.
 */
#ifndef SAMPLER_RINGS_H
#define SAMPLER_RINGS_H

#include <systemd/sd-event.h>

#include "perf/ring.h"
#include "sampler/record-options.h"

struct lane {
    struct sys *sys;
    unsigned cpu;
    bool samples;            /* false: it only tracks */
    struct spec_group group; /* that each thread has here; without a process, the CPU */
    int *fds;                /* `group.n` of each; the first has the ring */
    uint64_t *ids;           /* of each descriptor, as samples have them */
    size_t n_fds;
    struct ring *ring;
    struct record record; /* the next one, if `has_record` */
    bool has_record;
    sd_event_source *io; /* of the ring, the lane set's */
};

/*
 * Decodes the next record into `lane->record`, unless one is there already. Returns 1 if there is one, 0 if the ring is
 * empty, -ENOMEM. Records that cannot be decoded are skipped, and counted in *malformed.
 */
int lane_peek(struct lane *lane, const struct record_layout *layout, uint64_t *malformed);
/* Removes the record that lane_peek() decoded. */
void lane_take(struct lane *lane);

/* The most descriptors that the threads of a process may need, of one capture. */
#define LANE_SET_DESCRIPTORS_MAX 8192

struct lane_set {
    struct sys *sys;
    sd_event *event;
    const struct spec *spec;
    sd_event_io_handler_t on_ring; /* called when a ring fills, with `userdata` */
    void *userdata;
    struct lane **lanes;
    size_t n;
    bool enabled;
    struct record_layout layout; /* of all records */
    uint64_t malformed;          /* records that could not be decoded; a whole ring that was given up counts once */
};

void lane_set_done(struct lane_set *set);

/*
 * Opens lanes on the CPUs that are online and have none. `all`: the first CPU that cannot be sampled ends it, with a
 * sentence: errors of lane_open(), -EINVAL for a process with too many threads. Lanes that only track are optional.
 */
int lane_set_open(struct lane_set *set, const struct machine *machine, bool all, struct error *error);
/* Closes the lanes of CPUs that are offline, and of those in `left` (may be NULL). */
void lane_set_close_left(struct lane_set *set, const struct machine *machine, const struct cpuset *left);
/* Closes the lanes of CPUs that are not sampled. Returns whether there were any. */
bool lane_set_close_tracking(struct lane_set *set);
/* Whether any CPU is sampled. */
bool lane_set_samples(const struct lane_set *set);

/* Enables or disables the events of all lanes. Returns -errno of the first lane that cannot be enabled. */
int lane_set_enable(struct lane_set *set, bool enabled);

/* Whether the lane's next record is not younger than `until_ns`. */
static inline bool lane_set_is_due(struct lane_set *set, struct lane *lane, uint64_t until_ns)
{
    return lane_peek(lane, &set->layout, &set->malformed) == 1 && lane->record.id.time <= until_ns;
}
/*
 * The lane with the oldest record that is due, NULL if none is. Its records are the oldest until `*ret_next_ns`, the
 * time of the oldest record of the others.
 */
struct lane *lane_set_oldest(struct lane_set *set, uint64_t until_ns, uint64_t *ret_next_ns);
/* Gives the room of the records that were taken back to the kernel. */
void lane_set_release(struct lane_set *set);

#endif
