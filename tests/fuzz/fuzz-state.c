/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses arbitrary bytes as a container runtime's state file: each container that is found has a valid id and printable
 * names, and its record is unchanged after writing and parsing. The first byte, counted from 'A', selects the file's
 * place.
 */
#include "base/text.h"
#include "cgroups/names-reader.h"
#include "cgroups/state-formats.h"
#include "tests/fuzz/fuzz.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int on_found(void *userdata, const char *id, struct names *names)
{
    struct names_packet record = {.header = {.is_pause = names->is_pause}, .names = *names}, copy;
    _cleanup_(buffer_done) struct buffer packet = {0};

    (void)userdata;
    assert(strspn(id, "0123456789abcdef") == STATE_ID_LENGTH && id[STATE_ID_LENGTH] == '\0');
    assert(names->texts[NAME_RUNTIME]);
    memcpy(record.header.id, id, STATE_ID_LENGTH);
    for (size_t i = 0; i < N_NAME_KINDS; i++) {
        const char *text = names->texts[i];
        assert(!text ||
               (*text && strlen(text) <= NAME_SIZE_MAX && text[utf8_printable_prefix(text, strlen(text))] == 0));
        assert(!text || (i >= NAME_CONTAINER && i <= NAME_RUNTIME));
    }
    assert(names_packet_write(&record, &packet) == 0);
    assert(names_packet_parse(packet.data, packet.size, &copy) == 0);
    assert(names_equal(names, &copy.names));
    names_packet_done(&copy);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state_request request = {.id = ID};
    struct names_packet record;

    if (size < 1)
        return 0;
    request.place = (uint8_t)(data[0] - 'A');
    _cleanup_(freep) char *content = copy_exact(data + 1, size - 1);
    state_document_read(&request, content, size - 1, on_found, NULL);
    if (names_packet_parse(content, size - 1, &record) == 0)
        names_packet_done(&record);
    return 0;
}
