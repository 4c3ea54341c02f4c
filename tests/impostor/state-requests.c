/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for state files of container runtimes: other files and other users', and links; and the answer of the reader
 * for a file that may be read, which is names and none of the secrets beside them.
 */
#include "tests/impostor/state-requests.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "collectors/names/record.h"
#include "tests/impostor/ask.h"

#define OWNER 54321
#define OTHER 54322
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BELOW ".local/share/containers/storage/overlay-containers"
#define DOCKER "/var/lib/docker/containers/%/config.v2.json"
#define STORED "/var/lib/containers/storage/overlay-containers/containers.json"
#define THEIRS "~/" BELOW "/containers.json"
#define SECRET "the-secret"
#define ANSWER_MS 5000

/* Homes, made by root before the split: what stands in the place of the file. */

static const char stored[] =
    "[{\"id\":\"" ID "\",\"names\":[\"the-name\"],\"image\":\"" SECRET "\",\"metadata\":\"{\\\"image-name\\\":"
    "\\\"the-image\\\",\\\"name\\\":\\\"the-name\\\",\\\"env\\\":\\\"" SECRET
    "\\\"}\",\"flags\":{\"MountLabel\":\"" SECRET "\"},\"env\":[\"PASSWORD=" SECRET "\"]}]";

static void own(const char *path, uid_t owner)
{
    (void)!lchown(path, owner, owner);
}

static void make_file(const char *path, uid_t owner)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    (void)!write(fd, stored, strlen(stored));
    own(path, owner);
}

static void be_good(const char *path)
{
    make_file(path, OWNER);
}

static void be_of_root(const char *path)
{
    make_file(path, 0);
}

static void be_of_other(const char *path)
{
    make_file(path, OTHER);
}

static void be_fifo(const char *path)
{
    (void)!mkfifo(path, 0600);
    own(path, OWNER);
}

static void be_device(const char *path)
{
    (void)!mknod(path, S_IFCHR | 0600, 1 << 8 | 3); /* /dev/null */
    own(path, OWNER);
}

static void be_link_to_shadow(const char *path)
{
    (void)!symlink("/etc/shadow", path);
    own(path, OWNER);
}

static void be_link_to_environ(const char *path)
{
    (void)!symlink("/proc/1/environ", path);
    own(path, OWNER);
}

static void be_link_of_other(const char *path)
{
    (void)!symlink("../../../../../../good/" BELOW "/containers.json", path);
    own(path, OTHER);
}

static void be_in_open_directory(const char *path)
{
    char directory[PATH_MAX];

    make_file(path, OWNER);
    snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(path, '/') - path), path);
    (void)!chmod(directory, 0777);
}

/* In a directory that is closed to all but root. */
static void be_closed(const char *path)
{
    char home[PATH_MAX];

    make_file(path, OWNER);
    snprintf(home, sizeof(home), "%.*s", (int)(strstr(path, "/" BELOW) - path), path);
    own(home, 0);
    (void)!chmod(home, 0700);
}

static const struct home {
    const char *name;
    void (*be)(const char *path);
} homes[] = {
    {"good", be_good},
    {"of-root", be_of_root},
    {"of-other", be_of_other},
    {"fifo", be_fifo},
    {"device", be_device},
    {"link-to-shadow", be_link_to_shadow},
    {"link-to-environ", be_link_to_environ},
    {"link-of-other", be_link_of_other},
    {"in-open-directory", be_in_open_directory},
    {"closed", be_closed},
};

static void make_home(const char *scratch, const struct home *home)
{
    char path[PATH_MAX];

    int n = snprintf(path, sizeof(path), "%s/%s/" BELOW "/containers.json", scratch, home->name);
    if (n < 0 || (size_t)n >= sizeof(path))
        return;
    for (char *slash = path + strlen(scratch) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)!mkdir(path, 0755);
        own(path, OWNER);
        *slash = '/';
    }
    home->be(path);
}

void state_requests_prepare(const struct knowledge *known)
{
    for (size_t i = 0; geteuid() == 0 && *known->scratch && i < ARRAY_SIZE(homes); i++)
        make_home(known->scratch, &homes[i]);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void state_requests_clean(const struct knowledge *known)
{
    char path[PATH_MAX];

    for (size_t i = 0; *known->scratch && i < ARRAY_SIZE(homes); i++) {
        int n = snprintf(path, sizeof(path), "%s/%s", known->scratch, homes[i].name);
        if (n > 0 && (size_t)n < sizeof(path))
            nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

/* Requests */

static struct state_request make_request(const char *place, uid_t user, const char *home, const char *id)
{
    struct state_request request;

    memset(&request, 0, sizeof(request));
    while (state_place(request.place) && !str_equal(state_place(request.place)->path, place))
        request.place++;
    request.user = user;
    request.ticket = 77;
    snprintf(request.home, sizeof(request.home), "%s", home);
    snprintf(request.id, sizeof(request.id), "%s", id);
    return request;
}

/* A descriptor that came along would be worse than any answer. */
static long ask_state(struct impostor *impostor, const struct state_request *request)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    _cleanup_(closep) int fd = -1;
    int r = opener_request_write_state(request, &packet);
    long got = r < 0 ? r : ask_raw(impostor, packet.data, packet.size, &(struct fd_list){0}, &fd);

    return fd >= 0 ? 1 : got;
}

static long try_home(struct impostor *impostor, const struct attempt *attempt)
{
    char home[PATH_MAX];

    if (!*impostor->known.scratch || !impostor->witness)
        return impostor_skip(impostor, "only root makes files of others");
    snprintf(home, sizeof(home), "%s/%s", impostor->known.scratch, attempt->text);
    const struct state_request request = make_request(THEIRS, (uid_t)attempt->number, home, "");
    return ask_state(impostor, &request);
}

static long try_path(struct impostor *impostor, const struct attempt *attempt)
{
    const struct state_request request = make_request(THEIRS, (uid_t)attempt->number, attempt->text, "");

    return ask_state(impostor, &request);
}

static long try_id(struct impostor *impostor, const struct attempt *attempt)
{
    const struct state_request request = make_request(DOCKER, (uid_t)attempt->number, "", attempt->text);

    return ask_state(impostor, &request);
}

static long try_place(struct impostor *impostor, const struct attempt *attempt)
{
    struct state_request request = make_request(STORED, 0, "", "");

    request.place = (uint32_t)attempt->number;
    return ask_state(impostor, &request);
}

/* Neither text ends. */
static long try_without_end(struct impostor *impostor, const struct attempt *attempt)
{
    struct state_request request = make_request(DOCKER, 0, "", "");

    memset(request.id, '/', sizeof(request.id));
    memset(request.home, '/', sizeof(request.home));
    request.user = (uid_t)attempt->number;
    return ask_state(impostor, &request);
}

static long try_with_descriptor(struct impostor *impostor, const struct attempt *attempt)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    const struct state_request request = make_request(STORED, 0, "", "");
    int r = opener_request_write_state(&request, &packet);

    (void)attempt;
    return r < 0 ? r : ask_raw(impostor, packet.data, packet.size, &(struct fd_list){.n = 1, .fds = {1}}, NULL);
}

/* NOTHING: there is no such file, or no reader on this machine; ProtectHome= hides homes. */
#define NOTHING MUST(EBADRQC, ENOENT, ENOSYS, EACCES, ENOTDIR)

/* The answer does not depend on what is in there. */
#define CLOSED MUST(EACCES, ENOSYS)

static const struct attempt requests[] = {
    {"state file: an id that leads elsewhere", try_id, .must = REFUSED, .text = "../../../../../etc/shadow"},
    {"state file: an id with a slash of the right length", try_id, .must = REFUSED,
     .text = "0123456789abcdef/../../../../../../etc/0123456789abcdef012345678"},
    {"state file: an id of capital letters", try_id, .must = REFUSED,
     .text = "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF"},
    {"state file: a part of an id", try_id, .must = REFUSED, .text = "0123456789ab"},
    {"state file: no id", try_id, .must = REFUSED, .text = ""},
    {"state file: root's place for a user", try_id, .must = REFUSED, .text = ID, .number = OWNER},
    {"state file: no place", try_place, .must = REFUSED, .number = 1000},
    {"state file: the place -1", try_place, .must = REFUSED, .number = UINT32_MAX},
    {"state file: texts without an end", try_without_end, .must = REFUSED},
    {"state file: the same of a user", try_without_end, .must = REFUSED, .number = OWNER},
    {"state file: with a descriptor", try_with_descriptor, .must = REFUSED},
    {"state file: root as a user", try_path, .must = REFUSED, .text = "/root", .number = 0},
    {"state file: a home that is no path", try_path, .must = REFUSED, .text = "etc", .number = OWNER},
    {"state file: a home with ..", try_path, .must = REFUSED, .text = "/home/..", .number = OWNER},
    {"state file: a home in /proc", try_path, .must = NOTHING, .text = "/proc/1/root", .number = OWNER},
    {"state file: a home in /proc/self/cwd", try_path, .must = NOTHING, .text = "/proc/self/cwd", .number = OWNER},
    {"state file: the file is of root", try_home, .must = NOTHING, .text = "of-root", .number = OWNER},
    {"state file: the file is of another user", try_home, .must = NOTHING, .text = "of-other", .number = OWNER},
    {"state file: for another user", try_home, .must = NOTHING, .text = "good", .number = OTHER},
    {"state file: a FIFO", try_home, .must = NOTHING, .text = "fifo", .number = OWNER},
    {"state file: a device", try_home, .must = NOTHING, .text = "device", .number = OWNER},
    {"state file: a link to /etc/shadow", try_home, .must = NOTHING, .text = "link-to-shadow", .number = OWNER},
    {"state file: a link to /proc/1/environ", try_home, .must = NOTHING, .text = "link-to-environ", .number = OWNER},
    {"state file: a link of another user", try_home, .must = NOTHING, .text = "link-of-other", .number = OWNER},
    {"state file: in a directory of everybody", try_home, .must = NOTHING, .text = "in-open-directory",
     .number = OWNER},
    {"state file: in a directory of root's alone", try_home, .must = CLOSED, .text = "closed", .number = OWNER},
    {"state file: not in a directory of root's alone", try_home, .must = CLOSED, .text = "closed/nothing",
     .number = OWNER},
};

/* Answers */

static bool has_text(const struct buffer *bytes, const char *text)
{
    return memmem(bytes->data, bytes->size, text, strlen(text)) != NULL;
}

/* Everything that the reader says until it has said all of the ticket. */
static int receive_all(struct impostor *impostor, struct buffer *bytes)
{
    struct pollfd readable = {.fd = impostor->sys.state_records, .events = POLLIN};
    char packet[NAME_RECORD_MAX];

    while (poll(&readable, 1, ANSWER_MS) > 0) {
        ssize_t n = recv(readable.fd, packet, sizeof(packet), MSG_DONTWAIT);
        if (n < (ssize_t)sizeof(struct name_record_header))
            return n < 0 ? -errno : -EPIPE;
        buffer_append(bytes, packet, (size_t)n);
        struct name_record_header header;
        memcpy(&header, packet, sizeof(header));
        if (header.is_last)
            return bytes->failed ? -ENOMEM : header.error;
    }
    return -ETIMEDOUT;
}

/* A file that the opener hands over: its names come, and nothing else of it. */
static long judge_answer(struct impostor *impostor, const struct state_request *request)
{
    _cleanup_(buffer_done) struct buffer bytes = {0};
    long got = ask_state(impostor, request);

    if (got == -ENOSYS || got == -ENOENT || got == -EACCES)
        return impostor_skip(impostor, "there is no reader, or no such file, or it is hidden from the service");
    if (got < 0)
        return got;
    int r = receive_all(impostor, &bytes);
    if (r < 0)
        return r;
    return has_text(&bytes, "the-name") && !has_text(&bytes, SECRET) ? 0 : -EPERM;
}

static long try_answer_of_home(struct impostor *impostor, const struct attempt *attempt)
{
    char home[PATH_MAX];

    if (!*impostor->known.scratch || !impostor->witness)
        return impostor_skip(impostor, "only root makes files of others");
    snprintf(home, sizeof(home), "%s/%s", impostor->known.scratch, attempt->text);
    const struct state_request request = make_request(THEIRS, OWNER, home, "");
    return judge_answer(impostor, &request);
}

static long try_answer_of_docker(struct impostor *impostor, const struct attempt *attempt)
{
    const struct state_request request = make_request(DOCKER, 0, "", attempt->text);

    return judge_answer(impostor, &request);
}

/* The daemon itself has no way to the file. */
static long try_file_itself(struct impostor *impostor, const struct attempt *attempt)
{
    char path[PATH_MAX];

    (void)attempt;
    snprintf(path, sizeof(path), "%s/good/" BELOW "/containers.json", impostor->known.scratch);
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : 0;
}

/*
 * The reader never reads from this socket, which has room for some packets and no more. Few of them have a descriptor:
 * those in flight are limited for all processes of a user, and tests beside this one run as the same.
 */
static long try_writing_to_reader(struct impostor *impostor, const struct attempt *attempt)
{
    const struct state_request request = make_request(STORED, 0, "", "");

    (void)attempt;
    if (impostor->sys.state_records < 0)
        return impostor_skip(impostor, "there is no reader");
    for (int i = 0; i < 1000; i++) {
        int fd = i < 8 ? STDERR_FILENO : -1;
        if (fd_socket_send_one_now(impostor->sys.state_records, &request, sizeof(request), fd) < 0)
            break;
    }
    return 0;
}

static const struct attempt answers[] = {
    {"state file: opening it by itself", try_file_itself, .must = MUST(EACCES, ENOENT)},
    {"state file: packets to the reader", try_writing_to_reader, .must = MUST_WORK},
    {"state file: a user's, names without secrets", try_answer_of_home, .must = MUST_WORK, .text = "good"},
    {"state file: docker's, names without secrets", try_answer_of_docker, .must = MUST_WORK, .text = ID},
};

void state_requests_run(struct impostor *impostor)
{
    impostor_try(impostor, requests, ARRAY_SIZE(requests));
    impostor_try(impostor, answers, ARRAY_SIZE(answers));
}
