/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the state files of container runtimes: file locations, requests and answers. */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroups/containers.h"
#include "cgroups/name-source.h"
#include "cgroups/names-reader.h"
#include "cgroups/path.h"
#include "cgroups/state-files.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct state_place *find_place(const char *path, uint32_t *ret)
{
    for (uint32_t i = 0; state_place(i); i++)
        if (str_equal(state_place(i)->path, path)) {
            *ret = i;
            return state_place(i);
        }
    fail_msg("no such location: %s", path);
    return NULL;
}

#define DOCKER "/var/lib/docker/containers/%/config.v2.json"
#define STORED "/var/lib/containers/storage/overlay-containers/containers.json"
#define THEIRS "~/.local/share/containers/storage/overlay-containers/containers.json"
#define THEIR_DOCKER "~/.local/share/docker/containers/%/config.v2.json"
#define THEIR_RUN "&/containers/overlay-containers/volatile-containers.json"
#define BUNDLE "/run/containerd/io.containerd.runtime.v2.task/k8s.io/%/config.json"

/* `out` is NULL if the request is refused. */
static const struct {
    const char *place, *id, *home;
    uint32_t user;
    const char *out;
} path_cases[] = {
    {DOCKER, ID, "", 0, "/var/lib/docker/containers/" ID "/config.v2.json"},
    {BUNDLE, ID, "", 0, "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"},
    {STORED, "", "", 0, STORED},
    {THEIRS, "", "/home/ann", 1000, "/home/ann/.local/share/containers/storage/overlay-containers/containers.json"},
    {THEIR_DOCKER, ID, "/home/ann", 1000, "/home/ann/.local/share/docker/containers/" ID "/config.v2.json"},
    {THEIR_RUN, "", "/home/ann", 1000, "/run/user/1000/containers/overlay-containers/volatile-containers.json"},
    {THEIR_RUN, "", "", 4294967294, "/run/user/4294967294/containers/overlay-containers/volatile-containers.json"},
    /* invalid ids */
    {DOCKER, "", "", 0, NULL},
    {DOCKER, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde", "", 0, NULL},
    {DOCKER, "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "", 0, NULL},
    {DOCKER, "../../../../../../etc/shadow/../0123456789abcdef0123456789abcdef", "", 0, NULL},
    {DOCKER, "..", "", 0, NULL},
    {DOCKER, "0123456789abcdef0123456789abcdef/123456789abcdef0123456789abcdef", "", 0, NULL},
    {STORED, ID, "", 0, NULL},
    {THEIRS, ID, "/home/ann", 1000, NULL},
    /* invalid users and home directories */
    {DOCKER, ID, "", 1000, NULL},
    {DOCKER, ID, "/home/ann", 0, NULL},
    {THEIRS, "", "/root", 0, NULL},
    {THEIR_RUN, "", "", 0, NULL},
    {THEIRS, "", "", 1000, NULL},
    {THEIRS, "", "home/ann", 1000, NULL},
    {THEIRS, "", "/home/ann/..", 1000, NULL},
    {THEIRS, "", "/home/../root", 1000, NULL},
    {THEIRS, "", "/home/./ann", 1000, NULL},
    {THEIRS, "", "/home/ann/.", 1000, NULL},
};

TEST(request_names_a_path)
{
    for (size_t i = 0; i < ARRAY_SIZE(path_cases); i++) {
        struct state_request request = {.user = path_cases[i].user};
        char path[STATE_PATH_MAX] = "untouched";
        find_place(path_cases[i].place, &request.place);
        strcpy(request.id, path_cases[i].id);
        strcpy(request.home, path_cases[i].home);
        assert_int_equal(state_request_path(&request, path, sizeof(path)), path_cases[i].out ? 0 : -EINVAL);
        assert_string_equal(path, path_cases[i].out ? path_cases[i].out : "untouched");
    }
}

TEST(bytes_without_an_end_are_no_request)
{
    struct state_request request = {.user = 1000};
    char path[STATE_PATH_MAX];

    find_place(THEIRS, &request.place);
    memset(request.home, '/', sizeof(request.home));
    assert_int_equal(state_request_path(&request, path, sizeof(path)), -EINVAL);
    request.home[sizeof(request.home) - 1] = '\0';
    assert_int_equal(state_request_path(&request, path, sizeof(path)), 0);
    assert_int_equal(state_request_path(&request, path, 40), -EINVAL);
    memset(request.id, 'a', sizeof(request.id));
    assert_int_equal(state_request_path(&request, path, sizeof(path)), -EINVAL);
    request = (struct state_request){.place = UINT32_MAX};
    assert_int_equal(state_request_path(&request, path, sizeof(path)), -EINVAL);
}

TEST(version_changes_with_the_file)
{
    const struct stat before = {.st_ino = 7, .st_size = 100, .st_mtim = {5, 6}, .st_ctim = {5, 6}};
    struct stat after[5] = {before, before, before, before, before};

    after[0].st_ino++;
    after[1].st_size++;
    after[2].st_mtim.tv_nsec++;
    after[3].st_ctim.tv_sec++;
    after[4].st_dev++;
    assert_int_equal(state_file_version(&before), state_file_version(&before));
    for (size_t i = 0; i < ARRAY_SIZE(after); i++)
        assert_true(state_file_version(&after[i]) != state_file_version(&before));
    assert_true(state_file_version(&(struct stat){0}) != 0);
}

/* The requests that the opener has received. */
static struct state_request asked[LOOKUPS_MAX + 1];

static size_t n_asked;
static int result;
static struct lookups lookups;

static int fake_read_state(void *owner, const struct state_request *request)
{
    asked[n_asked++] = *request;
    return result;
}

static int ask(const char *id, uint64_t now)
{
    static const struct container_user container_user = {.user = 1000, .home = "/home/alice"};

    return lookups_ask(&lookups, &container_user, 3, id, 42, now);
}

static int setup_questions(void **state)
{
    static const struct state_files files = {.read = fake_read_state};

    lookups = (struct lookups){.files = &files};
    n_asked = 0;
    result = 0;
    return 0;
}

/*
 * Tickets are drawn at random from all 64-bit numbers, so that a process that knows its own ticket cannot guess another
 * one.
 */
TEST_WITH(test_tickets, setup_questions, NULL)
{
    while (ask("", 0) == 0)
        continue;
    assert_int_equal(n_asked, LOOKUPS_MAX);
    for (size_t i = 0; i < n_asked; i++)
        for (size_t k = 0; k < i; k++) {
            uint64_t between = asked[i].ticket - asked[k].ticket;
            assert_true(MIN(between, -between) > 1000);
        }
}

TEST_WITH(test_given_up, setup_questions, NULL)
{
    struct lookup lookup;

    assert_int_equal(lookups_due(&lookups), UINT64_MAX);
    assert_int_equal(ask("", 100), 0);
    assert_int_equal(ask(ID, 200), 0);
    uint64_t due = lookups_due(&lookups);
    lookups_expire(&lookups, due - 1);
    assert_int_equal(lookups.n, 2);
    lookups_expire(&lookups, due);
    assert_int_equal(lookups_take(&lookups, asked[0].ticket, false, &lookup), -ENOENT);
    assert_int_equal(lookups_take(&lookups, asked[1].ticket, false, &lookup), 0);
    assert_int_equal(lookups_due(&lookups), due + 100);
}

static const char *id_of(unsigned i)
{
    static char id[STATE_ID_LENGTH + 1];

    snprintf(id, sizeof(id), "%064x", i * 2654435761U);
    return id;
}

/* A location that is listed earlier takes precedence, unless its file does not name the container. */
TEST(test_places)
{
    static const struct {
        uint32_t place;
        const char *name;
        bool out_new, out_named;
        const char *out_name;
    } steps[] = {
        {5, NULL, true, false, NULL},       {6, NULL, false, false, NULL},    {6, "six", true, true, "six"},
        {7, "seven", false, true, "six"},   {3, NULL, false, true, "six"},    {3, "three", true, true, "three"},
        {3, "three", false, true, "three"}, {6, "six", false, true, "three"}, {3, "other", true, true, "other"},
    };
    struct containers containers = {0};
    struct container *container;

    assert_int_equal(containers_add(&containers, 0, id_of(1), "/", &container), 0);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        struct names names = {0};
        if (steps[i].name)
            assert_int_equal(names_set(&names, NAME_CONTAINER, steps[i].name, strlen(steps[i].name)), 0);
        assert_int_equal(container_take(container, steps[i].place, &names), steps[i].out_new);
        assert_int_equal(container_is_named(container), steps[i].out_named);
        if (steps[i].out_name)
            assert_string_equal(container->names.texts[NAME_CONTAINER], steps[i].out_name);
        names_done(&names);
    }
    containers_done(&containers);
}

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define SCOPE_A "/system.slice/docker-" ID_A ".scope"
#define SCOPE_B "/machine.slice/libpod-" ID_B ".scope"
#define DOCKER_A "/var/lib/docker/containers/" ID_A "/config.v2.json"
#define STORAGE "/var/lib/containers/storage/overlay-containers/containers.json"
#define USER_A "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope"
#define USER_STORAGE "/home/ann/.local/share/containers/storage/overlay-containers/containers.json"

/* A state file that the simulated reader can read, and the containers in it. */
struct file {
    const char *path;
    uint64_t version;
    int error;
    struct {
        const char *id, *name;
    } containers[3];
};

static struct sim {
    struct fake_sys *fake;
    struct state_files state_files;
    int sockets[2];
    void *state;
    int fd;
    struct file files[4];
    int refusal;         /* the reader's error for files that do not exist */
    unsigned n_read;     /* number of files read */
    uint64_t foreign;    /* if set, records have this ticket instead of the requested one */
    const char *other;   /* if set, records have this id instead of the container's */
    const char *runtime; /* if set, records have this runtime */
} sim;

static void reader_send(uint64_t ticket, const struct file *file, const char *id, const char *name)
{
    struct names_packet record = {.header = {.ticket = ticket, .version = file->version, .is_last = !id}};
    _cleanup_(buffer_done) struct buffer packet = {0};

    if (id)
        memcpy(record.header.id, id, STATE_ID_LENGTH);
    else
        record.header.error = file->error;
    if (name)
        assert_int_equal(names_set(&record.names, NAME_CONTAINER, name, strlen(name)), 0);
    if (id && sim.runtime)
        assert_int_equal(names_set(&record.names, NAME_RUNTIME, sim.runtime, strlen(sim.runtime)), 0);
    assert_int_equal(names_packet_write(&record, &packet), 0);
    assert_int_equal(send(sim.sockets[1], packet.data, packet.size, 0), packet.size);
    names_packet_done(&record);
}

static int names_state_fake_read_state(void *owner, const struct state_request *request)
{
    char path[STATE_PATH_MAX];

    assert_int_equal(state_request_path(request, path, sizeof(path)), 0);
    for (size_t i = 0; i < ARRAY_SIZE(sim.files); i++) {
        const struct file *file = &sim.files[i];
        if (!file->path || !str_equal(file->path, path))
            continue;
        if (request->version == file->version)
            return -EALREADY;
        sim.n_read++;
        for (size_t k = 0; k < ARRAY_SIZE(file->containers) && !file->error; k++)
            if (file->containers[k].id)
                reader_send(sim.foreign ? sim.foreign : request->ticket, file,
                            sim.other ? sim.other : file->containers[k].id, file->containers[k].name);
        reader_send(request->ticket, file, NULL, NULL);
        return 0;
    }
    return sim.refusal;
}

static int setup(void **state)
{
    sim = (struct sim){.fake = fake_machine_no_pmu(), .refusal = -ENOENT};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sim.sockets), 0);
    sim.state_files = (struct state_files){.read = names_state_fake_read_state, .records = sim.sockets[0]};
    fake_file(sim.fake, "/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n");
    assert_int_equal(name_source_state.open(&sim.fake->sys, &sim.state_files, &sim.state, &sim.fd), 0);
    assert_true(sim.fd >= 0);
    return 0;
}

static int teardown(void **state)
{
    name_source_state.close(sim.state);
    close(sim.sockets[0]);
    if (sim.sockets[1] >= 0)
        close(sim.sockets[1]);
    fake_sys_free(sim.fake);
    return 0;
}

/* Returns the name of the container in a cgroup, or the reason why it has none. */
static const char *name_of(const char *path)
{
    static char text[NAME_SIZE_MAX + 1];
    struct names names = {0};

    assert_int_equal(names_from_path(&names, path), 0);
    assert_int_equal(name_source_state.find(sim.state, path, &names), 0);
    const char *found = names.texts[NAME_CONTAINER];
    assert_true(found || names.unnamed);
    snprintf(text, sizeof(text), "%s", found ? found : names.unnamed);
    names_done(&names);
    return text;
}

/* Advances the clock and dispatches twice, which is enough for an answer to arrive. Returns whether a name changed. */
static bool dispatch_after(uint64_t ns)
{
    fake_advance(sim.fake, ns);
    bool changed = name_source_state.dispatch(sim.state);
    return changed | name_source_state.dispatch(sim.state);
}

TEST_WITH(test_found, setup, teardown)
{
    sim.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, "shop"}}};
    assert_non_null(strstr(name_of(SCOPE_A), "searched for"));
    assert_true(dispatch_after(0));
    assert_string_equal(name_of(SCOPE_A), "shop");
    /* Another container can create a cgroup with any name. */
    assert_non_null(strstr(name_of(SCOPE_B "/docker-" ID_A ".scope"), "inside another container"));
    assert_false(dispatch_after(0));
    assert_int_equal(sim.n_read, 1);
}

/* The file is written shortly after the cgroup is created. */
TEST_WITH(test_written_later, setup, teardown)
{
    name_of(SCOPE_A);
    assert_true(dispatch_after(0));
    assert_non_null(strstr(name_of(SCOPE_A), "not found in any state file"));
    sim.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, "shop"}}};
    assert_false(dispatch_after(100 * NSEC_PER_MSEC));
    assert_true(dispatch_after(100 * NSEC_PER_MSEC));
    assert_string_equal(name_of(SCOPE_A), "shop");
}

/* A file that lists the container without a name is read again later, and until then the reason is unchanged. */
TEST_WITH(test_without_name, setup, teardown)
{
    sim.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, NULL}}};
    name_of(SCOPE_A);
    assert_true(dispatch_after(0));
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(strstr(name_of(SCOPE_A), "given it no name"));
        assert_non_null(strstr(name_of(SCOPE_A), "--name"));
        assert_false(dispatch_after(NSEC_PER_SEC));
    }
    sim.files[0] = (struct file){DOCKER_A, 8, 0, {{ID_A, "shop"}}};
    dispatch_after(60 * NSEC_PER_SEC);
    assert_string_equal(name_of(SCOPE_A), "shop");
}

TEST_WITH(test_renamed, setup, teardown)
{
    sim.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, "shop"}}};
    name_of(SCOPE_A);
    dispatch_after(0);
    for (size_t i = 0; i < 4; i++)
        assert_false(dispatch_after(15 * NSEC_PER_SEC));
    assert_int_equal(sim.n_read, 1);
    sim.files[0].version++;
    sim.files[0].containers[0].name = "till";
    assert_true(dispatch_after(15 * NSEC_PER_SEC));
    assert_string_equal(name_of(SCOPE_A), "till");
    sim.files[0].path = NULL; /* the container is removed, but its cgroup still exists for a moment */
    assert_false(dispatch_after(15 * NSEC_PER_SEC));
    assert_string_equal(name_of(SCOPE_A), "till");
}

/*
 * A file that lists all containers is requested once, and again if a container returns, even if the file is unchanged.
 */
TEST_WITH(test_list, setup, teardown)
{
    sim.files[0] = (struct file){STORAGE, 7, 0, {{ID_A, "one"}, {ID_B, "two"}}};
    name_of(SCOPE_A);
    name_of(SCOPE_B);
    assert_true(dispatch_after(0));
    assert_string_equal(name_of(SCOPE_A), "one");
    assert_string_equal(name_of(SCOPE_B), "two");
    assert_int_equal(sim.n_read, 1);
    name_source_state.forget(sim.state, SCOPE_A);
    assert_non_null(strstr(name_of(SCOPE_A), "searched for"));
    assert_true(dispatch_after(1));
    assert_string_equal(name_of(SCOPE_A), "one");
    sim.files[0].version++;
    sim.files[0].containers[1].name = "three";
    assert_true(dispatch_after(15 * NSEC_PER_SEC));
    assert_string_equal(name_of(SCOPE_B), "three");
}

/* A user's file names only that user's containers, and root's file does not name containers of users. */
TEST_WITH(test_accounts, setup, teardown)
{
    sim.files[0] = (struct file){STORAGE, 7, 0, {{ID_A, "of root"}, {ID_B, "of root too"}}};
    sim.files[1] = (struct file){USER_STORAGE, 8, 0, {{ID_A, "of ann"}, {ID_B, "stolen"}}};
    name_of(USER_A);
    name_of(SCOPE_B);
    assert_true(dispatch_after(0));
    assert_string_equal(name_of(USER_A), "of ann");
    assert_string_equal(name_of(SCOPE_B), "of root too");
    name_source_state.forget(sim.state, USER_A);
    sim.files[1].path = NULL;
    name_of(USER_A);
    dispatch_after(0);
    assert_non_null(strstr(name_of(USER_A), "ProtectHome"));
}

/* Answers that nobody requested are ignored, since a hostile file may have compromised the reader. */
TEST(test_answers_nobody_asked_for)
{
    for (size_t i = 0; i < 2; i++) {
        setup(state);
        sim.foreign = i ? UINT64_MAX : 0;
        sim.other = i ? NULL : ID_B;
        sim.files[0] = (struct file){DOCKER_A, 7, 0, {{ID_A, "forged"}}};
        name_of(SCOPE_A);
        name_of(SCOPE_B);
        dispatch_after(0);
        assert_null(strstr(name_of(SCOPE_A), "forged"));
        assert_null(strstr(name_of(SCOPE_B), "forged"));
        teardown(state);
    }
}

TEST(test_reasons)
{
    static const struct {
        int refusal, error;
        const char *reason;
    } cases[] = {
        {-ENOENT, 0, "not found in any state file of a container runtime"},
        {-EACCES, 0, "is not permitted to read"},
        {-EPERM, 0, "is not permitted to read"},
        {-EBADRQC, 0, "is refused"},
        {-ENOSYS, 0, "restart perfcountd"},
        {-EHOSTDOWN, 0, "does not answer"},
        {-ENOENT, -EHOSTDOWN, "does not answer"},
        {-EPIPE, 0, "the opener is gone"},
        {-ENOENT, -EBADMSG, "has an unsupported format"},
        {-ENOENT, -EFBIG, "too large"},
        {-EIO, 0, "not found in any state file of a container runtime"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        setup(state);
        sim.refusal = cases[i].refusal;
        if (cases[i].error)
            sim.files[0] = (struct file){DOCKER_A, 7, cases[i].error, {{NULL, NULL}}};
        name_of(SCOPE_A);
        assert_true(dispatch_after(0));
        assert_non_null(strstr(name_of(SCOPE_A), cases[i].reason));
        assert_false(dispatch_after(NSEC_PER_SEC));
        teardown(state);
    }
}

/*
 * Even after an hour, a file system that did not answer is retried as often as a known file is read again. This applies
 * whether the opener or the reader gave up on the file system. A missing file is retried less often.
 */
TEST(test_silence_ends)
{
    static const struct {
        int refusal, error;
        bool out;
    } cases[] = {{-EHOSTDOWN, 0, true}, {-ENOENT, -EHOSTDOWN, true}, {-ENOENT, 0, false}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        setup(state);
        sim.refusal = cases[i].refusal;
        if (cases[i].error)
            sim.files[0] = (struct file){USER_STORAGE, 7, cases[i].error, {{NULL, NULL}}};
        name_of(USER_A);
        for (size_t seconds = 0; seconds < 3600; seconds += 5)
            dispatch_after(5 * NSEC_PER_SEC);
        sim.refusal = -ENOENT;
        sim.files[0] = (struct file){USER_STORAGE, 7, 0, {{ID_A, "web"}}};
        for (size_t seconds = 0; seconds < 20; seconds += 5)
            dispatch_after(5 * NSEC_PER_SEC);
        assert_true(str_equal(name_of(USER_A), "web") == cases[i].out);
        teardown(state);
    }
}

TEST_WITH(test_without_reader, setup, teardown)
{
    struct names names = {0};
    void *source = NULL;
    int fd = -1;

    sim.state_files = (struct state_files){0};
    assert_int_equal(name_source_state.open(&sim.fake->sys, &sim.state_files, &source, &fd), 0);
    assert_int_equal(fd, -1);
    assert_int_equal(names_from_path(&names, SCOPE_A), 0);
    assert_int_equal(name_source_state.find(source, SCOPE_A, &names), 0);
    assert_non_null(strstr(names.unnamed, "restart perfcountd"));
    assert_false(name_source_state.dispatch(source));
    name_source_state.forget(source, SCOPE_A);
    names_done(&names);
    name_source_state.close(source);
}

/* A closed socket stays readable, but does not wake the daemon again. */
TEST_WITH(test_reader_ends, setup, teardown)
{
    close(sim.sockets[1]);
    sim.sockets[1] = -1;
    struct pollfd descriptor = {.fd = sim.fd, .events = POLLIN};
    assert_int_equal(poll(&descriptor, 1, 0), 1);
    name_source_state.dispatch(sim.state);
    assert_int_equal(poll(&descriptor, 1, 0), 0);
}

/* The location of a state file tells to which runtime it belongs, except for the store that podman and CRI-O share. */
TEST(test_source)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{NULL, "podman"}, {"podman", "podman"}, {"cri-o", "cri-o"}, {"other", "podman"}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct names names = {0};
        setup(state);
        sim.runtime = cases[i].in;
        sim.files[0] = (struct file){STORAGE, 7, 0, {{ID_B, "two"}}};
        name_of(SCOPE_B);
        assert_true(dispatch_after(0));
        assert_int_equal(names_from_path(&names, SCOPE_B), 0);
        assert_int_equal(name_source_state.find(sim.state, SCOPE_B, &names), 0);
        assert_string_equal(names.source, cases[i].out);
        names_done(&names);
        teardown(state);
    }
}

TEST_MAIN(NULL, NULL)
