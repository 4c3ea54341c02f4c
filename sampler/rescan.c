/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc again: see rescan.h. */
#include "sampler/rescan.h"

#define INTERVAL_NS NSEC_PER_SEC

void rescan_begin(struct rescan *rescan)
{
    rescan->again = rescan->running;
    if (rescan->running)
        return;
    rescan->running = symbols_scan(rescan->symbols, rescan->pid, rescan->done, rescan->userdata) == 0;
    rescan->lost = !rescan->running;
}

void rescan_begin_if_lost(struct rescan *rescan, uint64_t malformed, uint64_t now_ns)
{
    rescan->lost |= malformed != rescan->malformed;
    rescan->malformed = malformed;
    if (rescan->lost && !rescan->running && now_ns >= rescan->last_ns + INTERVAL_NS)
        rescan_begin(rescan);
}

bool rescan_end(struct rescan *rescan, uint64_t now_ns)
{
    rescan->running = false;
    rescan->last_ns = now_ns;
    return !rescan->again;
}
