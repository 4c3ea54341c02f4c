/* SPDX-License-Identifier: Apache-2.0 */
/* How many tallies may be in memory at the same time: see tally-quota.h. */
#include "opener/tally-quota.h"

#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "perf/tally/bpf-call.h"

/* An id is free again once the map is gone. */
static bool map_is_there(uint32_t id)
{
    _cleanup_(closep) int fd = id ? bpf_call_open_map(id) : -1;

    return fd >= 0;
}

int tally_quota_find_place(const struct tally_quota *quota)
{
    for (int i = 0; i < TALLY_QUOTA; i++)
        if (!map_is_there(quota->ids[i]))
            return i;
    return -EBUSY;
}

void tally_quota_take(struct tally_quota *quota, int place, int map)
{
    if (bpf_call_find_id(map, &quota->ids[place]) < 0)
        quota->ids[place] = 0;
}
