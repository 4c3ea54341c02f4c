/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from include/uapi/linux/perf_event.h that are newer than the oldest headers with which perfcountd can be built
 * (Linux 5.10). A kernel that does not know one of these names returns an error when the event is opened.
 */
#ifndef PERF_PERF_EVENT_H
#define PERF_PERF_EVENT_H

#include <linux/perf_event.h>

/*
 * Linux 5.13: above this bit, the config of PERF_TYPE_HARDWARE and PERF_TYPE_HW_CACHE has the type of the PMU. Older
 * kernels return ENOENT or EINVAL (kernel/events/core.c, and each PMU's driver).
 */
#ifndef PERF_PMU_TYPE_SHIFT
#define PERF_PMU_TYPE_SHIFT 32
/* Also Linux 5.13. It is an enum member, so the preprocessor cannot test for it. Older kernels return ENOENT. */
#define PERF_COUNT_SW_CGROUP_SWITCHES 11
#endif

/* Sizes of struct perf_event_attr: with sig_data, Linux 5.13; with config3, Linux 6.3. */
#ifndef PERF_ATTR_SIZE_VER7
#define PERF_ATTR_SIZE_VER7 128
#endif
#ifndef PERF_ATTR_SIZE_VER8
#define PERF_ATTR_SIZE_VER8 136
#endif

#endif
