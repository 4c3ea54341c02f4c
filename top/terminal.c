/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal as it was before: see top-terminal.h. */
#include "top/terminal.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

/* Signals that end a process, but those that the event loop waits for, and SIGKILL. */
static const int deadly[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT,   SIGSYS,  SIGTRAP, SIGQUIT,
                             SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM, SIGXFSZ, SIGPROF, SIGPIPE};

static struct {
    int fd;
    struct termios modes;
    char bytes[256];
    size_t size;
    char stack[64 * 1024]; /* a handler of a stack that overflowed needs another one */
} terminal;

static void terminal_on_signal(int signal)
{
    ssize_t n = write(terminal.fd, terminal.bytes, terminal.size);

    (void)n;
    tcsetattr(terminal.fd, TCSANOW, &terminal.modes);
    raise(signal); /* SA_RESETHAND gave it back its default action, which follows when the handler returns */
}

int top_terminal_arm(int fd)
{
    struct sigaction action = {.sa_handler = terminal_on_signal, .sa_flags = SA_RESETHAND | SA_ONSTACK};
    stack_t stack = {.ss_sp = terminal.stack, .ss_size = sizeof(terminal.stack)};

    terminal.fd = fd;
    terminal.size = 0;
    if (tcgetattr(fd, &terminal.modes) < 0)
        return -errno;
    sigaltstack(&stack, NULL);
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
        sigaction(deadly[i], &action, NULL);
    return 0;
}

void top_terminal_set_bytes(const char *bytes, size_t size)
{
    terminal.size = MIN(size, sizeof(terminal.bytes));
    memcpy(terminal.bytes, bytes, terminal.size);
}

void top_terminal_disarm(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
        signal(deadly[i], SIG_DFL);
}
