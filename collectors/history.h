/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of the last hour: the growth of every counter from one reading to the next, in a fixed amount of memory.
 *
 * A frame is the growth between two readings of the registry. Frames are kept in a ring of bytes, and the oldest ones
 * are dropped to make room for new frames. A frame contains the growth of the counters, not their rates. Growth can be
 * added up, so the rates, ratios and derived metrics of any interval are exact. Unknown growth is left out of a frame
 * and becomes a gap. Growth is unknown while the group is starved or paused, on an offline CPU, and before the first
 * reading.
 *
 * A frame may be at most as large as the ring divided by the number of frames in the time `keep`, so that the ring can
 * hold all of these frames. Rows other than those of cgroups come first and may exceed this limit, followed by the rows
 * of the cgroups that ran longest in the interval. The growth of the remaining cgroups is added up for each group and
 * PMU; a cgroup inside another one is left out, because the outer cgroup's growth includes it. The sum of the remaining
 * cgroups is a row without a cgroup (`others`). Row descriptions may use a quarter of the ring. Frames older than
 * `keep` are dropped to make room for descriptions, and a row whose description still does not fit is left out.
 *
 * The block of memory has no pointers, so it can be a file that outlives the process. The content of the block is not
 * trusted: a block of another version or with inconsistent content is emptied, and every later read is checked again.
 * Anybody who can write to the block can falsify numbers and names, but do no other harm.
 */
#ifndef COLLECTORS_HISTORY_H
#define COLLECTORS_HISTORY_H

#include "collectors/history-table.h"

struct history;

struct history_settings {
    uint64_t interval_ns; /* minimum interval between two frames */
    uint64_t keep_ns;     /* how long to keep frames if they are recorded at the minimum interval */
};

/* The size of the smallest block, in bytes. */
#define HISTORY_SIZE_MIN ((size_t)16384)

/*
 * Uses `size` bytes at `block`, which must be aligned to 8 bytes and outlive the history. Continues the history in the
 * block, unless the block has another version or size. Returns -ENOMEM, or -EINVAL if the size is below
 * HISTORY_SIZE_MIN.
 */
int history_new(void *block, size_t size, const struct history_settings *settings, struct history **ret);
struct history *history_free(struct history *history);

/*
 * Returns whether the interval has passed since the last frame, by CLOCK_MONOTONIC. Always returns true before the
 * first frame.
 */
bool history_is_due(const struct history *history, uint64_t monotonic_ns);
/*
 * Adds a frame with the growth since the reading at the previous call. The first call only stores the reading. A
 * reading that is not newer than the previous one is ignored. A failure leaves a gap in the history. Returns -ENOMEM,
 * -ENOSPC if there is no room for the rows other than those of cgroups, or -EBADMSG if another process wrote to the
 * block, which is then emptied.
 */
int history_record(struct history *history, const struct snapshot *snapshot);

struct history_range {
    uint64_t since_ns, until_ns; /* CLOCK_REALTIME; selects frames that end after `since` but not after `until` */
    uint64_t step_ns;            /* length of a step; 0: each frame and each gap is a step, in the order of recording */
};

/* Maximum number of steps in a table. */
#define HISTORY_STEPS_MAX 10000

/*
 * Reads the rows that `passes` accepts (NULL: all) in a time range. Returns -E2BIG if the range has too many steps or
 * the table would exceed 64 MiB, or -ENOMEM. history_table_done() must be called in either case.
 */
int history_read(const struct history *history, const struct history_range *range,
                 bool (*passes)(const void *userdata, const struct history_row *row), const void *userdata,
                 struct history_table *ret);

/*
 * Returns when the oldest frame begins and when the newest frame ends, by CLOCK_REALTIME. Both times are 0 if there is
 * no frame.
 */
void history_span(const struct history *history, uint64_t *ret_begin_ns, uint64_t *ret_end_ns);

/* The histories: a long one in coarse steps, and a short one with every reading that a client triggered. */
struct histories {
    struct history *coarse, *fine;
    uint64_t interval_ns; /* recording interval of the coarse history */
};

#endif
