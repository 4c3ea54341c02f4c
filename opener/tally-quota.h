/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many tallies may be in memory at the same time. The maps of one stay there for as long as somebody has a
 * descriptor of them or has mapped them, so a daemon that was taken over could fill the kernel's memory with them.
 */
#ifndef OPENER_TALLY_QUOTA_H
#define OPENER_TALLY_QUOTA_H

#include <stdint.h>

/* The one that counts, the one that replaces it, and those that the daemon still reads a last time. */
#define TALLY_QUOTA 4

/* Zeroed, there is none. */
struct tally_quota {
    uint32_t ids[TALLY_QUOTA]; /* of the maps of counts; 0: none */
};

/*
 * The index of a place for one more; -EBUSY where there is none. Without CAP_SYS_ADMIN nobody can ask the kernel for
 * maps by their ids, and then there is always one.
 */
int tally_quota_find_place(const struct tally_quota *quota);
/* The map of this descriptor has the place. */
void tally_quota_take(struct tally_quota *quota, int place, int map);

#endif
