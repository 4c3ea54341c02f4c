/* SPDX-License-Identifier: Apache-2.0 */
/* A tally whose program the test plays: what it stores is visible when, and in which order, the test says. */
#ifndef TESTS_UNIT_TALLY_PLAY_H
#define TESTS_UNIT_TALLY_PLAY_H

#include "perf/sys.h"
#include "perf/tally/reader.h"

/* A hardware group of `cycles` and a clock, and a software group of faults and switches: their words. */
enum { CYCLES, CLOCK, FAULTS, SWITCHES, ENABLED, RUNNING, ENABLED_2, RUNNING_2, WORDS };
#define CPUS 2
#define SLOTS 5
#define ALL 0xffU
#define STORES_MAX 256

struct played_store {
    void *to;
    uint64_t value;
};

struct played {
    struct sys sys;
    /* The program's, and what the reader sees of them. */
    uint64_t counts[CPUS][SLOTS][WORDS], seen[CPUS][SLOTS][WORDS];
    struct tally_record records[CPUS], seen_records[CPUS];
    struct played_store stores[STORES_MAX]; /* not visible yet */
    size_t n_stores;
    uint64_t now[CPUS][WORDS], valid;
    int error, refused;                               /* of `now`, and the descriptor that cannot be mapped */
    void (*meanwhile)(struct played *, unsigned cpu); /* after `now` has read */
    unsigned calls;
    uint64_t random;
    uint64_t taken[SLOTS][WORDS], truth[SLOTS][WORDS];
    struct tally_reader *reader;
};

extern const struct tally_shape played_shape;
extern const struct tally_event played_events[];

/* All slots stand at zero; each CPU runs the root's. */
void played_init(struct played *p);
void played_done(struct played *p);
/* All stores so far are visible. */
void played_settle(struct played *p);
/* The program at a switch to a slot: only the words of `valid` can be read. */
void played_enter(struct played *p, unsigned cpu, uint32_t slot, uint64_t valid);
/* `ns` pass on a CPU, and for `ran` of them the hardware group is on its counters. */
void played_run(struct played *p, unsigned cpu, uint64_t ns, uint64_t ran);
/* Reads a CPU and takes all. Returns what tally_reader_read() does. */
int played_read(struct played *p, unsigned cpu);
/* tally_now; all stores before it are visible after it. */
int played_now(void *userdata, unsigned cpu, uint64_t *words, uint64_t *ret_valid);

#endif
