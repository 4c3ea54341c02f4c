/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the reader: there and back, and packets that the reader would not send. */
#include "base/cleanup.h"
#include "collectors/names/record.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void set_text(struct names *names, enum name_kind kind, const char *text)
{
    assert_int_equal(names_set(names, kind, text, strlen(text)), 0);
}

static struct buffer write_record(const struct name_record *record)
{
    struct buffer packet = {0};

    assert_int_equal(name_record_write(record, &packet), 0);
    assert_true(packet.size <= NAME_RECORD_MAX);
    return packet;
}

static void test_there_and_back(void **state)
{
    _cleanup_(name_record_done) struct name_record in = {
        .header = {.ticket = UINT64_MAX, .version = 7, .is_pause = 1, .id = ID}};
    _cleanup_(name_record_done) struct name_record out = {0};

    (void)state;
    set_text(&in.names, NAME_CONTAINER, "grafana");
    set_text(&in.names, NAME_RUNTIME, "docker");
    set_text(&in.names, NAME_UNIT, "does not leave");
    set_text(&in.names, NAME_DESCRIPTION, "does not leave");
    _cleanup_(buffer_done) struct buffer packet = write_record(&in);
    assert_null(memmem(packet.data, packet.size, "leave", 5));
    assert_int_equal(name_record_parse(packet.data, packet.size, &out), 0);
    assert_int_equal(out.header.ticket, UINT64_MAX);
    assert_int_equal(out.header.version, 7);
    assert_string_equal(out.header.id, ID);
    assert_true(out.names.is_pause);
    assert_string_equal(out.names.texts[NAME_CONTAINER], "grafana");
    assert_string_equal(out.names.texts[NAME_RUNTIME], "docker");
    for (size_t i = 0; i < N_NAME_KINDS; i++)
        if (i != NAME_CONTAINER && i != NAME_RUNTIME)
            assert_null(out.names.texts[i]);
}

/* The largest fits; and whoever has taken the reader over writes no control characters into a label. */
static void test_any_text(void **state)
{
    char text[NAME_SIZE_MAX + 1];
    _cleanup_(name_record_done) struct name_record in = {.header.id = ID}, out = {0};

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[NAME_SIZE_MAX] = '\0';
    for (size_t i = NAME_CONTAINER; i <= NAME_RUNTIME; i++)
        set_text(&in.names, (enum name_kind)i, text);
    _cleanup_(buffer_done) struct buffer packet = write_record(&in);
    assert_int_equal(packet.size, NAME_RECORD_MAX);
    packet.data[sizeof(in.header) + 2] = '\n';
    assert_int_equal(name_record_parse(packet.data, packet.size, &out), 0);
    assert_memory_equal(out.names.texts[NAME_CONTAINER], "\xef\xbf\xbdx", 4);
    assert_string_equal(out.names.texts[NAME_RUNTIME], text);
}

static const struct {
    struct name_record_header in;
    int out;
} headers[] = {
    {{.id = ID}, 0},
    {{.id = ID, .is_pause = 1}, 0},
    {{.is_last = 1}, 0},
    {{.is_last = 1, .error = -EBADMSG}, 0},
    {{.is_last = 0}, -EBADMSG},
    {{.is_last = 1, .id = ID}, -EBADMSG},
    {{.is_last = 2}, -EBADMSG},
    {{.is_last = 1, .error = 1}, -EBADMSG},
    {{.id = ID, .error = -EIO}, -EBADMSG},
    {{.id = ID, .is_pause = 2}, -EBADMSG},
    {{.id = "0123"}, -EBADMSG},
    {{.id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF"}, -EBADMSG},
    {{.id = "../../../../../../../../../../../../../../../../../../etc/passwd"}, -EBADMSG},
};

static void test_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        const struct name_record in = {.header = headers[i].in};
        _cleanup_(name_record_done) struct name_record out = {0};
        _cleanup_(buffer_done) struct buffer packet = write_record(&in);
        print_message("%zu\n", i);
        assert_int_equal(name_record_parse(packet.data, packet.size, &out), headers[i].out);
    }
}

/* Each prefix of a packet, more than it, and an id that does not end. */
static void test_sizes(void **state)
{
    _cleanup_(name_record_done) struct name_record in = {.header.id = ID}, out = {0};
    struct name_record_header header = in.header;

    (void)state;
    set_text(&in.names, NAME_RUNTIME, "podman");
    _cleanup_(buffer_done) struct buffer packet = write_record(&in);
    for (size_t size = 0; size < packet.size; size++) {
        _cleanup_(freep) char *copy = malloc(size ? size : 1); /* exactly that large, for AddressSanitizer */
        memcpy(copy, packet.data, size);
        assert_int_equal(name_record_parse(copy, size, &out), -EBADMSG);
    }
    buffer_append_char(&packet, 'x');
    assert_int_equal(name_record_parse(packet.data, packet.size, &out), -EBADMSG);
    packet.size--;
    header.id[STATE_ID_LENGTH] = '0';
    memcpy(packet.data, &header, sizeof(header));
    assert_int_equal(name_record_parse(packet.data, packet.size, &out), -EBADMSG);
    const uint16_t too_long = NAME_SIZE_MAX + 1;
    memcpy(packet.data, &in.header, sizeof(in.header));
    memcpy(packet.data + sizeof(in.header), &too_long, sizeof(too_long));
    memset(buffer_reserve(&packet, 2 * NAME_SIZE_MAX), 0, 2 * NAME_SIZE_MAX);
    buffer_advance(&packet, 2 * NAME_SIZE_MAX);
    assert_int_equal(name_record_parse(packet.data, packet.size, &out), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_any_text),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
