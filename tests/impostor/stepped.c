/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attacks on an opener that is stopped in the middle of a request. A compromised daemon may stop and continue its
 * opener at any time, while an accomplice replaces what the request names. The *stepper*, a root process that is
 * started before the split, simulates both. With ptrace(2) it stops the opener and the opener's children before and
 * after each system call. The stepper repeats a request, and the accomplice acts at the first stop, then at the second,
 * and so on, until a request completes before that stop. Each request must have the same result as without the
 * accomplice, or give nothing.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/error.h"
#include "base/file.h"
#include "cgroups/cgroupfs.h"
#include "opener/protocol.h"
#include "process/finder.h"
#include "tests/impostor/impostor.h"

#define ACCOUNT 12345 /* the user of the accomplice's processes */
#define OWNER 60000   /* the first of the users who own state files */
#define PATIENCE_S 60 /* the time limit for one request, in seconds */
#define FILE_MAX ((size_t)64 << 20)
#define PAGES 64
#define STOPS_MIN 5 /* a row fails if its request has fewer stops */
#define TRIES_MAX 20
#define TRY_AFTER_S 5
#define OVERLAY ".local/share/containers/storage/overlay-containers"
#define EVIL "the-evil" /* the container's name in root's copy of a state file */

/* What is requested. */
enum subject {
    PROGRAM,         /* an event: the configured uprobe, in the accomplice's program */
    CONFIGURED_FILE, /* the configuration file, in the accomplice's directory */
    CGROUP,          /* an event of a cgroup */
    LEADER,          /* an event that joins a group */
    OF_BPF,          /* a slot of a BPF program for a cgroup */
    STATE,           /* a user's state file */
    MAPPED,          /* a finder, and from it a file that a process has mapped */
    JIT_MAP,         /* a finder, and from it a process's list of functions, /tmp/perf-PID.map */
    JIT_MAP_OF_ROOT, /* the same, but the list belongs to root, so it must be refused */
};

/* What the accomplice does during the request. */
enum deed {
    LINK,      /* replaces the file with a symbolic link to root's copy */
    HARD_LINK, /* replaces the file with a hard link to root's copy */
    MOUNT,     /* mounts root's copy over the file */
    DIRECTORY, /* replaces the file's directory with a symbolic link to another one */
    NUMBER,    /* kills the process, whereupon root starts one with the same PID */
    RENEW,     /* removes the cgroup, and creates another one with the same name */
    CLOSE,     /* closes the leader */
};

static const struct row {
    const char *name;
    enum subject subject;
    enum deed deed;
    /* The request goes to a naive opener, which looks up a path or PID twice. The attack must succeed. */
    bool naive;
} rows[] = {
    {"an opener that trusts a path is caught", CONFIGURED_FILE, LINK, true},
    {"a finder that trusts a PID is caught", MAPPED, NUMBER, true},
    {"a probed program, a symbolic link", PROGRAM, LINK, false},
    {"a probed program, a hard link", PROGRAM, HARD_LINK, false},
    {"a probed program, a mount", PROGRAM, MOUNT, false},
    {"a probed program, another directory", PROGRAM, DIRECTORY, false},
    {"a file, a symbolic link", CONFIGURED_FILE, LINK, false},
    {"a file, a hard link", CONFIGURED_FILE, HARD_LINK, false},
    {"a file, a mount", CONFIGURED_FILE, MOUNT, false},
    {"a file, another directory", CONFIGURED_FILE, DIRECTORY, false},
    {"an event of a cgroup, another cgroup", CGROUP, RENEW, false},
    {"an event of a group, no leader", LEADER, CLOSE, false},
    {"a slot of the BPF engine, another cgroup", OF_BPF, RENEW, false},
    {"a state file, a symbolic link", STATE, LINK, false},
    {"a state file, a hard link", STATE, HARD_LINK, false},
    {"a state file, a mount", STATE, MOUNT, false},
    {"a state file, another directory", STATE, DIRECTORY, false},
    {"a mapped file, another process", MAPPED, NUMBER, false},
    {"a list of functions, another process", JIT_MAP_OF_ROOT, NUMBER, false},
    {"a list of functions, a symbolic link", JIT_MAP, LINK, false},
    {"a list of functions, a hard link", JIT_MAP, HARD_LINK, false},
};

/* The impostor sends this to the stepper, along with its sockets to the opener and, if it is running, the reader. */
struct script {
    uint32_t row, stride;
    int32_t opener, daemon;
    uint32_t uprobe_type;
    uint64_t offset;
    char path[PATH_MAX]; /* the configured program or file */
};

struct password_result {
    int64_t got;
    uint32_t stops;
    char reason[200];
};

/* A file whose path is sent to the opener, and a copy in the same directory that only root may read. */
struct place {
    char directory[PATH_MAX], path[PATH_MAX], secret[PATH_MAX];
    const char *name; /* the last component, in `path` */
    uid_t owner;
    int own_fd, secret_fd; /* O_PATH descriptors of the file and of the copy, or -1 */
};

/* A process whose PID is sent to the opener. */
struct target {
    pid_t pid;
    int ready[2];
    void *address; /* where it has mapped a file */
};

struct stage {
    struct impostor *impostor; /* the impostor's state before the split */
    const struct script *script;
    const struct row *row;
    int socket; /* socket to the opener */
    pid_t opener;
    int cpu; /* the first CPU that this process may use */

    pid_t stopped; /* the traced process that is stopped; 0: none */
    int signal;    /* the signal that `stopped` gets when it continues; 0: none */
    int children;  /* the number of the opener's children */

    struct place place;
    struct target target;
    char cgroup[PATH_MAX];
    int directory, leader;
    uid_t next_owner;

    /* The state of one request. */
    unsigned stops, act_at; /* the accomplice acts at this stop; 0: never */
    bool acted, replied, answered;
    int error; /* 0, or -errno of the stepper's first failed call */
    int child_status;
    struct opener_reply reply;
    struct fd_list opened;
    int ends[2], found; /* a finder's sockets, and the file that it has sent; or -1 */
};

#define NOTHING 0
#define AS_WITHOUT 1
#define GAVE_AWAY (-EPERM)

static volatile sig_atomic_t late;

static void on_alarm(int number)
{
    (void)number;
    late = 1;
}

/* After PATIENCE_S, and every second from then on, the alarm interrupts a blocking system call. */
static void stage_set_alarm(void)
{
    const struct itimerval timer = {.it_value = {.tv_sec = PATIENCE_S}, .it_interval = {.tv_sec = 1}};

    late = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Keeps errno as the stage's error, unless `done` is true or there already is an error. Returns `done`. */
static bool stage_did(struct stage *stage, bool done)
{
    if (!done && stage->error == 0)
        stage->error = late ? -ETIMEDOUT : errno ? -errno : -EIO;
    return done;
}

static const char *join(char path[PATH_MAX], const char *format, ...) PRINTF_LIKE(2, 3);
static const char *join(char path[PATH_MAX], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(path, PATH_MAX, format, arguments);
    va_end(arguments);
    return path;
}

static bool is_same_file(int a, int b)
{
    struct stat one, other;

    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool write_file(const char *path, const char *bytes, size_t size, mode_t mode)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    return fd >= 0 && write(fd, bytes, size) == (ssize_t)size && fchmod(fd, mode) == 0;
}

/* --- the place of a file --- */

/* Replaces the names in the copy of a state file: the reader sends back names only, so they must differ. */
static void falsify(char *bytes, size_t size)
{
    char *name;

    while ((name = memmem(bytes, size, "the-name", strlen("the-name"))))
        memcpy(name, EVIL, strlen(EVIL));
}

static void place_find(struct stage *stage, const char *path)
{
    struct place *place = &stage->place;
    _cleanup_(freep) char *bytes = NULL;
    struct stat status;
    size_t size;

    join(place->path, "%s", path);
    place->name = strrchr(place->path, '/') + 1;
    join(place->directory, "%.*s", (int)(place->name - 1 - place->path), place->path);
    join(place->secret, "%s/secret", place->directory);
    place->own_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (!stage_did(stage, place->own_fd >= 0 && fstat(place->own_fd, &status) == 0))
        return;
    place->owner = status.st_uid;
    int r = file_read(AT_FDCWD, path, FILE_MAX, &bytes, &size);
    if (r < 0) {
        stage->error = r;
        return;
    }
    if (stage->row->subject == STATE)
        falsify(bytes, size);
    if (stage_did(stage, write_file(place->secret, bytes, size, 0700))) {
        place->secret_fd = open(place->secret, O_PATH | O_CLOEXEC);
        stage_did(stage, place->secret_fd >= 0);
    }
}

static void place_forget(struct place *place)
{
    if (place->secret_fd >= 0)
        unlink(place->secret);
    closep(&place->own_fd);
    closep(&place->secret_fd);
    place->own_fd = place->secret_fd = -1;
}

static void link_directory(struct stage *stage)
{
    const struct place *place = &stage->place;
    char roots[PATH_MAX], file[PATH_MAX], was[PATH_MAX];

    join(roots, "%s.root", place->directory);
    join(file, "%s/%s", roots, place->name);
    join(was, "%s.was", place->directory);
    stage_did(stage, mkdir(roots, 0700) == 0 && link(place->secret, file) == 0 && rename(place->directory, was) == 0 &&
                         symlink(strrchr(roots, '/') + 1, place->directory) == 0 &&
                         lchown(place->directory, place->owner, place->owner) == 0);
}

static void unlink_directory(struct stage *stage)
{
    const struct place *place = &stage->place;
    char path[PATH_MAX];

    stage_did(stage,
              unlink(place->directory) == 0 && rename(join(path, "%s.was", place->directory), place->directory) == 0);
    stage_did(stage, unlink(join(path, "%s.root/%s", place->directory, place->name)) == 0);
    stage_did(stage, rmdir(join(path, "%s.root", place->directory)) == 0);
}

static void place_replace(struct stage *stage)
{
    const struct place *place = &stage->place;
    char was[PATH_MAX];

    join(was, "%s.was", place->path);
    if (stage->row->deed == LINK)
        stage_did(stage, rename(place->path, was) == 0 && symlink("secret", place->path) == 0 &&
                             lchown(place->path, place->owner, place->owner) == 0);
    else if (stage->row->deed == HARD_LINK)
        stage_did(stage, rename(place->path, was) == 0 && link(place->secret, place->path) == 0);
    else if (stage->row->deed == MOUNT)
        stage_did(stage, mount(place->secret, place->path, NULL, MS_BIND, NULL) == 0);
    else
        link_directory(stage);
}

static void place_restore(struct stage *stage)
{
    const struct place *place = &stage->place;
    char was[PATH_MAX];

    join(was, "%s.was", place->path);
    if (stage->row->deed == MOUNT)
        stage_did(stage, umount2(place->path, MNT_DETACH) == 0);
    else if (stage->row->deed == DIRECTORY)
        unlink_directory(stage);
    else
        stage_did(stage, unlink(place->path) == 0 && rename(was, place->path) == 0);
}

/* --- processes --- */

/* Writes a byte to the pipe `ready`, and waits to be killed. */
static _Noreturn void stay(int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(write(ready, "", 1) == 1 ? pause() : 1);
}

static void map_scratch_file(const struct stage *stage, const char *name, int protection)
{
    char path[PATH_MAX];
    int fd = open(join(path, "%s/%s", stage->impostor->known.scratch, name), O_RDONLY | O_CLOEXEC);

    if (mmap(stage->target.address, (size_t)getpagesize(), protection, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
        _exit(EXIT_FAILURE);
}

/* Runs as the accomplice's process. If it needs a list of functions, it has a /tmp of its own with one. */
static _Noreturn void be_decoy(const struct stage *stage)
{
    char path[PATH_MAX];

    join(path, "/tmp/perf-%d.map", (int)getpid());
    if (stage->row->subject == MAPPED)
        map_scratch_file(stage, "mapped", PROT_READ | PROT_EXEC);
    if (stage->row->subject == JIT_MAP || stage->row->subject == JIT_MAP_OF_ROOT) {
        uid_t owner = stage->row->subject == JIT_MAP ? ACCOUNT : 0;
        if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", "/tmp", "tmpfs", 0, NULL) < 0 || !write_file(path, "1 2 name\n", 9, 0644) ||
            chown(path, owner, owner) < 0)
            _exit(EXIT_FAILURE);
    }
    if (setresuid(ACCOUNT, ACCOUNT, ACCOUNT) < 0)
        _exit(EXIT_FAILURE);
    stay(stage->target.ready[1]);
}

/* Runs as root's process, which gets the PID of the accomplice's process and has a file mapped at the same address. */
static _Noreturn void be_victim(const struct stage *stage)
{
    if (stage->row->subject == MAPPED)
        map_scratch_file(stage, "other", PROT_READ);
    stay(stage->target.ready[1]);
}

static void target_start(struct stage *stage)
{
    struct target *target = &stage->target;
    char byte;

    if (!stage_did(stage, pipe2(target->ready, O_CLOEXEC) == 0))
        return;
    target->pid = fork();
    if (target->pid == 0)
        be_decoy(stage);
    close(target->ready[1]);
    stage_did(stage, read(target->ready[0], &byte, 1) == 1);
    close(target->ready[0]);
}

static void target_kill(struct stage *stage)
{
    if (stage->target.pid > 0)
        stage_did(stage,
                  kill(stage->target.pid, SIGKILL) == 0 && waitpid(stage->target.pid, NULL, 0) == stage->target.pid);
}

static void target_replace(struct stage *stage)
{
    struct target *target = &stage->target;
    pid_t number = target->pid;
    const struct clone_args arguments = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
    long pid;
    char byte;

    target_kill(stage);
    target->pid = 0;
    if (!stage_did(stage, pipe2(target->ready, O_CLOEXEC) == 0))
        return;
    do /* the PID may still be in use for a moment */
        pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
    while (pid < 0 && errno == EEXIST && !late);
    if (pid == 0)
        be_victim(stage);
    close(target->ready[1]);
    target->pid = (pid_t)MAX(pid, 0);
    stage_did(stage, pid > 0 && read(target->ready[0], &byte, 1) == 1);
    close(target->ready[0]);
}

/* Runs a process on stage->cpu until it exits. It causes page faults in `cgroup` or, if that is NULL, executes
 * `program`. */
static void run_on_cpu(struct stage *stage, const char *cgroup, int program)
{
    char path[PATH_MAX], name[] = "true", *const arguments[] = {name, NULL}, *const environment[] = {NULL};
    cpu_set_t cpus;
    int status;

    CPU_ZERO(&cpus);
    CPU_SET((unsigned)stage->cpu, &cpus);
    pid_t pid = fork();
    if (pid == 0) {
        if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
            _exit(EXIT_FAILURE);
        if (!cgroup) {
            /* fexecve(3) fails on the boards' Linux 5.10. */
            execve(join(path, "/proc/self/fd/%d", program), arguments, environment);
            _exit(EXIT_FAILURE);
        }
        int fd = open(join(path, "%s/cgroup.procs", cgroup), O_WRONLY | O_CLOEXEC);
        size_t size = PAGES * (size_t)getpagesize();
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fd < 0 || write(fd, "0", 1) != 1 || memory == MAP_FAILED)
            _exit(EXIT_FAILURE);
        memset(memory, 1, size);
        _exit(EXIT_SUCCESS);
    }
    errno = 0;
    stage_did(stage, pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

/* Returns the count of the event since it was opened. */
static uint64_t event_read(struct stage *stage, int fd)
{
    uint64_t count = 0;

    stage_did(stage, read(fd, &count, sizeof(count)) == sizeof(count));
    return count;
}

/* --- cgroups --- */

/* Retries on EBUSY: tasks that have ended may remain in the cgroup for a moment. */
static void cgroup_remove(struct stage *stage)
{
    int r;

    while ((r = rmdir(stage->cgroup)) < 0 && errno == EBUSY && !late)
        sched_yield();
    stage_did(stage, r == 0);
}

static void cgroup_make(struct stage *stage)
{
    stage_did(stage, mkdir(stage->cgroup, 0755) == 0);
}

static int cgroup_name(struct stage *stage)
{
    struct hierarchy hierarchy;
    struct error error;

    if (hierarchy_find(&stage->impostor->sys, &hierarchy, &error) < 0)
        return -ENOENT;
    join(stage->cgroup, "%s/impostor-%d", hierarchy.path, (int)getpid());
    hierarchy_done(&hierarchy);
    return 0;
}

/* --- a naive opener, to test that the stepper notices a successful attack --- */

static int naive_open(const char *path)
{
    struct stat status;

    if (stat(path, &status) < 0 || status.st_uid == 0)
        return -EBADRQC;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int naive_find(const struct find_request *request)
{
    char path[PATH_MAX], lines[16384];
    _cleanup_(closep) int maps = open(join(path, "/proc/%u/maps", request->pid), O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    ssize_t n;

    while (size < sizeof(lines) && (n = read(maps, lines + size, sizeof(lines) - size)) > 0)
        size += (size_t)n;
    if (find_in_maps(lines, size, request->start, request->end) <= 0)
        return -EBADRQC;
    join(path, "/proc/%u/map_files/%llx-%llx", request->pid, (unsigned long long)request->start,
         (unsigned long long)request->end);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int naive_start_finder(struct fd_list *opened)
{
    int requests[2], files[2], fd;
    union find_buffer buffer;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        if (find_request_receive(requests[1], &buffer, &fd) == 0) {
            fd = naive_find(&buffer.request);
            fd_socket_send_one(files[1], &buffer, find_request_size(&buffer.request), fd);
        }
        _exit(EXIT_SUCCESS);
    }
    close(requests[1]);
    close(files[1]);
    opened->fds[opened->n++] = requests[0];
    opened->fds[opened->n++] = files[0];
    return pid < 0 ? -errno : 0;
}

static _Noreturn void be_naive_opener(int socket)
{
    static uint64_t packet[OPENER_PACKET_MAX / sizeof(uint64_t) + 1];

    signal(SIGCHLD, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        _cleanup_(fd_list_close) struct fd_list given = {0}, opened = {0};
        struct opener_reply reply = {0};
        struct opener_request request;
        ssize_t n = fd_socket_receive(socket, packet, sizeof(packet), &given, NULL);
        if (n <= 0 || opener_request_parse(packet, (size_t)n, given.n, &request) < 0)
            _exit(EXIT_FAILURE);
        if (request.kind == OPENER_REQUEST_FILE)
            reply.error = opened.fds[0] = naive_open(request.path), opened.n = reply.error >= 0;
        else
            reply.error = naive_start_finder(&opened);
        reply.error = MIN(reply.error, 0);
        reply.n = reply.error ? 0 : (uint32_t)opened.n;
        fd_socket_send(socket, &reply, opener_reply_size(&reply), &opened);
    }
}

static void naive_opener_start(struct stage *stage)
{
    int sockets[2];

    if (!stage_did(stage, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0))
        return;
    stage->opener = fork();
    if (stage->opener == 0)
        be_naive_opener(sockets[1]);
    close(sockets[1]);
    stage->socket = sockets[0];
    stage_did(stage, stage->opener > 0);
}

/* --- stepping --- */

#define EVENTS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)

static void stage_attach(struct stage *stage)
{
    if (stage_did(stage, ptrace(PTRACE_SEIZE, stage->opener, 0, EVENTS) == 0 &&
                             ptrace(PTRACE_INTERRUPT, stage->opener, 0, 0) == 0 &&
                             waitpid(stage->opener, NULL, __WALL) == stage->opener))
        stage->stopped = stage->opener;
}

static void stage_detach(struct stage *stage)
{
    if (stage->stopped != stage->opener &&
        (ptrace(PTRACE_INTERRUPT, stage->opener, 0, 0) < 0 || waitpid(stage->opener, NULL, __WALL) != stage->opener))
        return;
    ptrace(PTRACE_DETACH, stage->opener, 0, 0);
}

static bool is_file_of_finder(enum subject subject)
{
    return subject == MAPPED || subject == JIT_MAP || subject == JIT_MAP_OF_ROOT;
}

static void act(struct stage *stage)
{
    stage->acted = true;
    if (stage->row->deed == NUMBER) {
        target_replace(stage);
    } else if (stage->row->deed == RENEW) {
        cgroup_remove(stage);
        cgroup_make(stage);
    } else if (stage->row->deed == CLOSE) {
        close(steal_fd(&stage->leader));
    } else {
        place_replace(stage);
    }
}

/* Continues the stopped process, and waits until a traced process stops or a child ends. */
static void stage_step(struct stage *stage)
{
    int status;

    /* ESRCH: it has been killed meanwhile, which waitpid(2) reports next. */
    if (stage->stopped && ptrace(PTRACE_SYSCALL, stage->stopped, 0, stage->signal) < 0 && errno != ESRCH)
        stage_did(stage, false);
    stage->stopped = 0;
    pid_t pid = waitpid(-1, &status, __WALL);
    if (!stage_did(stage, pid > 0))
        return;
    if (!WIFSTOPPED(status)) {
        errno = EOWNERDEAD;
        stage_did(stage, pid != stage->opener && pid != stage->target.pid);
        stage->children--;
        stage->child_status = status;
        return;
    }
    unsigned event = (unsigned)status >> 16;
    bool is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    stage->stopped = pid;
    stage->signal = event || is_call ? 0 : WSTOPSIG(status);
    stage->children += event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE;
    if (is_call && ++stage->stops == stage->act_at)
        act(stage);
}

static bool is_readable(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    return poll(&readable, 1, 0) > 0;
}

static void ask_finder(struct stage *stage)
{
    char bytes[sizeof(struct find_request) + 1] = "";
    const struct find_request request = {
        .magic = FIND_MAGIC,
        .find = stage->row->subject == MAPPED ? FIND_MAPPED : FIND_JIT_MAP,
        .pid = (uint32_t)stage->target.pid,
        .start = (uintptr_t)stage->target.address,
        .end = (uintptr_t)stage->target.address + (size_t)getpagesize(),
    };

    memcpy(bytes, &request, sizeof(request));
    memcpy(stage->ends, stage->opened.fds, sizeof(stage->ends));
    stage->opened.n = 0;
    stage_did(stage, fd_socket_send_one(stage->ends[0], bytes, sizeof(bytes), -1) == 0);
}

static void stage_receive(struct stage *stage)
{
    union find_buffer answer;

    if (!stage->replied && is_readable(stage->socket)) {
        ssize_t n = fd_socket_receive(stage->socket, &stage->reply, sizeof(stage->reply), &stage->opened, NULL);
        errno = EPIPE;
        stage->replied = stage_did(stage, n > 0);
        if (stage->replied && is_file_of_finder(stage->row->subject) && stage->opened.n == 2)
            ask_finder(stage);
    }
    if (!stage->answered && stage->ends[1] >= 0 && is_readable(stage->ends[1])) {
        errno = EPIPE;
        stage->answered = stage_did(stage, find_request_receive(stage->ends[1], &answer, &stage->found) == 0);
    }
}

static bool is_over(const struct stage *stage)
{
    if (is_file_of_finder(stage->row->subject))
        return stage->answered || (stage->replied && stage->ends[1] < 0);
    return stage->replied && (stage->row->subject != STATE || stage->children == 0);
}

/* Makes a request, and waits until it is over. The accomplice acts at stop `act_at`. */
static void stage_ask(struct stage *stage, const struct buffer *packet, const struct fd_list *fds, unsigned act_at)
{
    stage->stops = 0;
    stage->act_at = act_at;
    stage->acted = stage->replied = stage->answered = false;
    stage->child_status = -1;
    stage->reply = (struct opener_reply){0};
    fd_list_close(&stage->opened);
    if (stage->error == 0)
        stage->error = packet->failed ? -ENOMEM : fd_socket_send(stage->socket, packet->data, packet->size, fds);
    while (stage->error == 0 && !is_over(stage)) {
        stage_step(stage);
        stage_receive(stage);
    }
}

/* Closes what the request returned, and waits for the opener's children: finders exit once their sockets are closed. */
static void stage_close(struct stage *stage)
{
    for (size_t i = 0; i < ARRAY_SIZE(stage->ends); i++)
        closep(&stage->ends[i]);
    closep(&stage->found);
    stage->ends[0] = stage->ends[1] = stage->found = -1;
    fd_list_close(&stage->opened);
    stage->act_at = 0;
    while (stage->error == 0 && stage->children > 0)
        stage_step(stage);
}

/* --- requests --- */

static void write_group(struct stage *stage, const struct perf_event_attr *attr, const char *text,
                        struct buffer *packet)
{
    const struct opener_rules rules = {.daemon = stage->script->daemon};
    const struct sys_group group = {.attrs = attr,
                                    .texts = &text,
                                    .n = 1,
                                    .pid = -1,
                                    .cpu = stage->cpu,
                                    .leader = stage->leader,
                                    .flags = stage->row->subject == CGROUP ? PERF_FLAG_PID_CGROUP : 0};
    size_t n;

    opener_request_write(&rules, &group, 0, packet, &n);
}

static void write_event(struct stage *stage, struct buffer *packet)
{
    const struct perf_event_attr probe = {
        .size = sizeof(probe), .type = stage->script->uprobe_type, .config2 = stage->script->offset};
    const struct perf_event_attr faults = {
        .size = sizeof(faults), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS};

    if (stage->row->subject == PROGRAM)
        write_group(stage, &probe, stage->place.path, packet);
    else
        write_group(stage, &faults, NULL, packet);
}

static void write_request(struct stage *stage, struct buffer *packet)
{
    struct opener_bpf_packet bpf = {.call = OPENER_BPF_ASSIGN, .number = BPF_SLOT_FIRST};
    char path[PATH_MAX];

    switch (stage->row->subject) {
    case PROGRAM:
    case CGROUP:
    case LEADER:
        write_event(stage, packet);
        break;
    case CONFIGURED_FILE:
        opener_request_write_file(stage->place.path, packet);
        break;
    case OF_BPF:
        opener_bpf_write(&bpf, packet);
        break;
    case STATE: {
        join(path, "%s/stepped", stage->impostor->known.scratch);
        const struct state_request request = state_request_of_home(path, stage->place.owner);
        opener_request_write_state(&request, packet);
        break;
    }
    case MAPPED:
    case JIT_MAP:
    case JIT_MAP_OF_ROOT:
        opener_request_write_finder(packet);
        break;
    }
}

/* Gives the state file to a new user for each request: the opener limits how long it waits for one user's files. */
static void change_owner(struct stage *stage)
{
    char path[PATH_MAX];

    stage->place.owner = stage->next_owner++;
    join(path, "%s", stage->place.path);
    for (size_t root = strlen(stage->impostor->known.scratch); strlen(path) > root; *strrchr(path, '/') = '\0')
        stage_did(stage, lchown(path, stage->place.owner, stage->place.owner) == 0);
}

static void open_leader(struct stage *stage)
{
    _cleanup_(buffer_done) struct buffer packet = {0};

    write_event(stage, &packet);
    stage_ask(stage, &packet, &(struct fd_list){0}, 0);
    errno = stage->reply.error ? -stage->reply.error : stage->reply.n ? -stage->reply.results[0] : 0;
    if (stage_did(stage, stage->opened.n == 1)) {
        stage->leader = stage->opened.fds[0];
        stage->opened.n = 0;
    }
}

/* Creates the process, cgroup or leader that a request names. */
static void begin(struct stage *stage)
{
    char path[PATH_MAX];

    if (stage->row->subject == STATE)
        change_owner(stage);
    if (is_file_of_finder(stage->row->subject))
        target_start(stage);
    if (stage->row->subject == JIT_MAP) {
        int pid = (int)stage->target.pid;
        place_find(stage, join(path, "/proc/%d/root/tmp/perf-%d.map", pid, pid));
    }
    if (stage->row->deed == RENEW) {
        cgroup_make(stage);
        stage->directory = open(stage->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        stage_did(stage, stage->directory >= 0);
    }
    if (stage->row->subject == LEADER)
        open_leader(stage);
}

static void withdraw(struct stage *stage, uint64_t id)
{
    const struct opener_bpf_packet bpf = {.call = OPENER_BPF_WITHDRAW, .id = id};
    _cleanup_(buffer_done) struct buffer packet = {0};

    opener_bpf_write(&bpf, &packet);
    stage_ask(stage, &packet, &(struct fd_list){0}, 0);
}

/*
 * Undoes what the accomplice did, and removes what begin() created. The target is killed first: if it was started
 * during the request, it has inherited the sockets of the finder, which exits only when all copies are closed.
 */
static void end(struct stage *stage, bool acted)
{
    if (acted && stage->row->deed <= DIRECTORY)
        place_restore(stage);
    if (stage->row->subject == JIT_MAP)
        place_forget(&stage->place);
    target_kill(stage);
    stage->target.pid = 0;
    stage_close(stage);
    if (stage->row->deed == RENEW) {
        closep(&stage->directory);
        stage->directory = -1;
        cgroup_remove(stage);
    }
    closep(&stage->leader);
    stage->leader = -1;
}

/* --- judging the result of a request --- */

static int judge_file(int fd, int own)
{
    return is_same_file(fd, own) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? AS_WITHOUT : GAVE_AWAY;
}

/* The uprobe must count executions of the program, but not of root's copy. */
static int judge_probe(struct stage *stage, int fd)
{
    run_on_cpu(stage, NULL, stage->place.secret_fd);
    if (event_read(stage, fd) > 0)
        return GAVE_AWAY;
    run_on_cpu(stage, NULL, stage->place.own_fd);
    return event_read(stage, fd) > 0 ? AS_WITHOUT : NOTHING;
}

/* After RENEW, the event must be the removed cgroup's, which counts nothing, and not the new one's. */
static int judge_cgroup(struct stage *stage, int fd)
{
    stage_did(stage, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0); /* a cgroup's leader is opened disabled: sys.h */
    run_on_cpu(stage, stage->cgroup, -1);
    uint64_t count = event_read(stage, fd);
    if (stage->acted)
        return count > 0 ? GAVE_AWAY : AS_WITHOUT;
    return count > 0 ? AS_WITHOUT : NOTHING;
}

static int judge_slot(struct stage *stage)
{
    struct stat status;
    uint64_t id = stage->reply.id;

    stage_did(stage, fstat(stage->directory, &status) == 0);
    withdraw(stage, id);
    return id == status.st_ino ? AS_WITHOUT : GAVE_AWAY; /* a cgroup's id is its inode number */
}

/* If the opener's child has exited with 0, it has sent the file to the reader, which answers. */
static int judge_state(struct stage *stage)
{
    _cleanup_(buffer_done) struct buffer bytes = {0};

    if (stage->reply.error < 0 || stage->child_status != 0)
        return NOTHING;
    int r = state_answer_receive(stage->impostor, &bytes);
    errno = -r;
    if (!stage_did(stage, r != -ETIMEDOUT && r != -EPIPE) || !bytes.data)
        return NOTHING;
    if (memmem(bytes.data, bytes.size, EVIL, strlen(EVIL)))
        return GAVE_AWAY;
    return memmem(bytes.data, bytes.size, "the-name", strlen("the-name")) ? AS_WITHOUT : NOTHING;
}

static int judge_opened(struct stage *stage, int fd)
{
    switch (stage->row->subject) {
    case PROGRAM:
        return judge_probe(stage, fd);
    case CONFIGURED_FILE:
        return judge_file(fd, stage->place.own_fd);
    case CGROUP:
        return judge_cgroup(stage, fd);
    case LEADER:
        event_read(stage, fd);
        return AS_WITHOUT;
    default:
        return GAVE_AWAY; /* a descriptor that was not requested */
    }
}

static int judge(struct stage *stage)
{
    char path[PATH_MAX];

    if (stage->opened.n > 1)
        return GAVE_AWAY;
    if (stage->opened.n == 1)
        return judge_opened(stage, stage->opened.fds[0]);
    if (stage->row->subject == OF_BPF)
        return stage->reply.error < 0 ? NOTHING : judge_slot(stage);
    if (stage->row->subject == STATE)
        return judge_state(stage);
    if (stage->found < 0)
        return NOTHING;
    if (stage->row->subject == MAPPED) {
        _cleanup_(closep) int own = open(join(path, "%s/mapped", stage->impostor->known.scratch), O_PATH | O_CLOEXEC);
        return judge_file(stage->found, own);
    }
    return stage->row->subject == JIT_MAP ? judge_file(stage->found, stage->place.own_fd) : GAVE_AWAY;
}

/* --- a row --- */

static void stage_ask_all(struct stage *stage, unsigned act_at)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    struct fd_list fds = {0};

    if (stage->directory >= 0)
        fds.fds[fds.n++] = stage->directory;
    if (stage->leader >= 0)
        fds.fds[fds.n++] = stage->leader;
    write_request(stage, &packet);
    stage_ask(stage, &packet, &fds, act_at);
}

/* Sets *ret_acted to whether the accomplice acted before the request was over. Returns the judgement, or -errno. */
static int stage_try_at(struct stage *stage, unsigned act_at, bool *ret_acted)
{
    int got = NOTHING;

    stage_set_alarm();
    stage->acted = false;
    begin(stage);
    if (stage->error == 0)
        stage_ask_all(stage, act_at);
    *ret_acted = stage->acted;
    if (stage->error == 0)
        got = judge(stage);
    end(stage, *ret_acted);
    return got >= 0 && stage->error < 0 ? stage->error : got;
}

/*
 * Returns whether the opener gave up waiting for its child. This may happen on a busy machine, since the child stops at
 * each system call. The opener has a budget of five seconds for waiting for the children of one program; the budget
 * refills at one twentieth of the elapsed time (process/stragglers.c).
 */
static bool has_timed_out(const struct stage *stage)
{
    return stage->reply.n > 0 && stage->reply.results[0] == -EHOSTDOWN;
}

/* Repeats a row's request until it is over before the accomplice acts; that last one must have the expected result. */
static void stage_run(struct stage *stage, struct password_result *result)
{
    int wanted = stage->row->subject == JIT_MAP_OF_ROOT ? NOTHING : AS_WITHOUT, got;
    unsigned at = 1 - stage->script->stride;
    bool acted;

    do {
        got = stage_try_at(stage, at += stage->script->stride, &acted);
        for (unsigned tries = 0; tries < TRIES_MAX && got >= 0 && has_timed_out(stage); tries++) {
            sleep(TRY_AFTER_S);
            got = stage_try_at(stage, at, &acted);
        }
    } while (got >= 0 && acted);
    result->got = got < 0 ? got : got != wanted || at < STOPS_MIN ? -ENODATA : 0;
    result->stops = at;
    if (got >= 0 && got != wanted)
        snprintf(result->reason, sizeof(result->reason), "without the accomplice: %d, %d", stage->reply.error,
                 stage->reply.n ? stage->reply.results[0] : 0);
}

static int first_cpu(void)
{
    cpu_set_t cpus;
    int cpu = 0;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
        while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET((unsigned)cpu, &cpus))
            cpu++;
    return cpu;
}

static void stage_prepare(struct stage *stage)
{
    const char *scratch = stage->impostor->known.scratch;
    char path[PATH_MAX];

    if (stage->row->subject == PROGRAM || stage->row->subject == CONFIGURED_FILE)
        place_find(stage, stage->script->path);
    if (stage->row->subject == STATE)
        place_find(stage, join(path, "%s/stepped/" OVERLAY "/containers.json", scratch));
    if (stage->row->subject == MAPPED)
        stage_did(stage, write_file(join(path, "%s/mapped", scratch), "mapped", 6, 0755) &&
                             write_file(join(path, "%s/other", scratch), "other", 5, 0755));
    if (stage->row->deed == RENEW)
        stage_did(stage, cgroup_name(stage) == 0);
    if (stage->row->naive)
        naive_opener_start(stage);
}

static void serve_script(struct impostor *impostor, const struct script *script, int opener,
                         struct password_result *result)
{
    static uid_t next_owner = OWNER;
    struct stage stage = {.impostor = impostor,
                          .script = script,
                          .row = &rows[script->row],
                          .socket = opener,
                          .opener = script->opener,
                          .cpu = first_cpu(),
                          .place = {.own_fd = -1, .secret_fd = -1},
                          .directory = -1,
                          .leader = -1,
                          .next_owner = next_owner,
                          .ends = {-1, -1},
                          .found = -1};

    stage_set_alarm();
    stage.target.address = mmap(NULL, (size_t)getpagesize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stage_prepare(&stage);
    if (stage.error == 0)
        stage_attach(&stage);
    if (stage.error == 0) {
        stage_run(&stage, result);
        stage_detach(&stage);
    } else {
        result->got = stage.error;
    }
    if (stage.row->naive && stage.opener > 0) {
        close(stage.socket);
        kill(stage.opener, SIGKILL);
        waitpid(stage.opener, NULL, 0);
    }
    place_forget(&stage.place);
    munmap(stage.target.address, (size_t)getpagesize());
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    next_owner = stage.next_owner;
}

static void be_stepper(int socket, void *userdata)
{
    const struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART, so that calls fail with EINTR */
    struct impostor *impostor = userdata;
    struct script script;

    sigaction(SIGALRM, &action, NULL);
    for (;;) {
        _cleanup_(fd_list_close) struct fd_list fds = {0};
        struct password_result result = {0};
        if (fd_socket_receive(socket, &script, sizeof(script), &fds, NULL) != sizeof(script) || fds.n == 0)
            return;
        impostor->state_files.records = fds.n > 1 ? fds.fds[1] : -1;
        serve_script(impostor, &script, fds.fds[0], &result);
        if (fd_socket_send(socket, &result, sizeof(result), &(struct fd_list){0}) < 0)
            return;
    }
}

int stepper_start(struct impostor *impostor)
{
    return server_start(be_stepper, impostor);
}

/* --- the impostor's side --- */

/* Returns 0 with *script filled, or the result of impostor_skip(). */
static long script_write(struct impostor *impostor, const struct row *row, struct script *script)
{
    bool samples = impostor->client->rules.permissions.sampling;
    const char *path = impostor->config->file;
    struct stat status;

    *script = (struct script){
        .row = (uint32_t)(row - rows),
        .stride = str_equal(getenv("IMPOSTOR_STEPS"), "2") ? 2 : 1,
        .opener = impostor->opener,
        .daemon = getpid(),
    };
    if (is_file_of_finder(row->subject) && !samples)
        return impostor_skip(impostor, "the opener was not started for samples");
    if (row->subject == STATE && impostor->state_files.records < 0)
        return impostor_skip(impostor, "no reader is running");
    if (row->subject != PROGRAM && row->subject != CONFIGURED_FILE)
        return 0;
    if (row->subject == PROGRAM) {
        path = configured_uprobe(impostor, &script->offset);
        script->uprobe_type = (uint32_t)impostor->known.uprobe_type;
    }
    if (!path || stat(path, &status) < 0 || status.st_uid == 0)
        return impostor_skip(impostor, "it is not configured, or it belongs to root");
    join(script->path, "%s", path);
    return 0;
}

static long run_script(struct impostor *impostor, const struct script *script, struct password_result *result)
{
    struct fd_list fds = {.n = 1, .fds = {impostor->client->socket}}, none = {0};

    if (impostor->state_files.records >= 0)
        fds.fds[fds.n++] = impostor->state_files.records;
    int r = fd_socket_send(impostor->stepper, script, sizeof(*script), &fds);
    if (r < 0)
        return r;
    ssize_t n = fd_socket_receive(impostor->stepper, result, sizeof(*result), &none, NULL);
    return n == sizeof(*result) ? result->got : -EPIPE;
}

static long sim_with_bpf(struct impostor *impostor, const struct script *script, struct password_result *result)
{
    struct bpf_maps maps;
    long got = bpf_start_smallest(impostor, &maps);

    if (got < 0)
        return ATTEMPT_SKIPPED;
    got = run_script(impostor, script, result);
    close(maps.counts);
    close(maps.records);
    impostor->bpf.stop(impostor->bpf.owner);
    return got;
}

void stepped_run(struct impostor *impostor)
{
    static const struct must works = MUST_WORK, caught = MUST(EPERM);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct password_result result = {0};
        struct script script;
        char name[400];
        long got = script_write(impostor, &rows[i], &script);
        if (got == 0)
            got = rows[i].subject == OF_BPF ? sim_with_bpf(impostor, &script, &result)
                                            : run_script(impostor, &script, &result);
        snprintf(name, sizeof(name), "stepped: %s: %u stops%s%s", rows[i].name, result.stops,
                 *result.reason ? ", " : "", result.reason);
        impostor_judge(impostor, name, got, rows[i].naive ? &caught : &works);
    }
}
