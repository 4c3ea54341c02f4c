/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's own process: see reading.h. */
#include "collectors/names/reader/reading.h"

#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/process/fd-socket.h"
#include "base/process/jail.h"
#include "base/process/program.h"
#include "collectors/names/reader/document.h"
#include "collectors/names/record.h"

/* For one file. A file system that does not answer must not keep the names of others. */
#define SECONDS_MAX 2
/* Of the process that reads a file. jansson's tree has several times the size of the text. */
#define DATA_MAX ((rlim_t)64 << 20)

struct reading {
    int files, records;
};

/* The jail */

static const struct jail_limit limits[] = {
    {RLIMIT_DATA, DATA_MAX},
    {RLIMIT_CORE, 0},
    {RLIMIT_NOFILE, 32},
};

/* fork(3), which neither makes a namespace nor shares memory, and wait(2). */
#define NEVER_CLONED                                                                                                   \
    (CLONE_VM | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |           \
     CLONE_NEWNET)
static const struct call_rule calls[] = {
    {SCMP_SYS(clone), 1, {CALL_WITHOUT(0, NEVER_CLONED)}},
    {SCMP_SYS(set_robust_list), 0, {{0}}},
    {SCMP_SYS(wait4), 0, {{0}}},
    {SCMP_SYS(prctl), 1, {CALL_EXACTLY(0, PR_SET_SECCOMP)}}, /* jail_forbid_processes() */
};

int reading_enter_jail(int files, int records)
{
    const int sockets[] = {files, records};

    json_object_seed(0); /* jansson reads /dev/urandom for it */
    return jail_enter(&(struct jail){.sockets = sockets,
                                     .n_sockets = ARRAY_SIZE(sockets),
                                     .limits = limits,
                                     .n_limits = ARRAY_SIZE(limits),
                                     .calls = calls,
                                     .n_calls = ARRAY_SIZE(calls)});
}

/* A file, in a process of its own */

/* The answers to a request. */
struct answer {
    struct name_record record;
    int socket;
};

/* The time that the daemon takes for a record is not the file's. */
static int answer_send(struct answer *answer)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    unsigned seconds = alarm(0);

    int r = name_record_write(&answer->record, &packet);
    if (r == 0)
        r = fd_socket_send_one(answer->socket, packet.data, packet.size, -1);
    alarm(seconds);
    return r;
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

static int read_names(const struct state_request *request, int file, struct answer *answer)
{
    _cleanup_(freep) char *content = NULL;
    struct stat status;
    size_t size;

    if (fstat(file, &status) < 0)
        return -EIO;
    /* As it was before it is read, so that a change meanwhile is noticed later. */
    answer->record.header.version = state_file_version(&status);
    if (!S_ISREG(status.st_mode))
        return -EBADMSG;
    if ((uint64_t)status.st_size > STATE_FILE_MAX)
        return -EFBIG;
    int r = file_read_fd(file, STATE_FILE_MAX, &content, &size);
    if (r < 0)
        return r == -EFBIG || r == -ENOMEM ? r : -EIO;
    return name_document_read(request, content, size, answer_on_found, answer);
}

static int read_file(const struct reading *reading, const struct state_request *request, int file)
{
    struct answer answer = {.socket = reading->records, .record.header.ticket = request->ticket};

    close(reading->files); /* nothing of this file can reach another one */
    if (jail_forbid_processes() < 0)
        return EXIT_FAILURE;
    alarm(SECONDS_MAX);
    int r = read_names(request, file, &answer);
    return answer_send_last(&answer, r) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* All files */

static int send_failure(const struct reading *reading, const struct state_request *request, int file)
{
    struct answer answer = {.socket = reading->records, .record.header.ticket = request->ticket};
    struct stat status;

    if (fstat(file, &status) == 0)
        answer.record.header.version = state_file_version(&status);
    return answer_send_last(&answer, -EIO);
}

static int serve_one(const struct reading *reading)
{
    _cleanup_(closep) int file = -1;
    struct state_request request;
    int status = 0;

    int r = fd_socket_receive_one(reading->files, &request, sizeof(request), &file);
    if (r == -EBADMSG || (r == 0 && (file < 0 || !memchr(request.id, '\0', sizeof(request.id)))))
        return 0; /* not a request */
    if (r < 0)
        return r;
    pid_t pid = fork();
    if (pid == 0)
        _exit(read_file(reading, &request, file));
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : send_failure(reading, &request, file);
}

/* A /proc that hides processes (hidepid=) would not show its /proc/PID/stat to the daemon. */
static int reading_send_hello(int records)
{
    _cleanup_(closep) int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    return fd_socket_send_one(records, &(struct reading_hello){0}, sizeof(struct reading_hello), stat);
}

/* _exit(2) does not run the handlers of exit(3), which are the daemon's. */
_Noreturn void reading_run(int files, int records)
{
    const struct reading reading = {.files = files, .records = records};
    struct reading_hello hello = {0};

    program_set_name("perfcountd-names");
    jail_drop_signals();
    int r = reading_send_hello(records);
    if (r == 0) {
        hello.error = reading_enter_jail(files, records);
        malloc_trim(0);
        r = fd_socket_send_one(records, &hello, sizeof(hello), -1);
    }
    if (hello.error < 0)
        r = hello.error;
    while (r == 0)
        r = serve_one(&reading);
    _exit(r == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE);
}
