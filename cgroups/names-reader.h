/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of state files: a process without network, privileges and files of its own. It gets each file from the
 * opener, and gives the few names in it to the daemon (record.h), which never sees the file: there are environment
 * variables and secrets in it. It forks for each file, so that no file harms the reading of another one: a process that
 * crashes or hangs over a file costs the names in that file.
 *
 * It is forked before the opener and while there is one thread, and only where the machine has a place of state files
 * at that time: elsewhere it would cost memory for nothing.
 */
#ifndef CGROUPS_NAMES_READER_H
#define CGROUPS_NAMES_READER_H

#include "base/error.h"
#include "perf/sys.h"
#include "process/child.h"

struct name_reader {
    struct child child;
    int files;   /* where files go in, each with a struct state_request of cgroups/state-files.h; the opener's */
    int records; /* where name_record packets come out; the daemon's. Non-blocking; at its end when the child has ended
                  */
};
#define NAME_READER_NONE ((struct name_reader){.child = CHILD_NONE, .files = -1, .records = -1})

/*
 * -ENOENT where there is no place of state files, and then nothing is started; -errno with a sentence. The child has
 * entered its jail when this returns.
 */
int name_reader_start(struct sys *sys, struct name_reader *ret, struct error *error);
/* Closes both descriptors, unless they are -1, which ends the child once nobody else has the first; reaps it. */
void name_reader_end(struct name_reader *reader);

#endif
