/* SPDX-License-Identifier: Apache-2.0 */
/* Counting cgroups through the opener: calls that arrive as they were made, and packets that are refused. */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd.h"
#include "opener/tally-client.h"
#include "perf/hierarchy.h"
#include "tests/unit/opener-rig.h"
#include "tests/unit/test.h"

enum { CPUS = 4, SLOTS = 256, MADE_AT = 4711 };

/* Packets: each case spoils one thing of a valid one. */

struct spoilt {
    struct opener_tally_packet packet;
    size_t size, n_fds;
};

static void make(struct spoilt *spoilt, enum opener_tally_call call)
{
    *spoilt = (struct spoilt){.packet = {.call = call}, .size = sizeof(spoilt->packet)};
    switch (call) {
    case OPENER_TALLY_START:
        spoilt->packet.shape = (struct tally_shape){.cpus = CPUS, .slots = SLOTS, .events = 3, .groups = 2};
        break;
    case OPENER_TALLY_SET_CPU:
        spoilt->packet.number = CPUS - 1;
        spoilt->packet.events[0] = (struct tally_event){.source = TALLY_READ, .group = 1, .gives_times = 1};
        spoilt->packet.events[1] = (struct tally_event){.source = TALLY_SWITCHES};
        spoilt->packet.events[23] = (struct tally_event){.source = TALLY_READ, .group = 7};
        spoilt->n_fds = 2;
        break;
    case OPENER_TALLY_ATTACH:
        spoilt->packet.number = 1;
        break;
    case OPENER_TALLY_ASSIGN:
        spoilt->packet.number = TALLY_SLOT_ROOT;
        spoilt->n_fds = 1;
        break;
    case OPENER_TALLY_WITHDRAW:
        spoilt->packet.id = UINT64_MAX;
        break;
    default:
        break;
    }
}

static int judge(struct spoilt *spoilt, uint32_t slots)
{
    const struct opener_rules rules = {.n_cpus = CPUS, .permissions = {.tally_slots = slots}};
    struct opener_request request = {0};
    _cleanup_(buffer_done) struct buffer buffer = {0};

    assert_int_equal(opener_tally_write(&spoilt->packet, &buffer), 0);
    ((struct opener_packet_header *)buffer.data)->size = (uint32_t)spoilt->size;
    buffer_append(&buffer, (char[8]){0}, 8);
    int r = opener_request_parse(buffer.data, spoilt->size, spoilt->n_fds, &request);
    assert_true(r == 0 || !request.tally);
    return r < 0 ? r : opener_request_check(&request, &rules);
}

#define CALL(name) OPENER_TALLY_##name
#define SPOILS(X)                                                                                                      \
    X(START, (void)p, 0)                                                                                               \
    X(START, p->size--, -EBADMSG)                                                                                      \
    X(START, p->size += 8, -EBADMSG)                                                                                   \
    X(START, p->size = sizeof(struct opener_packet_header), -EBADMSG)                                                  \
    X(START, p->n_fds = 1, -EBADMSG)                                                                                   \
    X(START, p->packet.call = 0, -EBADMSG)                                                                             \
    X(START, p->packet.call = N_OPENER_TALLY_CALLS, -EBADMSG)                                                          \
    X(START, p->packet.call = UINT32_MAX, -EBADMSG)                                                                    \
    X(START, p->packet.number = 1, -EBADMSG)                                                                           \
    X(START, p->packet.id = 1, -EBADMSG)                                                                               \
    X(START, p->packet.events[5].group = 1, -EBADMSG)                                                                  \
    X(START, p->packet.shape.cpus = CPUS + 1, -EBADRQC)                                                                \
    X(START, p->packet.shape.cpus = UINT32_MAX, -EBADRQC)                                                              \
    X(START, p->packet.shape.cpus = 0, -EBADRQC)                                                                       \
    X(START, p->packet.shape.slots = SLOTS + 1, -EUNATCH)                                                              \
    X(START, p->packet.shape.slots = UINT32_MAX, -EUNATCH)                                                             \
    X(START, p->packet.shape.slots = TALLY_SLOT_FIRST, -EBADRQC)                                                       \
    X(START, p->packet.shape.slots = TALLY_SLOT_FIRST + 1, 0)                                                          \
    X(START, p->packet.shape.events = 0, -EBADRQC)                                                                     \
    X(START, p->packet.shape.events = TALLY_EVENTS_MAX, 0)                                                             \
    X(START, p->packet.shape.events = TALLY_EVENTS_MAX + 1, -EBADRQC)                                                  \
    X(START, p->packet.shape.groups = 0, -EBADRQC)                                                                     \
    X(START, p->packet.shape.groups = TALLY_GROUPS_MAX + 1, -EBADRQC)                                                  \
    X(SET_CPU, (void)p, 0)                                                                                             \
    X(SET_CPU, memset(p->packet.events, 0, sizeof(p->packet.events)), -EBADMSG)                                        \
    X(SET_CPU, (memset(p->packet.events, 0, sizeof(p->packet.events)), p->n_fds = 0), 0)                               \
    X(SET_CPU, p->packet.number = CPUS, -EBADRQC)                                                                      \
    X(SET_CPU, p->packet.number = UINT32_MAX, -EBADRQC)                                                                \
    X(SET_CPU, p->n_fds = 1, -EBADMSG)                                                                                 \
    X(SET_CPU, p->n_fds = 3, -EBADMSG)                                                                                 \
    X(SET_CPU, p->packet.events[0].source = TALLY_SWITCHES + 1, -EBADMSG)                                              \
    X(SET_CPU, (p->packet.events[2].source = TALLY_SWITCHES + 1, p->packet.events[2].gives_times = 0), -EBADMSG)       \
    X(SET_CPU, p->packet.events[0].group = TALLY_GROUPS_MAX, -EBADMSG)                                                 \
    X(SET_CPU, p->packet.events[0].gives_times = 2, -EBADMSG)                                                          \
    X(SET_CPU, p->packet.events[1].gives_times = 1, -EBADMSG)                                                          \
    X(SET_CPU, p->packet.events[0].zero = 1, -EBADMSG)                                                                 \
    X(SET_CPU, p->packet.shape.cpus = 1, -EBADMSG)                                                                     \
    X(ATTACH, (void)p, 0)                                                                                              \
    X(ATTACH, p->packet.number = 0, 0)                                                                                 \
    X(ATTACH, p->packet.number = 2, -EBADMSG)                                                                          \
    X(ATTACH, p->packet.shape.slots = 1, -EBADMSG)                                                                     \
    X(ATTACH, p->packet.shape.events = 1, -EBADMSG)                                                                    \
    X(ATTACH, p->packet.shape.groups = 1, -EBADMSG)                                                                    \
    X(ATTACH, p->n_fds = 1, -EBADMSG)                                                                                  \
    X(ASSIGN, (void)p, 0)                                                                                              \
    X(ASSIGN, p->packet.number = SLOTS - 1, 0)                                                                         \
    X(ASSIGN, p->packet.number = TALLY_SLOT_UNKNOWN, -EBADRQC)                                                         \
    X(ASSIGN, p->packet.number = SLOTS, -EUNATCH)                                                                      \
    X(ASSIGN, p->packet.number = TALLY_SLOT_NONE, -EBADRQC)                                                            \
    X(ASSIGN, p->n_fds = 0, -EBADMSG)                                                                                  \
    X(ASSIGN, p->n_fds = 2, -EBADMSG)                                                                                  \
    X(ASSIGN, p->packet.id = 7, -EBADMSG)                                                                              \
    X(WITHDRAW, (void)p, 0)                                                                                            \
    X(WITHDRAW, p->packet.number = 1, -EBADMSG)                                                                        \
    X(WITHDRAW, p->n_fds = 1, -EBADMSG)                                                                                \
    X(FLUSH, (void)p, 0)                                                                                               \
    X(FLUSH, p->packet.id = 1, -EBADMSG)                                                                               \
    X(FLUSH, p->packet.number = 1, -EBADMSG)                                                                           \
    X(STOP, (void)p, 0)                                                                                                \
    X(STOP, p->packet.events[0].source = TALLY_SWITCHES, -EBADMSG)

static void test_verdicts(void **state)
{
    struct spoilt spoilt, *p = &spoilt;

    (void)state;
#define TRY(name, what, verdict)                                                                                       \
    make(p, CALL(name));                                                                                               \
    what;                                                                                                              \
    {                                                                                                                  \
        int r = judge(p, SLOTS), without = judge(p, 0);                                                                \
        if (r != (verdict))                                                                                            \
            fail_msg("%s, %s: %d, not %d", #name, #what, r, verdict);                                                  \
        if (without != (r == 0 ? -EUNATCH : r))                                                                        \
            fail_msg("%s, %s: %d without a tally", #name, #what, without);                                             \
    }
    SPOILS(TRY)
}

/* Calls */

static struct {
    char made[256]; /* the calls, as text */
    int error;      /* that the next call returns */
    int n_maps;     /* that start() gives */
} kernel;

static int note(int r, const char *format, ...) PRINTF_LIKE(2, 3);

static int note(int r, const char *format, ...)
{
    size_t length = strlen(kernel.made);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(kernel.made + length, sizeof(kernel.made) - length, format, arguments);
    va_end(arguments);
    return r;
}

static int fake_start(struct sys *sys, const struct tally_shape *shape, struct tally_maps *ret, struct error *error)
{
    (void)sys;
    note(0, "start %u %u %u %u;", shape->cpus, shape->slots, shape->events, shape->groups);
    if (kernel.error)
        return error_set(error, kernel.error, "libbpf is not installed; install libbpf1");
    *ret = (struct tally_maps){memfd_create("counts", MFD_CLOEXEC), memfd_create("records", MFD_CLOEXEC)};
    assert_int_equal(write(ret->records, "records", 7), 7);
    return 0;
}

static int fake_set_cpu(struct sys *sys, unsigned cpu, const struct tally_event *events, const int *fds)
{
    (void)sys;
    note(0, "set_cpu %u", cpu);
    for (size_t i = 0; i < TALLY_EVENTS_MAX; i++) {
        char text[16] = "";
        assert_int_equal(events[i].source == TALLY_READ, fds[i] >= 0);
        if (events[i].source)
            note(0, " %u:%u%s%s", events[i].source, events[i].group, events[i].gives_times ? "t" : "",
                 fds[i] >= 0 && pread(fds[i], text, 15, 0) > 0 ? text : "");
    }
    return note(kernel.error, ";");
}

static int fake_attach(struct sys *sys, bool attached)
{
    (void)sys;
    return note(kernel.error, "attach %d;", attached);
}

static int fake_assign(struct sys *sys, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    (void)sys;
    assert_true(fcntl(cgroup_fd, F_GETFD) >= 0);
    *ret_id = UINT64_C(1) << 40;
    return note(kernel.error, "assign %u;", slot);
}

static int fake_withdraw(struct sys *sys, uint64_t id)
{
    (void)sys;
    return note(kernel.error, "withdraw %llx;", (unsigned long long)id);
}

static int fake_flush(struct sys *sys)
{
    (void)sys;
    return note(kernel.error, "flush;");
}

static void fake_stop(struct sys *sys)
{
    (void)sys;
    note(0, "stop;");
}

static const struct tally_calls fake_calls = {fake_start,    fake_set_cpu, fake_attach, fake_assign,
                                              fake_withdraw, fake_flush,   fake_stop,   NULL};
static const struct tally_shape shape = {.cpus = CPUS, .slots = SLOTS, .events = 3, .groups = 1};

static int setup(void **state)
{
    int r = opener_rig_setup(state);
    struct opener_rig *rig = *state;

    memset(&kernel, 0, sizeof(kernel));
    opener_client_attach_tally(&rig->daemon);
    rig->kernel.tally = &fake_calls;
    rig->server.rules.n_cpus = CPUS;
    rig->server.rules.permissions.tally_slots = SLOTS;
    return r;
}

static void assert_made(const char *expected)
{
    assert_string_equal(kernel.made, expected);
    kernel.made[0] = '\0';
}

static int file_with(const char *text)
{
    int fd = memfd_create("counter", MFD_CLOEXEC);

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    return fd;
}

static void start(struct opener_rig *rig)
{
    struct tally_maps maps = {-1, -1};
    char text[16] = "";

    assert_int_equal(rig->daemon.tally->start(&rig->daemon, &shape, &maps, NULL), 0);
    assert_made("start 4 256 3 1;");
    assert_int_equal(pread(maps.counts, text, sizeof(text), 0), 0);
    assert_int_equal(pread(maps.records, text, sizeof(text), 0), 7);
    close(maps.counts);
    close(maps.records);
}

static void test_calls(void **state)
{
    struct opener_rig *rig = *state;
    struct sys *sys = &rig->daemon;
    const struct tally_event events[3] = {
        {.source = TALLY_SWITCHES}, {.source = TALLY_READ, .gives_times = 1}, {.source = TALLY_READ, .group = 3}};
    _cleanup_(closep) int first = file_with("=first"), second = file_with("=second");

    start(rig);
    assert_int_equal(sys->tally->set_cpu(sys, 2, events, (const int[]){-1, first, second}), 0);
    assert_made("set_cpu 2 3:0 1:0t=first 1:3=second;");
    assert_int_equal(sys->tally->attach(sys, true), 0);
    assert_int_equal(sys->tally->attach(sys, false), 0);
    assert_int_equal(sys->tally->withdraw(sys, UINT64_C(0x123456789a)), 0);
    assert_int_equal(sys->tally->flush(sys), 0);
    sys->tally->stop(sys);
    assert_made("attach 1;attach 0;withdraw 123456789a;flush;stop;");
    kernel.error = -ENOENT;
    assert_int_equal(sys->tally->withdraw(sys, 1), -ENOENT);
    assert_int_equal(sys->tally->attach(sys, true), -ENOENT);
    assert_int_equal(sys->tally->flush(sys), -ENOENT);
    assert_int_equal(sys->tally->set_cpu(sys, CPUS, events, (const int[]){-1, first, second}), -EBADRQC);
}

/* The root of the second version's hierarchy; -1 where there is none in which perf counts. */
static int open_cgroup(void)
{
    struct hierarchy hierarchy;
    struct statfs status;
    struct sys sys;

    sys_init(&sys);
    if (hierarchy_find(&sys, &hierarchy, NULL) < 0)
        return -1;
    _cleanup_(closep) int fd = open(hierarchy.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    hierarchy_done(&hierarchy);
    if (fd >= 0 && fstatfs(fd, &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
        return steal_fd(&fd);
    return -1;
}

/* The id comes from the opener, for a cgroup of the second version and for no other directory. */
static void test_assign(void **state)
{
    static const char *const refused[] = {"/tmp", "/", "/proc/self/stat", "/sys/fs"};
    struct opener_rig *rig = *state;
    struct sys *sys = &rig->daemon;
    uint64_t id = 0;

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        _cleanup_(closep) int fd = open(refused[i], O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(sys->tally->assign(sys, fd, 5, &id), -EXDEV);
        assert_true(id == 0);
    }
    assert_made("");
    _cleanup_(closep) int cgroup = open_cgroup();
    if (cgroup < 0)
        skip_because("there is no hierarchy of cgroup v2 in which perf counts");
    assert_int_equal(sys->tally->assign(sys, cgroup, 5, &id), 0);
    assert_made("assign 5;");
    assert_true(id == UINT64_C(1) << 40);
    kernel.error = -ENOSPC;
    assert_int_equal(sys->tally->assign(sys, cgroup, 5, &id), -ENOSPC);
    rig->server.cgroups = "/sys/fs/cgroup/elsewhere";
    assert_int_equal(sys->tally->assign(sys, cgroup, 5, &id), -EXDEV);
}

static void assert_start_fails(struct opener_rig *rig, int code, const char *sentence)
{
    struct tally_maps maps = {-7, -7};
    struct error error = {0};

    assert_int_equal(rig->daemon.tally->start(&rig->daemon, &shape, &maps, &error), code);
    assert_string_equal(error.message, sentence);
    assert_int_equal(maps.counts, -7);
}

/* The sentence of the opener arrives; a refusal has one as well. */
static void test_start_fails(void **state)
{
    struct opener_rig *rig = *state;
    uint64_t before, after;

    assert_int_equal(fd_count_open(-1, &before), 0);
    kernel.error = -ENOSYS;
    assert_start_fails(rig, -ENOSYS, "libbpf is not installed; install libbpf1");
    assert_made("start 4 256 3 1;");
    kernel.error = 0;
    rig->kernel.tally = NULL;
    assert_start_fails(rig, -ENOSYS, "this perfcountd is built without counting by BPF");
    rig->kernel.tally = &fake_calls;
    rig->server.rules.permissions.tally_slots = SLOTS - 1;
    assert_start_fails(rig, -EUNATCH,
                       "perfcountd was started without this engine, or for fewer cgroups; restart perfcountd");
    rig->server.rules.permissions.tally_slots = SLOTS;
    rig->server.rules.n_cpus = CPUS - 1;
    assert_start_fails(rig, -EBADRQC, "the opener refuses to count cgroups by BPF (EBADRQC)");
    rig->server.rules.n_cpus = CPUS;
    start(rig);
    /* The server closes its copies after the reply. */
    for (int i = 0; i < 1000 && (fd_count_open(-1, &after) < 0 || after != before); i++)
        usleep(1000);
    assert_int_equal(after, before);
    shutdown(rig->client.socket, SHUT_RDWR);
    assert_start_fails(rig, -EPIPE, "the opener is gone; restart perfcountd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test_setup_teardown(test_calls, setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_assign, setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_start_fails, setup, opener_rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
