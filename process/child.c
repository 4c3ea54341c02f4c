/* SPDX-License-Identifier: Apache-2.0 */
#include "process/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "process/stragglers.h"

/* --- /proc/PID/stat --- */

/* Field numbers in /proc/PID/stat, as in proc(5). */
enum {
    STATE = 3,
    USER_TICKS = 14,
    SYSTEM_TICKS,
    WAITED_USER_TICKS,
    WAITED_SYSTEM_TICKS,
    THREADS = 20,
    START_TICKS = 22,
    VIRTUAL_BYTES,
    RESIDENT_PAGES,
    END
};

static uint64_t ticks_to_ns(uint64_t ticks)
{
    return ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

int process_stat_parse(const char *text, struct process_stat *ret)
{
    /* The process's name, which is in parentheses, may itself contain parentheses and spaces. */
    const char *at = strrchr(text, ')');
    uint64_t fields[END] = {0};
    char *end;

    if (!at || at[1] != ' ' || !at[2])
        return -EBADMSG;
    if (at[2] == 'Z' || at[2] == 'X')
        return -ESRCH;
    at += 3;
    for (int field = STATE + 1; field < END; field++, at = end) {
        if (*at != ' ')
            return -EBADMSG;
        fields[field] = strtoull(at + 1, &end, 10);
        if (end == at + 1)
            return -EBADMSG;
    }
    *ret = (struct process_stat){
        .cpu_ns = ticks_to_ns(fields[USER_TICKS] + fields[SYSTEM_TICKS]),
        .waited_ns = ticks_to_ns(fields[WAITED_USER_TICKS] + fields[WAITED_SYSTEM_TICKS]),
        .start_ns = ticks_to_ns(fields[START_TICKS]),
        .threads = fields[THREADS],
        .virtual_bytes = fields[VIRTUAL_BYTES],
        .resident_bytes = fields[RESIDENT_PAGES] * (uint64_t)sysconf(_SC_PAGESIZE),
    };
    return 0;
}

int process_stat_read(int fd, struct process_stat *ret)
{
    char text[1024];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    if (n < 0)
        return -errno;
    text[n] = '\0';
    return process_stat_parse(text, ret);
}

int process_stat_read_boot(uint64_t *ret)
{
    _cleanup_(freep) char *text = NULL;
    unsigned long long seconds;
    int r = file_read(AT_FDCWD, "/proc/stat", 16 * 1024 * 1024, &text, NULL);

    if (r < 0)
        return r;
    const char *btime = strstr(text, "\nbtime ");
    if (!btime || sscanf(btime, " btime %llu", &seconds) != 1)
        return -EBADMSG;
    *ret = seconds * NSEC_PER_SEC;
    return 0;
}

/* --- names --- */

/* Characters that need no quoting in a shell command. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";

void program_path(char *text, size_t size)
{
    char path[PROGRAM_PATH_MAX + 2];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    path[n > 0 ? n : 0] = '\0';
    /* The target of /proc/self/exe is "PATH (deleted)" if the file has been replaced, for example by an upgrade. */
    bool is_plain = n > 0 && n <= PROGRAM_PATH_MAX && strspn(path, plain) == (size_t)n;
    snprintf(text, size, "%s", is_plain ? path : "$(command -v perfcountd)");
}

void program_set_name(const char *name)
{
    _cleanup_(closep) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    char line[4096];
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line));

    prctl(PR_SET_NAME, name, 0, 0, 0);
    /*
     * The arguments are adjacent in memory, beginning with argv[0], which is program_invocation_name. The size of
     * /proc/self/cmdline is the total size of the arguments.
     */
    if (n <= (ssize_t)strlen(name) || memcmp(line, program_invocation_name, strlen(program_invocation_name) + 1) != 0)
        return;
    memset(program_invocation_name, 0, (size_t)n);
    strcpy(program_invocation_name, name);
}

/* --- children --- */

void child_forget(struct child *child)
{
    closep(&child->stat_fd);
    child->stat_fd = -1;
    child->pid = 0;
}

static uint64_t timeval_to_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_usec * 1000;
}

bool child_reap(struct child *child, int *ret_status)
{
    struct rusage usage = {0};
    int status;

    if (child->pid <= 0)
        return true;
    pid_t pid = wait4(child->pid, &status, WNOHANG, &usage);
    if (pid == 0)
        return false;
    if (pid > 0) {
        child->ended_cpu_ns += timeval_to_ns(&usage.ru_utime) + timeval_to_ns(&usage.ru_stime);
        *ret_status = status;
    }
    child_forget(child);
    return true;
}

bool child_wait(struct child *child, uint64_t ns, int *ret_status)
{
    uint64_t until = stragglers_now() + ns;
    _cleanup_(closep) int pidfd = child->pid > 0 ? straggler_open(child->pid) : -1;
    bool ended;

    while (!(ended = child_reap(child, ret_status)) && stragglers_now() < until)
        straggler_wait(pidfd, -1, until);
    return ended;
}

#define END_SOON_NS (100 * NSEC_PER_MSEC)
#define END_NS NSEC_PER_SEC

/* Only SIGKILL terminates a stopped process. */
void child_end(struct child *child, int *ret_status)
{
    if (!child_wait(child, END_SOON_NS, ret_status)) {
        kill(child->pid, SIGKILL);
        child_wait(child, END_NS, ret_status);
    }
    child_forget(child);
}

void child_describe_end(pid_t pid, int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "process %d was killed by signal %d (%s)", (int)pid, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "process %d exited with status %d", (int)pid, WEXITSTATUS(status));
}

int child_read(const struct child *child, struct process_stat *ret)
{
    struct process_stat stat;
    int r = child->stat_fd < 0 ? -ESRCH : process_stat_read(child->stat_fd, &stat);

    if (r < 0)
        return r;
    stat.cpu_ns += stat.waited_ns + child->ended_cpu_ns;
    *ret = stat;
    return 0;
}

/* --- start --- */

/* The packet in which a child reports that it has started, or why it could not. */
struct hello_packet {
    int32_t error; /* of begin() */
    uint32_t filtered;
    uint64_t capabilities;
    char message[sizeof(((struct error *)NULL)->message)];
};

void child_settle(pid_t parent, const char *name, const int *kept, size_t n)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    program_set_name(name);
    fd_close_all_but(kept, n);
}

/*
 * Opens /proc/self/stat in the child and sends the descriptor to the parent, which could not open the file if /proc
 * hides processes (hidepid=). Must be called before the child enters its sandbox, where it cannot open files.
 */
static int send_stat(int socket)
{
    _cleanup_(closep) int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    return fd_socket_send_one(socket, "", 1, stat);
}

/* The child exits with _exit(2), so that the exit(3) handlers of the parent do not run in the child. */
static _Noreturn void child_run(const struct child_plan *plan, int socket, pid_t parent)
{
    struct fd_list kept = plan->kept;
    struct child_hello hello = {0};
    struct error error = {0};

    kept.fds[kept.n++] = socket;
    child_settle(parent, plan->name, kept.fds, kept.n);
    int r = plan->serve ? send_stat(socket) : 0;
    if (r < 0)
        _exit(EXIT_FAILURE);
    struct hello_packet packet = {.error = plan->begin(plan->userdata, socket, &hello, &error)};
    packet.filtered = hello.filtered;
    packet.capabilities = hello.capabilities;
    memcpy(packet.message, error.message, sizeof(packet.message));
    r = fd_socket_send(socket, &packet, sizeof(packet), packet.error ? &(struct fd_list){0} : &hello.fds);
    if (r == 0)
        r = packet.error;
    if (r == 0 && plan->serve)
        r = plan->serve(plan->userdata, socket);
    _exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

static bool wait_for_packet(int socket, uint64_t until)
{
    for (;;) {
        uint64_t now = stragglers_now();
        int r = now < until ? poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1,
                                   (int)((until - now) / NSEC_PER_MSEC) + 1)
                            : 0;
        if (r >= 0 || errno != EINTR)
            return r > 0;
    }
}

/*
 * Receives the child's hello packet. Returns the result for child_start(). `error` gets a message only if begin()
 * failed.
 */
static int receive_hello(const struct child_plan *plan, int socket, struct child *child, struct child_hello *ret,
                         struct error *error)
{
    uint64_t until = stragglers_now() + plan->patience_s * NSEC_PER_SEC;
    _cleanup_(fd_list_close) struct fd_list fds = {0};
    struct hello_packet packet;
    char byte;

    if (plan->serve) {
        int r = wait_for_packet(socket, until) ? fd_socket_receive_one(socket, &byte, sizeof(byte), &child->stat_fd)
                                               : -ETIMEDOUT;
        if (r < 0)
            return r == -EBADMSG ? -EMFILE : r;
    }
    if (!wait_for_packet(socket, until))
        return -ETIMEDOUT;
    ssize_t n = fd_socket_receive(socket, &packet, sizeof(packet), &fds, NULL);
    if (n != sizeof(packet))
        return n == -EBADMSG ? -EMFILE : n < 0 ? (int)n : -EPIPE;
    if (packet.error < 0)
        return error_set(error, packet.error, "%s", packet.message);
    *ret = (struct child_hello){.fds = fds, .capabilities = packet.capabilities, .filtered = packet.filtered};
    fds.n = 0;
    return 0;
}

/*
 * Sets a message that starts with plan->failure, and returns `code`. `status`, the child's wait status, is only used
 * for -EPIPE.
 */
static int start_fail(const struct child_plan *plan, int code, pid_t pid, int status, struct error *error)
{
    char end[128];

    if (code == -ETIMEDOUT)
        return error_set(error, code, "%s within %u seconds%s", plan->failure, plan->patience_s, plan->remedy);
    if (code == -EPIPE)
        child_describe_end(pid, status, end, sizeof(end));
    else
        snprintf(end, sizeof(end), "%s", strerror(-code));
    return error_set(error, code, "%s: %s%s", plan->failure, end, plan->remedy);
}

int child_start(const struct child_plan *plan, struct child *ret, int *ret_socket, struct child_hello *ret_hello,
                struct error *error)
{
    struct child child = CHILD_NONE;
    struct error told = {0};
    int sockets[2], status = 0;
    pid_t parent = getpid();

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return start_fail(plan, -errno, 0, 0, error);
    _cleanup_(closep) int ours = sockets[0], theirs = sockets[1];
    pid_t pid = child.pid = fork();
    if (pid < 0)
        return start_fail(plan, -errno, 0, 0, error);
    if (pid == 0)
        child_run(plan, theirs, parent);
    close(steal_fd(&theirs)); /* when the child exits, the parent must see end-of-file */
    int r = receive_hello(plan, ours, &child, ret_hello, &told);
    if (r < 0 || !plan->serve)
        child_end(&child, &status);
    if (r < 0)
        return told.message[0] ? error_set(error, r, "%s", told.message) : start_fail(plan, r, pid, status, error);
    *ret = child;
    *ret_socket = steal_fd(&ours);
    return 0;
}
