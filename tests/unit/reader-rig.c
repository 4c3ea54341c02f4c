/* SPDX-License-Identifier: Apache-2.0 */
/* A real reader of state files: see reader-rig.h. */
#include "tests/unit/reader-rig.h"

#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/process/fd-socket.h"
#include "tests/unit/test.h"

#define DOCUMENT "{\"Name\":\"/grafana\",\"Config\":{\"Env\":[\"PASSWORD=secret\"],\"Image\":\"grafana\"}}"

/* The machine has the directory of docker, and nothing else. */
int reader_rig_setup(void **state)
{
    struct reader_rig *rig = calloc(1, sizeof(*rig));
    char command[128];

    strcpy(rig->root, "/tmp/test-reader-XXXXXX");
    assert_non_null(mkdtemp(rig->root));
    snprintf(command, sizeof(command), "mkdir -p %s/var/lib/docker/containers", rig->root);
    assert_int_equal(system(command), 0); /* NOLINT: a fixed command */
    sys_init(&rig->sys);
    rig->sys.root = rig->root;
    struct error error = {0};
    int r = name_reader_start(&rig->sys, &rig->reader, &error);
    if (r < 0)
        fail_msg("%s", error.message);
    *state = rig;
    return 0;
}

int reader_rig_teardown(void **state)
{
    struct reader_rig *rig = *state;
    char command[64];

    name_reader_end(&rig->reader);
    snprintf(command, sizeof(command), "rm -r %s", rig->root);
    assert_int_equal(system(command), 0); /* NOLINT */
    free(rig);
    return 0;
}

void reader_rig_ask(struct reader_rig *rig, uint64_t ticket, uint32_t place, int file)
{
    const struct state_request request = {.place = place, .ticket = ticket, .id = ID};

    assert_int_equal(fd_socket_send_one(rig->reader.files, &request, sizeof(request), file), 0);
}

/* The next packet. Its size; 0 at the end of the reader. */
size_t reader_rig_hear(struct reader_rig *rig, struct name_record *ret)
{
    char packet[NAME_RECORD_MAX];
    struct fd_list fds;
    struct pollfd poll_fd = {.fd = rig->reader.records, .events = POLLIN};

    assert_int_equal(poll(&poll_fd, 1, 20000), 1);
    ssize_t n = fd_socket_receive(rig->reader.records, packet, sizeof(packet), &fds, NULL);
    assert_true(n >= 0);
    assert_int_equal(fds.n, 0);
    assert_null(memmem(packet, (size_t)n, "secret", 6));
    if (n)
        assert_int_equal(name_record_parse(packet, (size_t)n, ret), 0);
    return (size_t)n;
}

void reader_rig_hear_last(struct reader_rig *rig, uint64_t ticket, int error)
{
    _cleanup_(name_record_done) struct name_record record = {0};

    assert_true(reader_rig_hear(rig, &record));
    assert_int_equal(record.header.ticket, ticket);
    assert_int_equal(record.header.is_last, 1);
    assert_int_equal(record.header.error, error);
    assert_string_equal(record.header.id, "");
}

int reader_rig_make_file(const char *content, size_t size)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    assert_int_equal(write(fd, content, size), size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

uint64_t reader_rig_version(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    return state_file_version(&status);
}

/* The names leave, with the version of the file. */
void reader_rig_reads(struct reader_rig *rig, uint64_t ticket)
{
    _cleanup_(closep) int file = reader_rig_make_file(DOCUMENT, strlen(DOCUMENT));
    _cleanup_(name_record_done) struct name_record record = {0};

    reader_rig_ask(rig, ticket, 0, file);
    assert_true(reader_rig_hear(rig, &record));
    assert_int_equal(record.header.ticket, ticket);
    assert_int_equal(record.header.version, reader_rig_version(file));
    assert_int_equal(record.header.is_last, 0);
    assert_string_equal(record.header.id, ID);
    assert_string_equal(record.names.texts[NAME_CONTAINER], "grafana");
    assert_string_equal(record.names.texts[NAME_IMAGE], "grafana");
    assert_string_equal(record.names.texts[NAME_RUNTIME], "docker");
    reader_rig_hear_last(rig, ticket, 0);
}

uint32_t reader_rig_place_of_store(void)
{
    uint32_t i = 0;

    while (state_place(i)->format != STATE_STORAGE)
        i++;
    return i;
}

/* A store of `n` containers. */
int reader_rig_make_store(size_t n)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    buffer_append_text(&text, "[");
    for (size_t i = 0; i < n; i++)
        buffer_appendf(&text, "%s{\"id\":\"%064zx\",\"names\":[\"c%zu\"]}", i ? "," : "", i, i);
    buffer_append_text(&text, "]");
    return reader_rig_make_file(text.data, text.size);
}
