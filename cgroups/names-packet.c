/* SPDX-License-Identifier: Apache-2.0 */
/* A record of the reader: see record.h. */
#include "cgroups/names-packet.h"

int name_record_write(const struct name_record *record, struct buffer *packet)
{
    buffer_append(packet, &record->header, sizeof(record->header));
    for (size_t kind = NAME_CONTAINER; kind <= NAME_RUNTIME; kind++) {
        const char *text = record->names.texts[kind] ? record->names.texts[kind] : "";
        uint16_t size = (uint16_t)MIN(strlen(text), NAME_SIZE_MAX);
        buffer_append(packet, &size, sizeof(size));
        buffer_append(packet, text, size);
    }
    return packet->failed ? -ENOMEM : 0;
}

/* The id is whole, or there is none, as where there is no container. */
static bool header_is_sound(const struct name_record_header *header)
{
    size_t length = strnlen(header->id, sizeof(header->id));
    bool is_last = header->is_last;

    return header->is_last <= 1 && header->is_pause <= 1 && header->error <= 0 && (is_last || !header->error) &&
           length == (is_last ? 0 : STATE_ID_LENGTH) && strspn(header->id, "0123456789abcdef") == length;
}

static int names_parse(const char *at, size_t size, struct names *names)
{
    for (size_t kind = NAME_CONTAINER; kind <= NAME_RUNTIME; kind++) {
        uint16_t length;
        if (size < sizeof(length))
            return -EBADMSG;
        memcpy(&length, at, sizeof(length));
        at += sizeof(length);
        size -= sizeof(length);
        if (length > size || length > NAME_SIZE_MAX)
            return -EBADMSG;
        int r = names_set(names, (enum name_kind)kind, at, length);
        if (r < 0)
            return r;
        at += length;
        size -= length;
    }
    return size ? -EBADMSG : 0;
}

int name_record_parse(const void *packet, size_t size, struct name_record *ret)
{
    struct name_record record = {0};

    if (size < sizeof(record.header))
        return -EBADMSG;
    memcpy(&record.header, packet, sizeof(record.header));
    if (!header_is_sound(&record.header))
        return -EBADMSG;
    int r = names_parse((const char *)packet + sizeof(record.header), size - sizeof(record.header), &record.names);
    if (r < 0) {
        name_record_done(&record);
        return r;
    }
    record.names.is_pause = record.header.is_pause;
    *ret = record;
    return 0;
}

void name_record_done(struct name_record *record)
{
    names_done(&record->names);
}
