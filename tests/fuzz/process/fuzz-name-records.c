/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends arbitrary bytes to the daemon as a compromised state file reader, while containers are created and removed. A
 * container is named only by a record that has its own id and the ticket of a request, and each name is printable.
 */
#include "base/text.h"
#include "cgroups/name-source.h"
#include "cgroups/names-reader.h"
#include "cgroups/path.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/wrap-calls.h"

enum { TICKETS_MAX = 64, ACTIONS_MAX = 64 };
enum action { FIND, FORGET, RECORD, LAST_RECORD, DISPATCH, WAIT, RAW, HANG_UP, N_ACTIONS };

#define SIXTEEN(c) c c c c c c c c c c c c c c c c
#define ID(c) SIXTEEN(c) SIXTEEN(c) SIXTEEN(c) SIXTEEN(c)

/* A container's name begins with the same character as its id, so that another container's name is noticed. */
static const struct {
    const char *path, *id;
} cgroups[] = {
    {"/system.slice/docker-" ID("a") ".scope", ID("a")},
    {"/machine.slice/libpod-" ID("b") ".scope", ID("b")},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID("c") ".scope", ID("c")},
    {"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID("d") ".scope", ID("d")},
};

static struct {
    struct fake_sys *fake;
    struct sys sys;
    struct state_files state_files;
    struct input input;
    void *state;
    int reader; /* the state file reader's end of the socket */
    uint64_t now, tickets[TICKETS_MAX];
    size_t n_tickets;
    bool was_raw;
} world;

static int asked_read_state(void *owner, const struct state_request *request)
{
    static const int results[] = {0, 0, 0, 0, -EALREADY, -EAGAIN, -ENOENT, -EACCES, -EBADRQC, -ENOSYS};
    char path[STATE_PATH_MAX];
    int r = results[input_byte(&world.input) % ARRAY_SIZE(results)];

    (void)owner;
    assert(state_request_path(request, path, sizeof(path)) == 0);
    if (r == 0)
        world.tickets[world.n_tickets++ % TICKETS_MAX] = request->ticket;
    return r;
}

static uint64_t simulated_now(struct sys *sys, clockid_t clock)
{
    (void)sys;
    (void)clock;
    return world.now;
}

static void leave(void)
{
    fake_sys_free(world.fake);
}

static void enter(void)
{
    world.fake = fake_sys_new();
    fake_file(world.fake, "/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n");
    sys_init(&world.sys);
    world.sys.root = world.fake->root;
    world.state_files.read = asked_read_state;
    wrap_calls(&world.sys, (struct sys_calls){.now = simulated_now});
    atexit(leave);
}

/* --- the reader --- */

/* If the ticket was never requested, the name begins with "x". */
static void send_record(bool is_last)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    uint8_t choice = input_byte(&world.input);
    const char *id = cgroups[choice % ARRAY_SIZE(cgroups)].id;
    struct names_packet record = {.header = {.version = choice / 32, .is_last = is_last}};
    bool is_asked = !(choice & 0x10) && world.n_tickets > 0;
    char name[NAME_SIZE_MAX + 1] = {is_asked ? id[0] : 'x'};

    record.header.ticket = is_asked
                               ? world.tickets[input_byte(&world.input) % MIN(world.n_tickets, (size_t)TICKETS_MAX)]
                               : input_word(&world.input);
    for (size_t i = 0; i < world.n_tickets && !is_asked; i++) /* ignores a random ticket that happens to be valid */
        if (world.tickets[i % TICKETS_MAX] == record.header.ticket)
            return;
    if (is_last)
        record.header.error = -(int32_t)(choice / 16);
    else
        memcpy(record.header.id, id, STATE_ID_LENGTH);
    input_copy(&world.input, name + 1, choice / 16);
    assert(is_last || names_set(&record.names, NAME_CONTAINER, name, strlen(name)) == 0);
    assert(names_packet_write(&record, &packet) == 0);
    send(world.reader, packet.data, packet.size, MSG_NOSIGNAL);
    names_packet_done(&record);
}

static void send_raw(void)
{
    char bytes[NAMES_PACKET_MAX + 8];
    size_t size = input_half(&world.input) % sizeof(bytes);

    input_copy(&world.input, bytes, size);
    send(world.reader, bytes, size, MSG_NOSIGNAL);
    world.was_raw = true;
}

/* --- the daemon --- */

static void find(size_t i)
{
    _cleanup_(names_done) struct names names = {0};

    assert(names_from_path(&names, cgroups[i].path) == 0);
    assert(name_source_state.find(world.state, cgroups[i].path, &names) == 0);
    for (size_t kind = 0; kind < N_NAME_KINDS; kind++) {
        const char *text = names.texts[kind] ? names.texts[kind] : "x";
        assert(strlen(text) <= NAME_SIZE_MAX && utf8_printable_prefix(text, strlen(text)) == strlen(text));
    }
    const char *name = names.texts[NAME_CONTAINER];
    assert(name || names.unnamed || names.is_pause);
    assert(!name || world.was_raw || name[0] == cgroups[i].id[0]);
}

static void act(void)
{
    uint8_t choice = input_byte(&world.input);
    size_t i = choice / N_ACTIONS % ARRAY_SIZE(cgroups);

    switch ((enum action)(choice % N_ACTIONS)) {
    case FIND:
        find(i);
        break;
    case FORGET:
        name_source_state.forget(world.state, cgroups[i].path);
        break;
    case RECORD:
        send_record(false);
        break;
    case LAST_RECORD:
        send_record(true);
        break;
    case DISPATCH:
        name_source_state.dispatch(world.state);
        break;
    case WAIT:
        world.now += input_half(&world.input) * NSEC_PER_MSEC;
        break;
    case RAW:
        send_raw();
        break;
    case HANG_UP:
        shutdown(world.reader, SHUT_RDWR);
        break;
    case N_ACTIONS:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int sockets[2], fd;

    if (!world.fake)
        enter();
    make_sockets(SOCK_SEQPACKET, sockets);
    world.state_files.records = sockets[0];
    world.reader = sockets[1];
    world.input = (struct input){data, data + size};
    world.now = NSEC_PER_SEC;
    world.n_tickets = 0;
    world.was_raw = false;
    assert(name_source_state.open(&world.sys, &world.state_files, &world.state, &fd) == 0);
    find(0);
    for (unsigned i = 0; i < ACTIONS_MAX && input_left(&world.input) > 0; i++)
        act();
    name_source_state.dispatch(world.state);
    for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++)
        find(i);
    name_source_state.close(world.state);
    close(sockets[0]);
    close(sockets[1]);
    return 0;
}
