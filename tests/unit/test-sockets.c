/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that a service manager hands over, as sd_listen_fds(3) has it: from descriptor 3 on, told by the environment.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "systemd/sockets.h"
#include "tests/unit/test.h"

enum kind { LISTENING, UNIX, CONNECTING, DATAGRAM, FILE_ON_DISK };

static int make(enum kind kind)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    int fd = -1;

    switch (kind) {
    case LISTENING:
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 1) < 0)
            return -1;
        break;
    case UNIX:
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(fd, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)) < 0 || listen(fd, 1) < 0)
            return -1;
        break;
    case CONNECTING:
        fd = socket(AF_INET, SOCK_STREAM, 0);
        break;
    case DATAGRAM:
        fd = socket(AF_INET, SOCK_DGRAM, 0);
        break;
    case FILE_ON_DISK:
        fd = open("/dev/null", O_RDONLY);
        break;
    }
    return fd;
}

static const struct {
    enum kind in[4];
    size_t n;
    bool in_other_pid; /* handed over to somebody else */
    int out;
    size_t out_n;
} cases[] = {
    {{0}, 0, false, 0, 0},
    {{LISTENING}, 1, false, 0, 1},
    {{LISTENING, UNIX, LISTENING}, 3, false, 0, 3},
    {{LISTENING}, 1, true, 0, 0},
    {{LISTENING, CONNECTING}, 2, false, -EINVAL, 0},
    {{DATAGRAM}, 1, false, -EINVAL, 0},
    {{FILE_ON_DISK}, 1, false, -EINVAL, 0},
};

/* In a process of its own, since the numbers of descriptors matter. Exits with 0 if all is as expected. */
static void play(size_t i)
{
    struct sockets sockets = {0};
    struct error error = {0};
    char text[16];

    for (int fd = 3; fd < 32; fd++)
        close(fd);
    for (size_t k = 0; k < cases[i].n; k++)
        if (make(cases[i].in[k]) != 3 + (int)k)
            _exit(2);
    snprintf(text, sizeof(text), "%d", cases[i].in_other_pid ? 1 : (int)getpid());
    setenv("LISTEN_PID", text, 1);
    snprintf(text, sizeof(text), "%zu", cases[i].n);
    if (cases[i].n > 0)
        setenv("LISTEN_FDS", text, 1);
    int r = sockets_take(&sockets, &error);
    if (r != cases[i].out || sockets.n != cases[i].out_n || (r < 0 && !error.message[0]))
        _exit(3);
    for (size_t k = 0; k < sockets.n; k++)
        if (sockets.fds[k] != 3 + (int)k || !(fcntl(sockets.fds[k], F_GETFD) & FD_CLOEXEC))
            _exit(4);
    if (!cases[i].in_other_pid && getenv("LISTEN_FDS"))
        _exit(5);
    sockets_done(&sockets);
    if (!cases[i].in_other_pid && cases[i].n > 0 && fcntl(3, F_GETFD) >= 0)
        _exit(6);
    _exit(0);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            play(i);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("case %zu: status %x", i, (unsigned)status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
