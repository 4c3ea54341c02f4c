/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc again for a stream that missed records of processes (names, mappings): in a pause, or because they were
 * lost. One scan at a time.
 */
#ifndef SAMPLER_RESCAN_H
#define SAMPLER_RESCAN_H

#include "symbols/symbols.h"

/* Zeroed but for its first four members, nothing was missed. */
struct rescan {
    struct symbols *symbols;
    uint32_t pid;                 /* 0: of all processes */
    void (*done)(void *userdata); /* called when a scan has ended; calls rescan_end() */
    void *userdata;
    bool running;
    bool again;         /* a pause has ended since the scan began */
    bool lost;          /* records may have been lost since the last scan began */
    uint64_t malformed; /* records that could not be decoded; they count as lost */
    uint64_t last_ns;   /* when the last scan ended */
};

/* Begins a scan; if one runs, it is repeated. */
void rescan_begin(struct rescan *rescan);
/* Begins a scan if records were lost, at most once a second. `malformed`: how many of them could not be decoded yet. */
void rescan_begin_if_lost(struct rescan *rescan, uint64_t malformed, uint64_t now_ns);
/* The scan has ended. False if it must be repeated: then the caller calls rescan_begin() if it still takes records. */
bool rescan_end(struct rescan *rescan, uint64_t now_ns);

#endif
