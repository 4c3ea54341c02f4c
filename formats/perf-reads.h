/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts in the samples of a stream for perf. perf weighs a sample by what was counted since the one before, the first
 * by all; so that a stream which begins later than its counters is not all in its first samples, counts begin anew in
 * it (tools/perf/util/session.c, deliver_sample_value()).
 */
#ifndef FORMATS_PERF_READS_H
#define FORMATS_PERF_READS_H

#include "base/buffer.h"
#include "perf/record.h"

struct perf_reads {
    struct perf_reads_base {
        uint64_t id, value;
    } * bases; /* sorted by id: what each counter stood at */
    size_t n;
};

void perf_reads_done(struct perf_reads *reads);
/*
 * Changes the values of a sample where `copy` has its bytes. A counter that is seen first stood where the period of the
 * sample began, where that is its own; else nothing is known of it, and it stood here.
 */
void perf_reads_begin_anew(struct perf_reads *reads, const struct record *record, const struct record_layout *layout,
                           char *copy);

#endif
