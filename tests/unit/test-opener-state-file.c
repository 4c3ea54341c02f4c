/* SPDX-License-Identifier: Apache-2.0 */
/* State files through the opener, over real sockets: what arrives at the reader, and what does not. */
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd-socket.h"
#include "base/process/fd.h"
#include "opener/state-file.h"
#include "tests/unit/opener-rig.h"
#include "tests/unit/test.h"

#define PATH ".local/share/containers/storage/overlay-containers"
#define FILE_PATH PATH "/containers.json"
#define STRANGER 12345
#define OTHER 12346

static char home[STATE_HOME_MAX];
static uid_t user;
static uint32_t place;

/* The opener's rig, whose opener sends to ends[0]; the reader would read from ends[1]. */
struct state_rig {
    struct opener_rig *opener;
    int ends[2];
    uint64_t n_open;
};

static void own(const char *path)
{
    assert_int_equal(lchown(path, user, user), 0);
}

static void make_file(const char *path, const char *text)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    own(path);
}

static void make_directories(void)
{
    char path[] = PATH;

    for (char *slash = strchr(path, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        assert_int_equal(mkdir(path, 0700), 0);
        own(path);
        if (!slash)
            return;
        *slash = '/';
    }
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int setup(void **state)
{
    struct state_rig *rig = calloc(1, sizeof(*rig));
    void *opener;

    assert_non_null(rig);
    strcpy(home, "/tmp/perfcountd-home-XXXXXX");
    user = geteuid() ? geteuid() : STRANGER;
    assert_non_null(mkdtemp(home));
    assert_int_equal(chdir(home), 0);
    own(".");
    make_directories();
    make_file(FILE_PATH, "[]");
    while (!str_equal(state_place(place)->path, "~/" FILE_PATH))
        place++;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, rig->ends), 0);
    opener_rig_setup(&opener);
    rig->opener = opener;
    rig->opener->server.reader = rig->ends[0];
    assert_int_equal(fd_count_open(-1, &rig->n_open), 0);
    *state = rig;
    return 0;
}

/* Nothing that was opened stays open; the server closes its descriptors after the reply. */
static int teardown(void **state)
{
    struct state_rig *rig = *state;
    void *opener = rig->opener;
    uint64_t n_open = 0;

    for (int i = 0; i < 1000 && n_open != rig->n_open; i++) {
        assert_int_equal(fd_count_open(-1, &n_open), 0);
        usleep(n_open == rig->n_open ? 0 : 1000);
    }
    assert_int_equal(n_open, rig->n_open);
    opener_rig_teardown(&opener);
    close(rig->ends[0]);
    close(rig->ends[1]);
    free(rig);
    return chdir("/") < 0 ? -1 : nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct state_request make_request(void)
{
    struct state_request request;

    memset(&request, 0, sizeof(request));
    request.place = place;
    request.user = user;
    request.ticket = 42;
    strcpy(request.home, home);
    return request;
}

static int ask(struct state_rig *rig)
{
    struct state_request request = make_request();

    return rig->opener->daemon.read_state(&rig->opener->daemon, &request);
}

static void assert_nothing_arrived(const struct state_rig *rig)
{
    char byte;

    assert_int_equal(recv(rig->ends[1], &byte, 1, MSG_DONTWAIT), -1);
}

static void test_file_arrives(void **state)
{
    struct state_request request = make_request(), arrived;
    struct state_rig *rig = *state;
    struct stat status;
    char text[8] = "";
    int fd = -1;

    assert_int_equal(ask(rig), 0);
    assert_int_equal(fd_socket_receive_one(rig->ends[1], &arrived, sizeof(arrived), &fd), 0);
    assert_memory_equal(&arrived, &request, sizeof(request));
    assert_int_equal(read(fd, text, sizeof(text)), 2);
    assert_string_equal(text, "[]");
    assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(fstat(fd, &status), 0);
    close(fd);
    /* as it was; and then not */
    request.version = state_file_version(&status);
    assert_int_equal(rig->opener->daemon.read_state(&rig->opener->daemon, &request), -EALREADY);
    make_file(FILE_PATH, "[{}]");
    assert_int_equal(rig->opener->daemon.read_state(&rig->opener->daemon, &request), 0);
    assert_int_equal(fd_socket_receive_one(rig->ends[1], &arrived, sizeof(arrived), &fd), 0);
    close(fd);
    assert_nothing_arrived(rig);
}

/* Other things stand in the file's place. */
static void be_missing(void)
{
    assert_int_equal(unlink(FILE_PATH), 0);
}

static void be_fifo(void)
{
    be_missing();
    assert_int_equal(mkfifo(FILE_PATH, 0600), 0);
    own(FILE_PATH);
}

static void be_directory(void)
{
    be_missing();
    assert_int_equal(mkdir(FILE_PATH, 0700), 0);
    own(FILE_PATH);
}

static void be_link_to_shadow(void)
{
    be_missing();
    assert_int_equal(symlink("/etc/shadow", FILE_PATH), 0);
    own(FILE_PATH);
}

static void be_link_through_proc(void)
{
    be_missing();
    assert_int_equal(symlink("/proc/self/environ", FILE_PATH), 0);
    own(FILE_PATH);
}

static void be_below_a_file(void)
{
    be_missing();
    assert_int_equal(rmdir(PATH), 0);
    make_file(PATH, "");
}

static void be_in_open_directory(void)
{
    assert_int_equal(chmod(PATH, 0777), 0);
}

static void be_below_link_to_etc(void)
{
    assert_int_equal(rename(PATH, "aside"), 0);
    assert_int_equal(symlink("/etc", PATH), 0);
    own(PATH);
}

static void be_of_other(void)
{
    assert_int_equal(lchown(FILE_PATH, OTHER, OTHER), 0);
}

static void be_of_root(void)
{
    assert_int_equal(lchown(FILE_PATH, 0, 0), 0);
}

static void be_in_directory_of_other(void)
{
    assert_int_equal(lchown(".local", OTHER, OTHER), 0);
}

static const struct {
    void (*be)(void);
    int out;
    bool for_root;
} refused_cases[] = {
    {be_missing, -ENOENT, false},
    {be_fifo, -EBADRQC, false},
    {be_directory, -EBADRQC, false},
    {be_below_a_file, -ENOENT, false},
    {be_link_to_shadow, -EBADRQC, false},
    {be_link_through_proc, -EBADRQC, true}, /* another user's own is that user's own file */
    {be_in_open_directory, -EBADRQC, false},
    {be_below_link_to_etc, -ENOENT, false},
    {be_of_other, -EBADRQC, true},
    {be_of_root, -EBADRQC, true},
    {be_in_directory_of_other, -EBADRQC, true},
};

static void test_refused(void **state)
{
    void *rig = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused_cases); i++) {
        if (refused_cases[i].for_root && geteuid() != 0)
            continue;
        setup(&rig);
        refused_cases[i].be();
        int r = ask(rig);
        if (r != refused_cases[i].out)
            fail_msg("case %zu: %d, not %d", i, r, refused_cases[i].out);
        assert_nothing_arrived(rig);
        teardown(&rig);
    }
}

/* A link of the user's to root's file takes the file's place, and leaves it, all the while. */
static _Noreturn void take_turns(pid_t parent)
{
    while (getppid() == parent) {
        (void)!rename("link", FILE_PATH);
        (void)!symlink("/etc/passwd", "next-link");
        (void)!lchown("next-link", user, user);
        (void)!rename("file", FILE_PATH);
        (void)!rename("next-link", "link");
        int fd = open("next-file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        (void)!fchown(fd, user, user);
        close(fd);
        (void)!rename("next-file", "file");
    }
    _exit(0);
}

static void test_race(void **state)
{
    struct state_rig *rig = *state;
    struct state_request arrived;
    unsigned n_arrived = 0, n_refused = 0;
    pid_t parent = getpid(), pid = fork();

    if (pid == 0)
        take_turns(parent);
    for (int i = 0; i < 200000 && (n_arrived < 200 || n_refused < 200); i++) {
        struct stat status;
        int fd = -1, r = ask(rig);
        n_refused += r == -EBADRQC;
        if (r < 0)
            continue;
        n_arrived++;
        assert_int_equal(fd_socket_receive_one(rig->ends[1], &arrived, sizeof(arrived), &fd), 0);
        assert_int_equal(fstat(fd, &status), 0);
        assert_int_equal(status.st_uid, user);
        close(fd);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(n_arrived >= 200 && n_refused >= 200);
}

static void test_requests_are_refused(void **state)
{
    struct state_rig *rig = *state;
    struct sys *sys = &rig->opener->daemon;
    struct state_request request = make_request();

    request.user = 0;
    assert_int_equal(sys->read_state(sys, &request), -EBADRQC);
    request.user = user + 1;
    assert_int_equal(sys->read_state(sys, &request), -EBADRQC);
    request = make_request();
    request.place = UINT32_MAX;
    assert_int_equal(sys->read_state(sys, &request), -EBADRQC);
    request = make_request();
    memset(request.home, '/', sizeof(request.home));
    assert_int_equal(sys->read_state(sys, &request), -EBADRQC);
    assert_nothing_arrived(rig);
}

static void test_reader_is_full_or_gone(void **state)
{
    struct state_rig *rig = *state;
    int r;

    while ((r = ask(rig)) == 0)
        ;
    assert_int_equal(r, -EAGAIN);
    close(rig->ends[1]);
    assert_int_equal(ask(rig), -ENOSYS);
    rig->ends[1] = dup(rig->ends[0]);
    rig->opener->server.reader = -1;
    assert_int_equal(ask(rig), -ENOSYS);
    /* the opener is none the worse for it */
    opener_rig_assert_opened(opener_rig_open(rig->opener, 1), "config 1 pid -1 cpu 0 leads disabled");
}

static void test_without_opener(void **state)
{
    struct state_request request = make_request(), arrived;
    struct state_rig *rig = *state;
    struct sys sys;
    int fd = -1;

    sys_init(&sys);
    assert_int_equal(sys.read_state(&sys, &request), -ENOSYS);
    opener_state_file_attach(&sys, &rig->ends[0]);
    assert_int_equal(sys.read_state(&sys, &request), 0);
    assert_int_equal(fd_socket_receive_one(rig->ends[1], &arrived, sizeof(arrived), &fd), 0);
    close(fd);
}

/* A packet of another size, or with a descriptor, is no request. */
static void test_packets(void **state)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    struct state_request request = make_request();
    struct opener_request parsed;
    uint64_t words[64] = {0};

    (void)state;
    assert_int_equal(opener_request_write_state(&request, &packet), 0);
    assert_true(packet.size < sizeof(words));
    memcpy(words, packet.data, packet.size);
    assert_int_equal(opener_request_parse(words, packet.size, 0, &parsed), 0);
    assert_int_equal(parsed.kind, OPENER_REQUEST_STATE);
    assert_memory_equal(parsed.state, &request, sizeof(request));
    assert_int_equal(opener_request_parse(words, packet.size, 1, &parsed), -EBADMSG);
    for (uint32_t size = 8; size < packet.size + 16; size++) {
        ((struct opener_packet_header *)words)->size = size;
        assert_int_equal(opener_request_parse(words, size, 0, &parsed), size == packet.size ? 0 : -EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_file_arrives, setup, teardown),
        cmocka_unit_test(test_refused),
        cmocka_unit_test_setup_teardown(test_race, setup, teardown),
        cmocka_unit_test_setup_teardown(test_requests_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reader_is_full_or_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_opener, setup, teardown),
        cmocka_unit_test(test_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
