/* SPDX-License-Identifier: Apache-2.0 */
/* The names in state files of container runtimes, of a reader that tests play over the real socket. */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collectors/names/path.h"
#include "collectors/names/record.h"
#include "collectors/names/source.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define SCOPE_A "/system.slice/docker-" ID_A ".scope"
#define SCOPE_B "/machine.slice/libpod-" ID_B ".scope"
#define DOCKER_A "/var/lib/docker/containers/" ID_A "/config.v2.json"
#define STORAGE "/var/lib/containers/storage/overlay-containers/containers.json"
#define USER_A "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope"
#define USER_STORAGE "/home/ann/.local/share/containers/storage/overlay-containers/containers.json"

/* A file that the reader finds, and the containers in it. */
struct file {
    const char *path;
    uint64_t version;
    int error;
    struct {
        const char *id, *name;
    } containers[3];
};

static struct play {
    struct fake_sys *fake;
    int sockets[2];
    void *state;
    int fd;
    struct file files[4];
    int refusal;         /* what read_state() says of files that are not there */
    unsigned n_read;     /* files */
    uint64_t foreign;    /* further records have this ticket */
    const char *other;   /* further records are of this id */
    const char *runtime; /* and have this runtime */
} play;

static void reader_send(uint64_t ticket, const struct file *file, const char *id, const char *name)
{
    struct name_record record = {.header = {.ticket = ticket, .version = file->version, .is_last = !id}};
    _cleanup_(buffer_done) struct buffer packet = {0};

    if (id)
        memcpy(record.header.id, id, STATE_ID_LENGTH);
    else
        record.header.error = file->error;
    if (name)
        assert_int_equal(names_set(&record.names, NAME_CONTAINER, name, strlen(name)), 0);
    if (id && play.runtime)
        assert_int_equal(names_set(&record.names, NAME_RUNTIME, play.runtime, strlen(play.runtime)), 0);
    assert_int_equal(name_record_write(&record, &packet), 0);
    assert_int_equal(send(play.sockets[1], packet.data, packet.size, 0), packet.size);
    name_record_done(&record);
}

static int fake_read_state(struct sys *sys, const struct state_request *request)
{
    char path[STATE_PATH_MAX];

    (void)sys;
    assert_int_equal(state_request_path(request, path, sizeof(path)), 0);
    for (size_t i = 0; i < ARRAY_SIZE(play.files); i++) {
        const struct file *file = &play.files[i];
        if (!file->path || !str_equal(file->path, path))
            continue;
        if (request->version == file->version)
            return -EALREADY;
        play.n_read++;
        for (size_t k = 0; k < ARRAY_SIZE(file->containers) && !file->error; k++)
            if (file->containers[k].id)
                reader_send(play.foreign ? play.foreign : request->ticket, file,
                            play.other ? play.other : file->containers[k].id, file->containers[k].name);
        reader_send(request->ticket, file, NULL, NULL);
        return 0;
    }
    return play.refusal;
}

static void play_init(void)
{
    play = (struct play){.fake = fake_machine_no_pmu(), .refusal = -ENOENT};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, play.sockets), 0);
    play.fake->sys.read_state = fake_read_state;
    play.fake->sys.state_records = play.sockets[0];
    fake_file(play.fake, "/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n");
    assert_int_equal(name_source_state.open(&play.fake->sys, &play.state, &play.fd), 0);
    assert_true(play.fd >= 0);
}

static void play_done(void)
{
    name_source_state.close(play.state);
    close(play.sockets[0]);
    if (play.sockets[1] >= 0)
        close(play.sockets[1]);
    fake_sys_free(play.fake);
}

/* The name of the container in a cgroup, or why it has none. */
static const char *name_of(const char *path)
{
    static char text[NAME_SIZE_MAX + 1];
    struct names names = {0};

    assert_int_equal(names_from_path(&names, path), 0);
    assert_int_equal(name_source_state.find(play.state, path, &names), 0);
    const char *found = names.texts[NAME_CONTAINER];
    assert_true(found || names.unnamed);
    snprintf(text, sizeof(text), "%s", found ? found : names.unnamed);
    names_done(&names);
    return text;
}

/* Answers come within two rounds. Whether a name changed. */
static bool dispatch_after(uint64_t ns)
{
    fake_advance(play.fake, ns);
    bool changed = name_source_state.dispatch(play.state);
    return changed | name_source_state.dispatch(play.state);
}

static void test_found(void **state)
{
    (void)state;
    play_init();
    play.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, "shop"}}};
    assert_non_null(strstr(name_of(SCOPE_A), "looked for"));
    assert_true(dispatch_after(0));
    assert_string_equal(name_of(SCOPE_A), "shop");
    /* Another container may make a cgroup of any name. */
    assert_non_null(strstr(name_of(SCOPE_B "/docker-" ID_A ".scope"), "in another container"));
    assert_false(dispatch_after(0));
    assert_int_equal(play.n_read, 1);
    play_done();
}

/* The file is written a moment after the cgroup was made. */
static void test_written_later(void **state)
{
    (void)state;
    play_init();
    name_of(SCOPE_A);
    assert_true(dispatch_after(0));
    assert_non_null(strstr(name_of(SCOPE_A), "no state file"));
    play.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, "shop"}}};
    assert_false(dispatch_after(100 * NSEC_PER_MSEC));
    assert_true(dispatch_after(100 * NSEC_PER_MSEC));
    assert_string_equal(name_of(SCOPE_A), "shop");
    play_done();
}

/* A file that has the container without a name is looked at again, and the reason stays. */
static void test_without_name(void **state)
{
    (void)state;
    play_init();
    play.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, NULL}}};
    name_of(SCOPE_A);
    assert_true(dispatch_after(0));
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(strstr(name_of(SCOPE_A), "given it no name"));
        assert_false(dispatch_after(NSEC_PER_SEC));
    }
    play.files[0] = (struct file){DOCKER_A, 8, 0, {{ID_A, "shop"}}};
    dispatch_after(60 * NSEC_PER_SEC);
    assert_string_equal(name_of(SCOPE_A), "shop");
    play_done();
}

static void test_renamed(void **state)
{
    (void)state;
    play_init();
    play.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, "shop"}}};
    name_of(SCOPE_A);
    dispatch_after(0);
    for (size_t i = 0; i < 4; i++)
        assert_false(dispatch_after(15 * NSEC_PER_SEC));
    assert_int_equal(play.n_read, 1);
    play.files[0].version++;
    play.files[0].containers[0].name = "till";
    assert_true(dispatch_after(15 * NSEC_PER_SEC));
    assert_string_equal(name_of(SCOPE_A), "till");
    play.files[0].path = NULL; /* it is removed, and its cgroup is there for a moment */
    assert_false(dispatch_after(15 * NSEC_PER_SEC));
    assert_string_equal(name_of(SCOPE_A), "till");
    play_done();
}

/* A file of all containers: it is asked for once, and again for a container that comes back, though it is as it was. */
static void test_list(void **state)
{
    (void)state;
    play_init();
    play.files[0] = (struct file){STORAGE, 7, 0, {{ID_A, "one"}, {ID_B, "two"}}};
    name_of(SCOPE_A);
    name_of(SCOPE_B);
    assert_true(dispatch_after(0));
    assert_string_equal(name_of(SCOPE_A), "one");
    assert_string_equal(name_of(SCOPE_B), "two");
    assert_int_equal(play.n_read, 1);
    name_source_state.forget(play.state, SCOPE_A);
    assert_non_null(strstr(name_of(SCOPE_A), "looked for"));
    assert_true(dispatch_after(1));
    assert_string_equal(name_of(SCOPE_A), "one");
    play.files[0].version++;
    play.files[0].containers[1].name = "three";
    assert_true(dispatch_after(15 * NSEC_PER_SEC));
    assert_string_equal(name_of(SCOPE_B), "three");
    play_done();
}

/* A user names his own containers, and nobody else's; root does not name users'. */
static void test_accounts(void **state)
{
    (void)state;
    play_init();
    play.files[0] = (struct file){STORAGE, 7, 0, {{ID_A, "of root"}, {ID_B, "of root too"}}};
    play.files[1] = (struct file){USER_STORAGE, 8, 0, {{ID_A, "of ann"}, {ID_B, "stolen"}}};
    name_of(USER_A);
    name_of(SCOPE_B);
    assert_true(dispatch_after(0));
    assert_string_equal(name_of(USER_A), "of ann");
    assert_string_equal(name_of(SCOPE_B), "of root too");
    name_source_state.forget(play.state, USER_A);
    play.files[1].path = NULL;
    name_of(USER_A);
    dispatch_after(0);
    assert_non_null(strstr(name_of(USER_A), "ProtectHome"));
    play_done();
}

/* The process that reads files may have been taken over by one of them. */
static void test_answers_nobody_asked_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        play_init();
        play.foreign = i ? UINT64_MAX : 0;
        play.other = i ? NULL : ID_B;
        play.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, "forged"}}};
        name_of(SCOPE_A);
        name_of(SCOPE_B);
        dispatch_after(0);
        assert_null(strstr(name_of(SCOPE_A), "forged"));
        assert_null(strstr(name_of(SCOPE_B), "forged"));
        play_done();
    }
}

static void test_reasons(void **state)
{
    static const struct {
        int refusal, error;
        const char *reason;
    } cases[] = {
        {-ENOENT, 0, "no state file of a container runtime has it"},
        {-EACCES, 0, "may not be read"},
        {-EPERM, 0, "may not be read"},
        {-EBADRQC, 0, "is refused"},
        {-ENOSYS, 0, "restart perfcountd"},
        {-EPIPE, 0, "the opener, which opens state files, is gone"},
        {-ENOENT, -EBADMSG, "is not what such a file should be"},
        {-ENOENT, -EFBIG, "too large"},
        {-EIO, 0, "no state file of a container runtime has it"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        play_init();
        play.refusal = cases[i].refusal;
        if (cases[i].error)
            play.files[0] = (struct file){DOCKER_A, 7, cases[i].error, {{NULL, NULL}}};
        name_of(SCOPE_A);
        assert_true(dispatch_after(0));
        assert_non_null(strstr(name_of(SCOPE_A), cases[i].reason));
        assert_false(dispatch_after(NSEC_PER_SEC));
        play_done();
    }
}

static void test_no_name_in_the_file(void **state)
{
    (void)state;
    play_init();
    play.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, NULL}}};
    name_of(SCOPE_A);
    assert_true(dispatch_after(0));
    assert_non_null(strstr(name_of(SCOPE_A), "--name"));
    play_done();
}

static void test_without_reader(void **state)
{
    struct names names = {0};
    void *source = NULL;
    int fd = -1;

    (void)state;
    play_init();
    play.fake->sys.state_records = -1;
    assert_int_equal(name_source_state.open(&play.fake->sys, &source, &fd), 0);
    assert_int_equal(fd, -1);
    assert_int_equal(names_from_path(&names, SCOPE_A), 0);
    assert_int_equal(name_source_state.find(source, SCOPE_A, &names), 0);
    assert_non_null(strstr(names.unnamed, "restart perfcountd"));
    assert_false(name_source_state.dispatch(source));
    name_source_state.forget(source, SCOPE_A);
    names_done(&names);
    name_source_state.close(source);
    play_done();
}

/* Its socket is readable for ever, and does not wake the daemon for ever. */
static void test_reader_ends(void **state)
{
    (void)state;
    play_init();
    close(play.sockets[1]);
    play.sockets[1] = -1;
    struct pollfd descriptor = {.fd = play.fd, .events = POLLIN};
    assert_int_equal(poll(&descriptor, 1, 0), 1);
    name_source_state.dispatch(play.state);
    assert_int_equal(poll(&descriptor, 1, 0), 0);
    play_done();
}

/* The name is given by the owner of the place, but for the store that podman and CRI-O share. */
static void test_source(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{NULL, "podman"}, {"podman", "podman"}, {"cri-o", "cri-o"}, {"other", "podman"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct names names = {0};
        play_init();
        play.runtime = cases[i].in;
        play.files[0] = (struct file){STORAGE, 7, 0, {{ID_B, "two"}}};
        name_of(SCOPE_B);
        assert_true(dispatch_after(0));
        assert_int_equal(names_from_path(&names, SCOPE_B), 0);
        assert_int_equal(name_source_state.find(play.state, SCOPE_B, &names), 0);
        assert_string_equal(names.source, cases[i].out);
        names_done(&names);
        play_done();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_written_later),
        cmocka_unit_test(test_without_name),
        cmocka_unit_test(test_renamed),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_answers_nobody_asked_for),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_no_name_in_the_file),
        cmocka_unit_test(test_without_reader),
        cmocka_unit_test(test_reader_ends),
        cmocka_unit_test(test_source),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
