/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CPU of a capture: the events that sample there, and the ring that takes their records.
 *
 * For a process each of its threads has an event of its own here; they share the ring, as the kernel maps none for
 * events that go from CPU to CPU. A lane of a CPU that is not sampled tells what runs there: see spec_tracks().
 */
#ifndef SAMPLER_LANE_H
#define SAMPLER_LANE_H

#include <systemd/sd-event.h>

#include "perf/ring.h"
#include "sampler/spec.h"

struct lane {
    struct sys *sys;
    unsigned cpu;
    bool samples;
    struct spec_group group; /* what each thread has, or the CPU */
    int *fds;                /* `group.n` for each; the first has the ring */
    uint64_t *ids;           /* of each, as samples have them */
    size_t n_fds;
    struct ring *ring;
    struct record record; /* the next, where `has_record` */
    bool has_record;
    sd_event_source *io; /* of the ring, the capture's */
};

/*
 * Opens the spec on one CPU, for `threads` (the threads of its process; NULL where it samples no process), disabled.
 * NULL in *ret where there is nothing to open: none of its events is of that CPU. With a sentence: errors of
 * perf_event_open(2) as spec_refused() has them, those of ring_open().
 */
int lane_open(struct sys *sys, const struct machine *machine, const struct spec *spec, unsigned cpu,
              const pid_t *threads, size_t n_threads, struct lane **ret, struct error *error);
/*
 * Has told what runs on a CPU that the spec does not sample, disabled. NULL in *ret where it is sampled, or nothing is
 * to be told. Errors as lane_open() has them.
 */
int lane_open_tracking(struct sys *sys, const struct machine *machine, const struct spec *spec, unsigned cpu,
                       struct lane **ret);
struct lane *lane_free(struct lane *lane);
int lane_enable(struct lane *lane, bool enabled);

/*
 * Decodes the next record into `lane->record` unless one is there already: whether there is one. What makes no sense is
 * passed over; *malformed counts it. -ENOMEM.
 */
int lane_peek(struct lane *lane, const struct record_layout *layout, uint64_t *malformed);
/* Takes the record that lane_peek() showed. */
void lane_take(struct lane *lane);
/* Gives the kernel back what was taken. */
void lane_release(struct lane *lane);

#endif
