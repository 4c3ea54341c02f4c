/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of the last hour: the growth of every counter from one reading to the next, in memory of fixed size.
 *
 * A frame is the growth between two readings of the registry. Frames are kept in a ring of bytes, and the oldest ones
 * are dropped for new ones. A frame has growth, not rates, and growth can be added, so the rates, ratios and derived
 * metrics of any interval are exact. Unknown growth is left out of a frame and becomes a gap: of a starved group,
 * during a pause, on an offline CPU, or before the first reading.
 *
 * A frame may take up the size of the ring divided by the number of frames in `keep`, so that the ring holds `keep`.
 * Rows that are not of cgroups may use more. Then come the cgroups that ran longest in this interval. The growth of the
 * other cgroups is added up for each group and PMU, except for cgroups inside another one, whose growth includes
 * theirs. Such a sum is a row without a cgroup (`others`). Descriptions of rows may use a quarter of the ring, and
 * frames older than `keep` are dropped for them; a row whose description does not fit is left out.
 *
 * The block of memory has no pointers, so it can be a file that outlives the process. Its content is not trusted: a
 * block of another version, or one that is not consistent, is emptied, and every later read is checked again. Somebody
 * who can write to the block can falsify numbers and names, but do no other harm.
 */
#ifndef COLLECTORS_HISTORY_H
#define COLLECTORS_HISTORY_H

#include "collectors/history-table.h"

struct history;

struct history_settings {
    uint64_t interval_ns; /* minimum interval between two frames */
    uint64_t keep_ns;     /* how long frames at that interval should be kept */
};

/* The smallest block. */
#define HISTORY_SIZE_MIN ((size_t)16384)

/*
 * Uses `size` bytes at `block`, which must be aligned to 8 bytes and outlive the history. Continues the history that is
 * in it, unless it has another version or size. Returns -ENOMEM, or -EINVAL if the size is below HISTORY_SIZE_MIN.
 */
int history_new(void *block, size_t size, const struct history_settings *settings, struct history **ret);
struct history *history_free(struct history *history);

/* Returns whether the interval has passed since the last frame, by CLOCK_MONOTONIC; always true for the first one. */
bool history_is_due(const struct history *history, uint64_t monotonic_ns);
/*
 * Adds a frame: the growth since the reading of the previous call. The first call only remembers the reading. A reading
 * that is not newer than the previous one is ignored. On failure there is a gap: returns -ENOMEM, -ENOSPC if the rows
 * that are not of cgroups have no room, or -EBADMSG if somebody else wrote to the block, which is then emptied.
 */
int history_record(struct history *history, const struct snapshot *snapshot);

struct history_range {
    uint64_t since_ns, until_ns; /* CLOCK_REALTIME; selects the frames that end after `since` and not after `until` */
    uint64_t step_ns;            /* 0: each frame is a step, and each gap, in the order of recording */
};

/* More steps than this are refused. */
#define HISTORY_STEPS_MAX 10000

/*
 * Reads the rows that `passes` accepts (NULL: all) for a range of time. Returns -E2BIG for too many steps or for a
 * table of more than 64 MiB, or -ENOMEM. history_table_done() must be called in either case.
 */
int history_read(const struct history *history, const struct history_range *range,
                 bool (*passes)(const void *userdata, const struct history_row *row), const void *userdata,
                 struct history_table *ret);

/* Returns when the oldest frame begins and when the last one ends, by CLOCK_REALTIME; both are 0 without a frame. */
void history_span(const struct history *history, uint64_t *ret_begin_ns, uint64_t *ret_end_ns);

/* The histories that are kept: a long one in coarse steps, and a short one of all readings that clients have caused. */
struct histories {
    struct history *coarse, *fine;
    uint64_t interval_ns; /* interval of the coarse one */
};

#endif
