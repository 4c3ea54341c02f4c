/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of state files: a process without network access, without privileges, and without files of its own.
 *
 * The opener passes each file to the reader, and the reader sends the few names in it to the daemon, one packet for
 * each container (struct names_packet). The daemon never sees the files, because they contain environment variables and
 * secrets. The reader forks for each file, so that if a file crashes or hangs its process, only the names in that file
 * are lost.
 *
 * The reader is forked before the opener, while the process has one thread, and only if the machine then has a place
 * with state files: on other machines the reader would only use memory.
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

/*
 * The maximum size of a packet. Of the names in a state file, only NAME_CONTAINER to NAME_RUNTIME and is_pause are
 * passed on.
 */
#define NAMES_PACKET_MAX                                                                                               \
    (sizeof(struct names_packet_header) + (NAME_RUNTIME - NAME_CONTAINER + 1) * (2 + NAME_SIZE_MAX))

struct names_packet_header {
    uint64_t ticket;  /* ticket of the struct state_request */
    uint64_t version; /* state_file_version() of the file that was read */
    int32_t error; /* last record only: -EBADMSG, -EFBIG, -ENOMEM, -EIO; -EHOSTDOWN: the file system did not answer */
    uint16_t is_last; /* the record is the last one for the ticket and describes no container */
    uint16_t is_pause;
    char id[STATE_ID_LENGTH + 1];
};

struct names_packet {
    struct names_packet_header header;
    struct names names; /* names of the container `id` */
};

/*
 * Appends the header, then each name in order: its size, in two bytes, followed by the name itself. Returns -ENOMEM on
 * failure.
 */
int names_packet_write(const struct names_packet *record, struct buffer *packet);
/*
 * Parses a record. The sender is not trusted, so all names go through names_set(), which cleans them. Returns -EBADMSG
 * or -ENOMEM on failure.
 */
int names_packet_parse(const void *packet, size_t size, struct names_packet *ret);
void names_packet_done(struct names_packet *record);

struct name_reader {
    struct child child;
    int files;   /* socket on which the opener sends files, each with a struct state_request */
    int records; /* non-blocking socket with packets for the daemon; at end of file when the child has exited */
};
#define NAME_READER_NONE ((struct name_reader){.child = CHILD_NONE, .files = -1, .records = -1})

/*
 * Starts the reader and waits until it has entered its sandbox. Returns -ENOENT, and starts nothing, if the machine has
 * no place with state files; -errno with a message on failure.
 */
int name_reader_start(struct sys *sys, struct name_reader *ret, struct error *error);
/*
 * Closes both descriptors, unless they are -1, and reaps the child. The child exits when no other process has `files`
 * open.
 */
void name_reader_end(struct name_reader *reader);

#endif
