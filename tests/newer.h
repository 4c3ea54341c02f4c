/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets new members of struct perf_event_attr by their position. A client may set them even if the build's kernel
 * headers do not define them, and perf/perf-event.h defines only those that the daemon needs.
 */
#ifndef TESTS_NEWER_H
#define TESTS_NEWER_H

#include <stddef.h>

#include "perf/perf-event.h"

/* include/uapi/linux/perf_event.h has build_id since Linux 5.12, and the other flags since 5.13. */
enum { ATTR_BUILD_ID = 34, ATTR_INHERIT_THREAD, ATTR_REMOVE_ON_EXEC, ATTR_SIGTRAP };

/* The flags follow read_format, beginning with the first bit of the first byte, which is the highest one on a
 * big-endian CPU. */
static inline void attr_set_flag(struct perf_event_attr *attr, unsigned flag)
{
    unsigned char *flags = (unsigned char *)attr + offsetof(struct perf_event_attr, read_format) + 8;

    flags[flag / 8] |= __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1U << flag % 8 : 0x80U >> flag % 8;
}

/* Sets a byte beyond PERF_ATTR_SIZE_VER6 or, if the struct ends there, its last byte, which is reserved. */
static inline void attr_set_signal_data(struct perf_event_attr *attr)
{
    ((char *)attr)[MIN(PERF_ATTR_SIZE_VER6, sizeof(*attr) - 1)] = 1;
}

static inline void attr_set_config3(struct perf_event_attr *attr)
{
    if (sizeof(*attr) >= PERF_ATTR_SIZE_VER8)
        ((char *)attr)[PERF_ATTR_SIZE_VER7] = 1;
}

#endif
