/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's own process (reader.h): it is forked, enters its jail, and reads each file that it is given. */
#ifndef CGROUPS_READING_H
#define CGROUPS_READING_H

#include "base/util.h"

/*
 * The first two packets of `records`. The first one has a descriptor of its /proc/PID/stat, where it can be opened; the
 * second one has the error.
 */
struct reading_hello {
    int32_t error; /* why it cannot enter its jail, and ends; 0 */
};

/* -errno where it cannot; what was given up until then stays given up. */
int reading_enter_jail(int files, int records, const int turns[2]);
/* Takes files from one socket and gives records to the other, until one of them is closed. */
_Noreturn void reading_run(int files, int records);

#endif
