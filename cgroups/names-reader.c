/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/names-reader.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cgroups/state-formats.h"
#include "process/fdpass.h"
#include "process/sandbox.h"
#include "process/stragglers.h"

/* --- records --- */

int names_packet_write(const struct names_packet *record, struct buffer *packet)
{
    buffer_append(packet, &record->header, sizeof(record->header));
    for (size_t kind = NAME_CONTAINER; kind <= NAME_RUNTIME; kind++) {
        const char *text = record->names.texts[kind] ? record->names.texts[kind] : "";
        uint16_t size = (uint16_t)MIN(strlen(text), NAME_SIZE_MAX);
        buffer_append(packet, &size, sizeof(size));
        buffer_append(packet, text, size);
    }
    return packet->failed ? -ENOMEM : 0;
}

/* The last record has no id; every other record has a complete id. Only the last record may have an error. */
static bool header_is_sound(const struct names_packet_header *header)
{
    size_t length = strnlen(header->id, sizeof(header->id));
    bool is_last = header->is_last;

    return header->is_last <= 1 && header->is_pause <= 1 && header->error <= 0 && (is_last || !header->error) &&
           length == (is_last ? 0 : STATE_ID_LENGTH) && strspn(header->id, "0123456789abcdef") == length;
}

static int names_parse(const char *at, size_t size, struct names *names)
{
    for (size_t kind = NAME_CONTAINER; kind <= NAME_RUNTIME; kind++) {
        uint16_t length;
        if (size < sizeof(length))
            return -EBADMSG;
        memcpy(&length, at, sizeof(length));
        at += sizeof(length);
        size -= sizeof(length);
        if (length > size || length > NAME_SIZE_MAX)
            return -EBADMSG;
        int r = names_set(names, (enum name_kind)kind, at, length);
        if (r < 0)
            return r;
        at += length;
        size -= length;
    }
    return size ? -EBADMSG : 0;
}

int names_packet_parse(const void *packet, size_t size, struct names_packet *ret)
{
    struct names_packet record = {0};

    if (size < sizeof(record.header))
        return -EBADMSG;
    memcpy(&record.header, packet, sizeof(record.header));
    if (!header_is_sound(&record.header))
        return -EBADMSG;
    int r = names_parse((const char *)packet + sizeof(record.header), size - sizeof(record.header), &record.names);
    if (r < 0) {
        names_packet_done(&record);
        return r;
    }
    record.names.is_pause = record.header.is_pause;
    *ret = record;
    return 0;
}

void names_packet_done(struct names_packet *record)
{
    names_done(&record->names);
}

/* --- the reader --- */

/* CPU time limit for parsing one file. A wall-clock limit would depend on the machine's load. */
#define PARSE_CPU_SECONDS_MAX 2
/*
 * The time limit of the child that reads a file. Normally its parent kills it earlier; the limit matters if the parent
 * has exited.
 */
#define ORPHAN_SECONDS_MAX 30
/*
 * Time limits for a child: for receiving its file, and for parsing it and sending the names (not counting the time
 * during which the daemon accepts no names).
 */
#define START_NS (10 * NSEC_PER_SEC)
#define GIVE_NS (30 * NSEC_PER_SEC)

struct reading {
    int files, records;
    int turns[2]; /* a socket pair: children send a struct turn to [1], and the reader receives it from [0] */
    uint32_t n_children;
    struct stragglers stragglers;
};

/* The progress of a child. In phase AT_FILE, the file's file system can block the child. */
enum phase { STARTING, AT_FILE, HAS_READ, ENDED };

struct turn {
    uint32_t child, phase;
    uint64_t version; /* the version of the file, in phase HAS_READ */
};

struct file_child {
    struct straggler process; /* process.deadline_ns applies once the reader has stopped waiting for the child */
    uint32_t number;
    enum phase phase;
    int status; /* exit status from waitpid(2), valid in phase ENDED */
    uint64_t version;
};

/* --- the child that parses one file --- */

/* The state of answering a request. */
struct answer {
    struct names_packet record;
    int socket;
};

static int answer_send(struct answer *answer)
{
    _cleanup_(buffer_done) struct buffer packet = {0};

    int r = names_packet_write(&answer->record, &packet);
    return r == 0 ? fd_socket_send_one(answer->socket, packet.data, packet.size, -1) : r;
}

static int answer_on_found(void *userdata, const char *id, struct names *names)
{
    struct answer *answer = userdata;

    answer->record.names = *names;
    answer->record.header.is_pause = names->is_pause;
    memcpy(answer->record.header.id, id, STATE_ID_LENGTH);
    int r = answer_send(answer);
    answer->record.names = (struct names){0};
    return r;
}

static int answer_send_last(struct answer *answer, int error)
{
    answer->record.header.error = error;
    answer->record.header.is_last = 1;
    answer->record.header.is_pause = 0;
    memset(answer->record.header.id, 0, sizeof(answer->record.header.id));
    return answer_send(answer);
}

static int read_content(int file, char **ret, size_t *ret_size, uint64_t *ret_version)
{
    struct stat status;

    if (fstat(file, &status) < 0)
        return -EIO;
    /* The version is taken before the file is read, so that a change during the read is noticed later. */
    *ret_version = state_file_version(&status);
    if (!S_ISREG(status.st_mode))
        return -EBADMSG;
    if ((uint64_t)status.st_size > STATE_FILE_MAX)
        return -EFBIG;
    int r = file_read_fd(file, STATE_FILE_MAX, ret, ret_size);
    return r == 0 || r == -EFBIG || r == -ENOMEM ? r : -EIO;
}

static int say_turn(const struct reading *reading, enum phase phase, uint64_t version)
{
    const struct turn turn = {.child = reading->n_children, .phase = phase, .version = version};

    return fd_socket_send_one(reading->turns[1], &turn, sizeof(turn), -1);
}

/* From now on, only CPU time is limited: sending may take as long as the daemon needs to receive. */
static int limit_cpu_time(void)
{
    const struct itimerval limit = {.it_value = {.tv_sec = PARSE_CPU_SECONDS_MAX}};

    alarm(0);
    return setitimer(ITIMER_PROF, &limit, NULL);
}

/*
 * Runs in the child and returns its exit status. Only the child ever holds the file: the request stays in the socket
 * until the child has sent AT_FILE; then the parent drops the request. Before parsing the content, the child closes the
 * file and the sockets over which files arrive.
 */
static int read_file(const struct reading *reading)
{
    _cleanup_(freep) char *content = NULL;
    struct state_request request;
    size_t size = 0;
    uint64_t version = 0;
    int file;

    alarm(ORPHAN_SECONDS_MAX);
    int r = fd_socket_peek_one(reading->files, &request, sizeof(request), &file);
    close(reading->files);
    if (r < 0 || say_turn(reading, AT_FILE, 0) < 0 || sandbox_forbid_processes() < 0)
        return EXIT_FAILURE;
    if (file < 0)
        return EXIT_SUCCESS; /* a packet without a file is not a request */
    r = read_content(file, &content, &size, &version);
    close(file);
    if (say_turn(reading, HAS_READ, version) < 0 || limit_cpu_time() < 0)
        return EXIT_FAILURE;
    fd_close_all_but(&reading->records, 1);
    struct answer answer = {.socket = reading->records,
                            .record.header = {.ticket = request.ticket, .version = version}};
    if (r == 0)
        r = state_document_read(&request, content, size, answer_on_found, &answer);
    return answer_send_last(&answer, r) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --- main process --- */

static int send_failure(const struct reading *reading, uint64_t ticket, uint64_t version, int error)
{
    struct answer answer = {.socket = reading->records, .record.header = {.ticket = ticket, .version = version}};

    return answer_send_last(&answer, error);
}

/* Receives the child's messages. Ignores messages of children for which it no longer waits. */
static void file_child_listen(const struct reading *reading, struct file_child *child)
{
    struct pollfd said = {.fd = reading->turns[0], .events = POLLIN};
    struct turn turn;
    int fd;

    while (poll(&said, 1, 0) == 1 && fd_socket_receive_one(said.fd, &turn, sizeof(turn), &fd) == 0) {
        closep(&fd);
        if (turn.child != child->number || turn.phase <= child->phase || turn.phase > HAS_READ)
            continue;
        child->phase = (enum phase)turn.phase;
        child->version = turn.version;
    }
}

/*
 * Waits until the child has reached the phase, or until the time until_ns. Returns whether the child has reached the
 * phase; a child that has exited has reached every phase.
 */
static bool file_child_await(const struct reading *reading, struct file_child *child, enum phase phase,
                             uint64_t until_ns)
{
    while (child->phase < phase) {
        bool ended = straggler_reap(child->process.pid, &child->status);
        file_child_listen(reading, child);
        if (ended)
            child->phase = ENDED;
        else if (child->phase < phase && stragglers_now() >= until_ns)
            return false;
        else if (child->phase < phase)
            straggler_wait(child->process.pidfd, reading->turns[0], until_ns);
    }
    return true;
}

static int file_child_start(struct reading *reading, const struct state_request *request, struct file_child *ret)
{
    struct file_child child = {.process = {.user = request->user, .ticket = request->ticket},
                               .number = ++reading->n_children};

    child.process.pid = fork();
    if (child.process.pid < 0)
        return -errno;
    if (child.process.pid == 0)
        _exit(read_file(reading));
    child.process.pidfd = straggler_open(child.process.pid);
    *ret = child;
    return 0;
}

/*
 * Waits until the child, which has read its file, has exited. Gives up after GIVE_NS, but not while `records` is full:
 * then the child waits for the daemon. Returns whether the child has exited.
 */
static bool file_child_await_end(struct reading *reading, struct file_child *child)
{
    struct pollfd records = {.fd = reading->records, .events = POLLOUT};

    while (!file_child_await(reading, child, ENDED, stragglers_now() + GIVE_NS))
        if (poll(&records, 1, 0) > 0) {
            stragglers_count_wait(&reading->stragglers, child->process.user, stragglers_now(), GIVE_NS);
            return false;
        }
    return true;
}

/* Waits for the child, within the time limit of each phase. Returns whether the child has exited. */
static bool file_child_run(struct reading *reading, struct file_child *child, uint64_t patience)
{
    bool started = file_child_await(reading, child, AT_FILE, stragglers_now() + START_NS);
    uint64_t begin = stragglers_now();

    fd_socket_drop(reading->files);
    child->process.deadline_ns = started ? begin + STRAGGLER_DEADLINE_NS : 0;
    bool has_read = started && file_child_await(reading, child, HAS_READ, begin + patience);
    uint64_t end = stragglers_now();
    stragglers_count_wait(&reading->stragglers, child->process.user, end, end - begin);
    if (has_read)
        child->process.deadline_ns = 0;
    return has_read && file_child_await_end(reading, child);
}

static int serve_request(struct reading *reading, const struct state_request *request)
{
    uint64_t patience = stragglers_patience(&reading->stragglers, request->user, stragglers_now());
    struct file_child child;

    if (patience == 0 || file_child_start(reading, request, &child) < 0) {
        fd_socket_drop(reading->files);
        return send_failure(reading, request->ticket, 0, patience ? -EIO : -EHOSTDOWN);
    }
    if (!file_child_run(reading, &child, patience)) {
        stragglers_add(&reading->stragglers, &child.process);
        return 0;
    }
    closep(&child.process.pidfd);
    return WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0
               ? 0
               : send_failure(reading, request->ticket, child.version, -EIO);
}

static int serve_one(struct reading *reading)
{
    struct state_request request;
    int r = fd_socket_peek_one(reading->files, &request, sizeof(request), NULL);

    if (r == -EBADMSG || (r == 0 && !memchr(request.id, '\0', sizeof(request.id))))
        return fd_socket_drop(reading->files); /* the packet is not a request */
    return r < 0 ? r : serve_request(reading, &request);
}

static void on_straggler_over(void *userdata, const struct straggler *straggler, int status)
{
    const struct reading *reading = userdata;
    bool failed = status < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;

    if (failed)
        send_failure(reading, straggler->ticket, 0, status < 0 ? -EHOSTDOWN : -EIO);
}

/* Waits until a request arrives or a straggler must be killed or reaped. Returns whether to receive a request. */
static bool wait_for_request(struct reading *reading)
{
    const struct stragglers *stragglers = &reading->stragglers;
    struct pollfd fds[1 + ARRAY_SIZE(stragglers->items)] = {{.fd = reading->files, .events = POLLIN}};
    uint64_t now = stragglers_now(), due;

    stragglers_tend(&reading->stragglers, now, on_straggler_over, reading);
    due = stragglers_due(stragglers);
    for (size_t i = 0; i < stragglers->n; i++)
        fds[1 + i] = (struct pollfd){.fd = stragglers->items[i].pidfd, .events = POLLIN};
    int ms = due == UINT64_MAX ? -1 : (int)((due - MIN(due, now)) / NSEC_PER_MSEC + 1);
    int n = poll(fds, 1 + stragglers->n, ms);
    return n < 0 ? errno != EINTR : fds[0].revents != 0; /* if poll(2) failed, receiving blocks instead */
}

static int reading_begin(void *userdata, int records, struct child_hello *ret, struct error *error)
{
    struct reading *reading = userdata;

    (void)ret;
    reading->records = records;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reading->turns) < 0)
        return error_set(error, -errno, "cannot create a socket pair: %s", strerror(errno));
    json_object_seed(0); /* jansson reads /dev/urandom for its seed, which the sandbox forbids */
    const int sockets[] = {reading->files, records, reading->turns[0], reading->turns[1]};
    int r = sandbox_enter(&(struct sandbox){.kind = SANDBOX_READER, .fds = sockets, .n_fds = ARRAY_SIZE(sockets)}, NULL,
                          NULL);
    malloc_trim(0);
    return r < 0 ? error_set(error, r, "the reader of container names cannot give up its privileges: %s", strerror(-r))
                 : 0;
}

static int reading_serve(void *userdata, int records)
{
    int r = 0;

    (void)records;
    while (r == 0)
        r = wait_for_request(userdata) ? serve_one(userdata) : 0;
    return r == -EPIPE ? 0 : r;
}

/* --- start and end --- */

/* The time limit for the start of the child. Nothing else has to wait for it at that time. */
#define PATIENCE_S 10

/*
 * Files that show that a runtime is installed. The runtime's state files below /run and in home directories may be
 * created later, because the runtime has not run since boot or runs as a user.
 */
static const char *const signs[] = {
    "/var/lib/containerd", "/var/lib/containers", "/var/lib/rancher/k3s", "/usr/bin/podman", "/usr/local/bin/podman",
};

static bool path_exists(struct sys *sys, const char *path)
{
    int fd = sys_open_file(sys, path, O_PATH);

    if (fd >= 0)
        sys_close(sys, fd);
    return fd >= 0;
}

/*
 * Whether the place exists: the directory whose entries are container ids, or the file. Places in home directories are
 * skipped, because users may create them later.
 */
static bool place_exists(struct sys *sys, const struct state_place *place)
{
    char path[STATE_PATH_MAX];
    size_t size = strcspn(place->path, "%");

    if (place->path[0] != '/')
        return false;
    snprintf(path, sizeof(path), "%.*s", (int)size, place->path);
    char *slash = strrchr(path, '/');
    if (slash && slash > path)
        *slash = '\0';
    return path_exists(sys, path);
}

static bool machine_has_runtime(struct sys *sys)
{
    const struct state_place *place;

    for (size_t i = 0; (place = state_place(i)); i++)
        if (place_exists(sys, place))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
        if (path_exists(sys, signs[i]))
            return true;
    return false;
}

static int reader_fork(struct name_reader *reader, struct error *error)
{
    struct child_hello hello;
    int files[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) < 0)
        return error_set(error, -errno, "cannot create a socket pair: %s", strerror(errno));
    _cleanup_(closep) int ours = files[0], theirs = files[1];
    struct reading reading = {.files = theirs};
    const struct child_plan plan = {
        .name = "perfcountd-names",
        .failure = "the reader of container names did not start",
        .remedy = "",
        .patience_s = PATIENCE_S,
        .kept = {.n = 1, .fds = {theirs}},
        .userdata = &reading,
        .begin = reading_begin,
        .serve = reading_serve,
    };
    int r = child_start(&plan, &reader->child, &reader->records, &hello, error);
    if (r < 0)
        return r;
    reader->files = steal_fd(&ours);
    if (fcntl(reader->records, F_SETFL, O_NONBLOCK) < 0) /* affects only this end of the socket pair */
        return error_set(error, -errno, "cannot make a socket non-blocking: %s", strerror(errno));
    return 0;
}

int name_reader_start(struct sys *sys, struct name_reader *ret, struct error *error)
{
    struct name_reader reader = NAME_READER_NONE;

    if (!machine_has_runtime(sys))
        return -ENOENT;
    int r = reader_fork(&reader, error);
    if (r < 0)
        name_reader_end(&reader);
    else
        *ret = reader;
    return r;
}

void name_reader_end(struct name_reader *reader)
{
    int status;

    closep(&reader->files);
    closep(&reader->records);
    reader->files = reader->records = -1;
    child_end(&reader->child, &status);
}
