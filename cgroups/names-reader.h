/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of the reader (reader/reader.h) is the names of one container, a packet for each in the state file: the only
 * way out of the process that has read the file. Pure.
 *
 * The reader of state files: a process without network, privileges and files of its own. It gets each file from the
 * opener, and gives the few names in it to the daemon (record.h), which never sees the file: there are environment
 * variables and secrets in it. It forks for each file, so that no file harms the reading of another one: a process that
 * crashes or hangs over a file costs the names in that file.
 *
 * It is forked before the opener and while there is one thread, and only where the machine has a place of state files
 * at that time: elsewhere it would cost memory for nothing.
 *
 * The reader's own process (reader.h): it is forked, enters its jail, and reads each file that it is given.
 */
#ifndef CGROUPS_NAMES_READER_H
#define CGROUPS_NAMES_READER_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/util.h"
#include "cgroups/names.h"
#include "cgroups/state-files.h"
#include "perf/sys.h"
#include "process/child.h"

/* The names that leave a state file: NAME_CONTAINER to NAME_RUNTIME, and is_pause. */
#define NAME_RECORD_MAX (sizeof(struct name_record_header) + (NAME_RUNTIME - NAME_CONTAINER + 1) * (2 + NAME_SIZE_MAX))

struct name_record_header {
    uint64_t ticket;  /* of the request */
    uint64_t version; /* of the file that was read: state_file_version() */
    int32_t error;    /* of the file as a whole: -EBADMSG not what it should be, -EFBIG, -ENOMEM, -EIO; then no names */
    uint16_t is_last; /* no more of this ticket; it has no container */
    uint16_t is_pause;
    char id[STATE_ID_LENGTH + 1];
};

struct name_record {
    struct name_record_header header;
    struct names names; /* of the id */
};

/* Header, then a size of two bytes and the bytes of each name in order. -ENOMEM. */
int name_record_write(const struct name_record *record, struct buffer *packet);
/* names_set() cleans what a stranger wrote. -EBADMSG, -ENOMEM. */
int name_record_parse(const void *packet, size_t size, struct name_record *ret);
void name_record_done(struct name_record *record);

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

/* -errno where it cannot; what was given up until then stays given up. */
int reading_enter_jail(int files, int records, const int turns[2]);

#endif
