/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CPU of a capture: the events that sample there, and the ring that takes their records.
 *
 * If a process is sampled, each of its threads has events of its own here. They share the ring, since the kernel maps
 * none for events that move from CPU to CPU. On a CPU that is not sampled, a lane only tracks processes: see
 * spec_tracks().
 */
#ifndef SAMPLER_LANE_H
#define SAMPLER_LANE_H

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
 * Opens the spec on one CPU, disabled, for `threads` of its process; NULL: it has no process. *ret is NULL if none of
 * the spec's events is of that CPU. Errors with a sentence: those of perf_event_open(2) as spec_refused() returns them,
 * and those of ring_open().
 */
int lane_open(struct sys *sys, const struct machine *machine, const struct spec *spec, unsigned cpu,
              const pid_t *threads, size_t n_threads, struct lane **ret, struct error *error);
/*
 * Opens a lane that tracks, disabled. *ret is NULL if the CPU is sampled, or the spec needs no tracking. Errors of
 * lane_open().
 */
int lane_open_tracking(struct sys *sys, const struct machine *machine, const struct spec *spec, unsigned cpu,
                       struct lane **ret);
struct lane *lane_free(struct lane *lane);
/* Enables or disables all events. Errors of ioctl(2). */
int lane_enable(struct lane *lane, bool enabled);

/*
 * Decodes the next record into `lane->record`, unless one is there already. Returns 1 if there is one, 0 if the ring is
 * empty, -ENOMEM. Records that cannot be decoded are skipped, and counted in *malformed.
 */
int lane_peek(struct lane *lane, const struct record_layout *layout, uint64_t *malformed);
/* Removes the record that lane_peek() decoded. */
void lane_take(struct lane *lane);
/* Gives the room of the records that were taken back to the kernel. */
void lane_release(struct lane *lane);

#endif
