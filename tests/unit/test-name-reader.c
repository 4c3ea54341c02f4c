/* SPDX-License-Identifier: Apache-2.0 */
/* A real reader: what it gives of a file, and files that it refuses. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/process/fd-socket.h"
#include "base/sanitizer.h"
#include "tests/unit/reader-rig.h"
#include "tests/unit/test.h"

#define DOCUMENT "{\"Name\":\"/grafana\"}"

static void test_reads(void **state)
{
    for (uint64_t ticket = 1; ticket <= 20; ticket++)
        reader_rig_reads(*state, ticket);
}

/* A packet that is no request changes nothing. */
static void test_no_request(void **state)
{
    struct reader_rig *rig = *state;
    struct state_request request = {.ticket = 7};

    assert_int_equal(fd_socket_send_one(rig->reader.files, "x", 1, -1), 0);
    assert_int_equal(fd_socket_send_one(rig->reader.files, &request, sizeof(request), -1), 0);
    memset(request.id, 'a', sizeof(request.id));
    assert_int_equal(fd_socket_send_one(rig->reader.files, &request, sizeof(request), rig->reader.files), 0);
    reader_rig_reads(rig, 8);
}

static void assert_refuses(struct reader_rig *rig, uint32_t place, int file, int error)
{
    assert_true(file >= 0);
    reader_rig_ask(rig, 100, place, file);
    reader_rig_hear_last(rig, 100, error);
    close(file);
}

static void test_files_refused(void **state)
{
    struct reader_rig *rig = *state;
    int pipes[2], large = memfd_create("test", MFD_CLOEXEC);

    assert_refuses(rig, 0, reader_rig_make_file("", 0), -EBADMSG);
    assert_refuses(rig, 0, reader_rig_make_file(DOCUMENT, strlen(DOCUMENT) - 1), -EBADMSG);
    assert_refuses(rig, UINT32_MAX, reader_rig_make_file(DOCUMENT, strlen(DOCUMENT)), -EBADMSG);
    assert_refuses(rig, 0, open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), -EBADMSG);
    assert_refuses(rig, 0, open("/dev/zero", O_RDONLY | O_CLOEXEC), -EBADMSG);
    assert_refuses(rig, 0, open("/dev/null", O_WRONLY | O_CLOEXEC), -EBADMSG);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0); /* nobody ever writes into it */
    assert_refuses(rig, 0, pipes[0], -EBADMSG);
    close(pipes[1]);
    assert_int_equal(ftruncate(large, 100 << 20), 0);
    assert_refuses(rig, 0, large, -EFBIG);
    reader_rig_reads(rig, 9);
}

/* 4 MB of empty arrays need hundreds of megabytes: the process that reads them may not have those. */
static void test_memory(void **state)
{
    struct reader_rig *rig = *state;
    struct buffer text = {0};

    if (HAS_ASAN)
        skip_because("AddressSanitizer takes more memory than any limit");
    if (runs_emulated())
        skip_because("qemu-user limits no memory of the program (linux-user/syscall.c, setrlimit)");
    buffer_append_text(&text, "[");
    while (text.size < STATE_FILE_MAX - 4)
        buffer_append_text(&text, "[],");
    buffer_append_text(&text, "7]");
    assert_refuses(rig, 0, reader_rig_make_file(text.data, text.size), -ENOMEM);
    buffer_done(&text);
    reader_rig_reads(rig, 10);
}

/* More records than the socket holds: the reader waits for the daemon as long as it takes. */
static void test_many_containers(void **state)
{
    struct reader_rig *rig = *state;
    _cleanup_(closep) int file = reader_rig_make_store(5000);
    char id[STATE_ID_LENGTH + 1];

    reader_rig_ask(rig, 11, reader_rig_place_of_store(), file);
    usleep(HAS_ASAN ? 0 : 2500000); /* longer than a file may take */
    for (size_t i = 0; i < 5000; i++) {
        _cleanup_(name_record_done) struct name_record record = {0};
        assert_true(reader_rig_hear(rig, &record));
        snprintf(id, sizeof(id), "%064zx", i);
        assert_string_equal(record.header.id, id);
        assert_string_equal(record.names.texts[NAME_RUNTIME], "podman");
    }
    reader_rig_hear_last(rig, 11, 0);
}

/* A regular file of a file system that answers when it likes, as a user may have one. */
static void test_file_hangs(void **state)
{
    struct reader_rig *rig = *state;
    int file = open("/sys/kernel/tracing/trace_pipe", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        skip_because("/sys/kernel/tracing/trace_pipe, which answers when something is traced, cannot be opened: %s",
                     strerror(errno));
    assert_refuses(rig, 0, file, -EIO);
    reader_rig_reads(rig, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reads, reader_rig_setup, reader_rig_teardown),
        cmocka_unit_test_setup_teardown(test_no_request, reader_rig_setup, reader_rig_teardown),
        cmocka_unit_test_setup_teardown(test_files_refused, reader_rig_setup, reader_rig_teardown),
        cmocka_unit_test_setup_teardown(test_memory, reader_rig_setup, reader_rig_teardown),
        cmocka_unit_test_setup_teardown(test_many_containers, reader_rig_setup, reader_rig_teardown),
        cmocka_unit_test_setup_teardown(test_file_hangs, reader_rig_setup, reader_rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
