/* SPDX-License-Identifier: Apache-2.0 */
/* What is decoded of a PERF_RECORD_SAMPLE, and what other records have in common with it. */
#ifndef PERF_RECORD_SAMPLE_H
#define PERF_RECORD_SAMPLE_H

#include "perf/record-cursor.h"
#include "perf/record.h"

static inline void record_take_thread(struct cursor *cursor, struct record_id *id)
{
    struct pair thread = take_pair(cursor);

    id->pid = thread.first;
    id->tid = thread.second;
}

void record_take_sample(struct cursor *cursor, const struct record_layout *layout, struct record *record);
/* The values of PERF_SAMPLE_READ, as PERF_RECORD_READ has them too. */
void record_take_read(struct cursor *cursor, uint64_t format, struct record_sample *sample);

#endif
