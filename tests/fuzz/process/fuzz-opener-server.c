/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends arbitrary bytes to an opener as a compromised daemon: a sequence of packets with descriptors, including those
 * that the opener returned earlier. Each packet gets one reply, with exactly as many descriptors as it announces. The
 * opener keeps none of them, opens only what the rules allow, and accepts only cgroups as cgroups.
 */
#include <linux/magic.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "opener/opener-server.h"
#include "opener/safe-open.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/wrap-calls.h"

enum { DAEMON = 4711, CPUS = 4, SLOTS = 64, PACKETS_MAX = 24, GIVEN_MAX = 30, EVENTS_MAX = 20 };
enum { TYPE_PROBE = 6, TYPE_PMU = 9 };
enum packet_kind { RAW, GROUP, FILES, STATE, OF_BPF, FINDER, N_PACKET_KINDS };
enum fd_kind { MEMORY, DIRECTORY, CGROUP, SOCKET, HANDED_OUT, N_FD_KINDS };

static struct {
    struct fake_sys *fake;
    struct sys sys; /* the opener's */
    struct bpf_calls bpf;
    struct event_quota events;
    struct quota quota;
    struct opener_server server;
    struct finders finders;
    struct stragglers stragglers;
    char cgroups[256];
    int daemon; /* the daemon's end of the socket */
    int files[SOCKET + 1];
    struct fd_list handed_out;
    bool sampling;
    uint16_t kind; /* kind of the last packet that was sent */
} world;

static const char *const paths[] = {
    "/etc/web.yml",
    "/proc/kallsyms",
    "/proc/42/comm",
    "/proc/42/map_files/1000-2000",
    "/sys/kernel/tracing/available_events",
    "/sys/kernel/tracing/events/sched/sched_switch/id",
    "/proc/42/mem",
    "/etc/shadow",
};

/* Replaces fork(2): the opener cannot start a finder, or a child for a user's state file. */
pid_t fork(void)
{
    assert(world.kind == OPENER_REQUEST_STATE || (world.kind == OPENER_REQUEST_FINDER && world.sampling));
    errno = EAGAIN;
    return -1;
}

/* --- the kernel, which only checks that the call is permitted --- */

static bool fd_is_cgroup(int fd)
{
    struct statfs status;

    return fstatfs(fd, &status) == 0 && (status.f_type == CGROUP2_SUPER_MAGIC || status.f_type == CGROUP_SUPER_MAGIC);
}

static int kernel_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                       unsigned long flags)
{
    (void)sys;
    assert(flags & PERF_FLAG_FD_CLOEXEC && (pid != -1 || cpu >= 0));
    assert(group_fd == -1 || fcntl(group_fd, F_GETFD) >= 0);
    if (flags & PERF_FLAG_PID_CGROUP)
        assert(fd_is_cgroup(pid) && world.cgroups[0]);
    else
        assert(pid == -1 || pid == DAEMON || world.sampling);
    assert(!attr->sample_period || world.sampling);
    assert(attr->type != PERF_TYPE_BREAKPOINT && attr->type != PERF_TYPE_TRACEPOINT);
    assert(attr->type != TYPE_PROBE || (attr->config1 && attr->config2 == 0x10));
    return attr->config == UINT64_MAX ? -ENOENT : eventfd(0, EFD_CLOEXEC);
}

static int kernel_ioctl(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    assert(fcntl(fd, F_GETFD) >= 0 && request == PERF_EVENT_IOC_SET_FILTER);
    return sys && argument ? 0 : -EFAULT;
}

static int engine_start(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error)
{
    (void)owner;
    assert(shape->cpus == CPUS && shape->slots <= SLOTS && shape->events <= BPF_EVENTS_MAX && shape->events > 0);
    if (shape->groups == BPF_GROUPS_MAX)
        return error_set(error, -EPERM, "no");
    ret->counts = eventfd(0, EFD_CLOEXEC);
    ret->records = eventfd(0, EFD_CLOEXEC);
    return 0;
}

static int bpf_set_cpu(void *owner, unsigned cpu, const struct bpf_event *events, const int *fds)
{
    (void)owner;
    assert(cpu < CPUS);
    for (size_t i = 0; i < BPF_EVENTS_MAX; i++)
        assert(events[i].source == SOURCE_READ ? fcntl(fds[i], F_GETFD) >= 0 : fds[i] == -1);
    return 0;
}

static int bpf_attach(void *owner, bool attached)
{
    return owner && attached ? 0 : -EINVAL;
}

static int bpf_assign(void *owner, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    struct statfs status;

    (void)owner;
    assert(slot > 0 && slot < SLOTS && fstatfs(cgroup_fd, &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC);
    *ret_id = 1;
    return 0;
}

static int bpf_withdraw(void *owner, uint64_t id)
{
    return owner && id == 1 ? 0 : -ENOENT;
}

static int bpf_flush(void *owner)
{
    return owner ? 0 : -EINVAL;
}

static void bpf_stop(void *owner)
{
    (void)owner;
}

/* --- the machine --- */

static void find_cgroups(void)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    struct statfs status;

    for (size_t i = 0; i < ARRAY_SIZE(mounts); i++)
        if (statfs(mounts[i], &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
            strcpy(world.cgroups, mounts[i]);
}

static void leave(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(world.files); i++)
        close(world.files[i]);
    fake_sys_free(world.fake);
}

static void make_files(struct fake_sys *fake)
{
    fake_file(fake, "/etc/web.yml", "x\n");
    fake_file(fake, "/etc/shadow", "x\n");
    fake_file(fake, "/proc/42/comm", "x\n");
    fake_file(fake, "/proc/42/status", "NSpid:\t42\n");
    fake_file(fake, "/proc/42/root/tmp/perf-42.map", "1000 10 f\n");
    fake_file(fake, "/sys/kernel/tracing/events/sched/sched_switch/id", "311\n");
}

static void enter(void)
{
    world.fake = fake_sys_new();
    make_files(world.fake);
    find_cgroups();
    sys_init(&world.sys);
    world.sys.root = world.fake->root;
    wrap_calls(&world.sys, (struct sys_calls){.perf_event_open = kernel_open, .ioctl = kernel_ioctl});
    world.bpf = (struct bpf_calls){.owner = &world,
                                   .start = engine_start,
                                   .set_cpu = bpf_set_cpu,
                                   .attach = bpf_attach,
                                   .assign = bpf_assign,
                                   .withdraw = bpf_withdraw,
                                   .flush = bpf_flush,
                                   .stop = bpf_stop};
    world.files[MEMORY] = memfd_create("fuzz", MFD_CLOEXEC);
    world.files[DIRECTORY] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    world.files[CGROUP] = open(world.cgroups[0] ? world.cgroups : "/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    world.files[SOCKET] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    atexit(leave);
}

/* --- packets --- */

static void append_event(struct input *input, struct buffer *packet)
{
    static const uint32_t types[] = {PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, TYPE_PMU, TYPE_PROBE,
                                     PERF_TYPE_TRACEPOINT};
    struct opener_packet_event event = {.attr = {.size = sizeof(event.attr), .disabled = 1}};
    uint8_t choice = input_byte(input);

    event.attr.type = types[choice % ARRAY_SIZE(types)];
    event.attr.config = choice & 0x40 ? input_word(input) : choice / 8;
    if (event.attr.type == TYPE_PROBE) {
        event.attr.config2 = 0x10;
        event.text = 1;
    }
    if (choice & 0x80) { /* any field */
        size_t at = input_byte(input) % (sizeof(event) / sizeof(uint32_t));
        uint32_t word = (uint32_t)input_word(input);
        memcpy((char *)&event + at * sizeof(word), &word, sizeof(word));
    }
    buffer_append(packet, &event, sizeof(event));
}

static void write_group(struct input *input, size_t n_fds, struct buffer *packet)
{
    static const char text[] = "/bin/true";
    uint8_t choice = input_byte(input);
    struct opener_group_packet group = {
        .pid = choice & 1   ? -1
               : choice & 2 ? DAEMON
                            : 42,
        .cpu = (int32_t)(choice / 4 % (CPUS + 1)) - (choice & 1 ? 0 : 1),
        .flags = choice & 0x20 ? PERF_FLAG_PID_CGROUP : 0,
        .n_events = 1 + choice / 64,
        .text_size = sizeof(text),
        .whole = choice & 1,
    };

    group.leader = n_fds > (choice & 0x20 ? 1U : 0U);
    buffer_append(packet, &group, sizeof(group));
    for (size_t i = 0; i < group.n_events; i++)
        append_event(input, packet);
    buffer_append(packet, text, sizeof(text));
}

static void write_bpf(struct input *input, struct buffer *packet)
{
    struct opener_bpf_packet bpf = {.call = 1 + input_byte(input) % OPENER_BPF_STOP};
    uint8_t choice = input_byte(input);

    bpf.number = bpf.call == OPENER_BPF_ATTACH ? choice & 1 : choice;
    bpf.id = bpf.call == OPENER_BPF_WITHDRAW ? choice : 0;
    if (bpf.call != OPENER_BPF_SET_CPU && bpf.call != OPENER_BPF_ATTACH && bpf.call != OPENER_BPF_ASSIGN)
        bpf.number = 0;
    if (bpf.call == OPENER_BPF_START)
        bpf.shape = (struct bpf_shape){CPUS, choice, 1 + choice % 4, 1 + choice / 32};
    for (unsigned i = 0; i < choice % 4U && bpf.call == OPENER_BPF_SET_CPU; i++)
        input_copy(input, &bpf.events[i], sizeof(bpf.events[i]));
    buffer_append(packet, &bpf, sizeof(bpf));
}

static void write_state(struct input *input, struct buffer *packet)
{
    struct opener_state_packet state = {.request = {.place = input_byte(input)}};
    uint8_t choice = input_byte(input);

    state.request.user = choice & 1 ? 1000 : 0;
    memset(state.request.id, 'a', choice & 2 ? STATE_ID_LENGTH : 0);
    input_copy(input, state.request.home, choice & 4 ? choice % sizeof(state.request.home) : 0);
    buffer_append(packet, &state, sizeof(state));
}

static void write_file(struct input *input, struct buffer *packet)
{
    const struct opener_file_packet file = {{0}};
    uint8_t choice = input_byte(input);
    char text[64] = "";

    buffer_append(packet, &file, sizeof(file));
    if (choice < ARRAY_SIZE(paths))
        buffer_append_text(packet, paths[choice]);
    input_copy(input, text, choice % (sizeof(text) - 1));
    buffer_append_text(packet, text);
    buffer_append_char(packet, '\0');
}

static void write_packet(struct input *input, enum packet_kind kind, size_t n_fds, struct buffer *packet)
{
    static const uint16_t kinds[] = {[GROUP] = OPENER_REQUEST_GROUP,
                                     [FILES] = OPENER_REQUEST_FILE,
                                     [STATE] = OPENER_REQUEST_STATE,
                                     [OF_BPF] = OPENER_REQUEST_BPF,
                                     [FINDER] = OPENER_REQUEST_FINDER};

    if (kind == RAW) {
        size_t size = 1 + input_half(input) % 1024;
        input_copy(input, buffer_reserve(packet, size), size);
        buffer_advance(packet, size);
        return;
    }
    if (kind == GROUP)
        write_group(input, n_fds, packet);
    else if (kind == FILES)
        write_file(input, packet);
    else if (kind == STATE)
        write_state(input, packet);
    else if (kind == OF_BPF)
        write_bpf(input, packet);
    else
        opener_request_write_finder(packet);
    *(struct opener_packet_header *)packet->data =
        (struct opener_packet_header){OPENER_VERSION, kinds[kind], (uint32_t)packet->size};
}

static int choose_fd(struct input *input)
{
    uint8_t choice = input_byte(input);
    enum fd_kind kind = choice % N_FD_KINDS;

    if (kind != HANDED_OUT)
        return world.files[kind];
    return world.handed_out.n ? world.handed_out.fds[choice / N_FD_KINDS % world.handed_out.n] : world.files[MEMORY];
}

/* --- replies --- */

static void keep(struct fd_list *fds)
{
    while (fds->n > 0 && world.handed_out.n < GIVEN_MAX)
        world.handed_out.fds[world.handed_out.n++] = fds->fds[--fds->n];
    fd_list_close(fds);
}

static void receive(void)
{
    struct opener_reply reply = {0};
    struct fd_list fds = {0};
    size_t n_opened = 0;

    ssize_t n = fd_socket_receive(world.daemon, &reply, sizeof(reply), &fds, NULL);
    assert(n >= (ssize_t)offsetof(struct opener_reply, results) && (size_t)n == opener_reply_size(&reply));
    assert(reply.error <= 0 && reply.n <= OPENER_EVENTS_MAX && (reply.error == 0 || reply.n == 0));
    for (size_t i = 0; i < reply.n && reply.error == 0; i++)
        n_opened += reply.results[i] == 0;
    assert(fds.n == n_opened);
    keep(&fds);
    assert(recv(world.daemon, &reply, sizeof(reply), MSG_DONTWAIT) < 0);
}

static void exchange(struct input *input)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    struct fd_list fds = {0};
    uint8_t choice = input_byte(input);
    unsigned before = count_fds();

    for (size_t i = choice / N_PACKET_KINDS % 5; i > 0; i--)
        fds.fds[fds.n++] = choose_fd(input);
    write_packet(input, choice % N_PACKET_KINDS, fds.n, &packet);
    if (packet.size >= sizeof(struct opener_packet_header))
        world.kind = ((const struct opener_packet_header *)packet.data)->kind;
    assert(!packet.failed && fd_socket_send(world.daemon, packet.data, packet.size, &fds) == 0);
    assert(opener_server_run(&world.server) == -EAGAIN);
    size_t had = world.handed_out.n;
    receive();
    assert(count_fds() == before + world.handed_out.n - had);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t counting[] = {PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, TYPE_PMU}, probing[] = {TYPE_PROBE};
    static struct opener_permitted_event permitted = {.type = TYPE_PROBE, .config2 = 0x10, .text = (char *)"/bin/true"};
    static char *files[] = {(char *)"/etc/web.yml"};
    struct input input = {data, data + size};
    int sockets[2], reader[2];

    if (!world.fake)
        enter();
    world.sampling = input_byte(&input) & 1;
    make_sockets(SOCK_SEQPACKET, sockets);
    make_sockets(SOCK_SEQPACKET, reader);
    world.daemon = sockets[0];
    world.server = (struct opener_server){
        .sys = &world.sys,
        .socket = sockets[1],
        .reader = reader[1],
        .finders = &world.finders,
        .stragglers = &world.stragglers,
        .rules = {.daemon = DAEMON,
                  .permissions = {.sampling = world.sampling,
                                  .events = &permitted,
                                  .n_events = 1,
                                  .files = files,
                                  .n_files = 1,
                                  .bpf_slots = SLOTS,
                                  .limits = {EVENTS_MAX, EVENTS_MAX, EVENTS_MAX, EVENTS_MAX}},
                  .n_cpus = CPUS,
                  .counting = {counting, ARRAY_SIZE(counting)},
                  .probing = {probing, ARRAY_SIZE(probing)}},
        .bpf = &world.bpf,
        .cgroups = world.cgroups,
        .events = &world.events,
        .bpf_programs = &world.quota,
    };
    assert(event_quota_open(&world.events, &world.server.rules) == 0 && quota_open(&world.quota, 1) == 0);
    for (unsigned i = 0; i < PACKETS_MAX && input_left(&input) > 0; i++)
        exchange(&input);
    fd_list_close(&world.handed_out);
    close(sockets[0]);
    assert(opener_server_run(&world.server) == 0);
    event_quota_close(&world.events);
    quota_close(&world.quota);
    close(sockets[1]);
    close(reader[0]);
    close(reader[1]);
    return 0;
}
