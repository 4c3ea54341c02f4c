/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of state files: a process without network, privileges and files of its own. It gets each file from the
 * opener, and gives the few names in it to the daemon (record.h), which never sees the file: there are environment
 * variables and secrets in it.
 *
 * It is forked before the opener and while there is one thread, and only where the machine has a place of state files
 * at that time: elsewhere it would cost memory for nothing.
 */
#ifndef COLLECTORS_NAMES_READER_H
#define COLLECTORS_NAMES_READER_H

#include "base/error.h"
#include "base/process/child.h"
#include "perf/sys.h"

struct name_reader {
    struct child child;
    int files;   /* where files go in, each with a struct state_request of perf/state-file.h; the opener's */
    int records; /* where name_record packets come out; the daemon's. Non-blocking */
};

/*
 * -ENOENT where there is no place of state files, and then nothing is started; -errno with a sentence. The child enters
 * its jail before it takes a file, and ends where it cannot.
 */
int name_reader_start(struct sys *sys, struct name_reader *ret, struct error *error);
void name_reader_end(struct name_reader *reader);

#endif
