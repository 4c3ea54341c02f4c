/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of this machine, by a real symboliser: main() must call symboliser_serve(). */
#ifndef TESTS_UNIT_SYMBOLISED_H
#define TESTS_UNIT_SYMBOLISED_H

#include "symbols/symbols.h"

/* A fixture for each test. */
struct symbolised {
    struct sys sys;
    sd_event *event;
    struct symbols *symbols;
    int calls; /* of symbolised_count() */
    char directory[32];
};
int symbolised_begin(void **state);
int symbolised_end(void **state);

void symbolised_count(void *userdata);
/* Runs the event loop until there were this many calls, at most for `seconds`. */
void symbolised_run(struct symbolised *fixture, int calls, int seconds);
/* Reads /proc; waits until nothing is pending; resolves an address after it was resolved once and awaited. */
void symbolised_scan(struct symbolised *fixture, uint32_t pid);
void symbolised_wait(struct symbolised *fixture);
struct frame symbolised_resolve(struct symbolised *fixture, uint32_t pid, uint64_t ip);
/* Skips the test where there is none. */
void symbolised_need_libdw(void);

#endif
