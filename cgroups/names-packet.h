/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of the reader (reader/reader.h) is the names of one container, a packet for each in the state file: the only
 * way out of the process that has read the file. Pure.
 */
#ifndef CGROUPS_NAMES_PACKET_H
#define CGROUPS_NAMES_PACKET_H

#include "base/buffer.h"
#include "cgroups/names.h"
#include "cgroups/state-files.h"

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

#endif
