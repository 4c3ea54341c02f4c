/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends arbitrary bytes to the daemon as a compromised symboliser: hellos and answers in any order, of any size, with
 * or without descriptors of all kinds. Each of the daemon's requests completes once, each symbol table that it accepts
 * is valid, and no descriptor is leaked.
 *
 * The symboliser process is /bin/sleep; the fuzzer keeps its socket, and answers in its place.
 */
#include <dlfcn.h>
#include <spawn.h>

#include "process/fdpass.h"
#include "symbols/symbol-table.h"
#include "symbols/symboliser.h"
#include "tests/fuzz/fuzz.h"

enum { REQUESTS_MAX = 3, MESSAGES_MAX = 12 };
enum message_kind { ANSWER, HELLO, RAW, ASK, HANG_UP, N_MESSAGE_KINDS };
enum fd_kind { NONE, SOUND, BYTES, UNSEALED, PIPE, N_FD_KINDS };

static struct {
    struct sys sys;
    sd_event *event;
    int process; /* the symboliser's end of the socket; -1: closed */
    unsigned n_asked, n_done;
} world = {.process = -1};

/* --- replacements for posix_spawn(3) --- */

int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd, int target)
{
    (void)actions;
    if (target != SYMBOLISER_SOCKET) /* keeps the socket of the symboliser, which is started after the finder */
        return 0;
    closep(&world.process);
    world.process = dup(fd);
    assert(world.process >= 0);
    return 0;
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                char *const argv[], char *const envp[])
{
    static __typeof__(&posix_spawn) spawn;
    char *const arguments[] = {(char *)"sleep", (char *)"60", NULL};

    (void)path;
    (void)argv;
    if (!spawn)
        spawn = (__typeof__(&posix_spawn))dlsym(RTLD_NEXT, "posix_spawn");
    return spawn(pid, "/bin/sleep", actions, attr, arguments, envp);
}

/* --- the daemon --- */

static void on_done(void *userdata, const struct symboliser_answer *answer, struct symbol_table *table)
{
    unsigned *done = userdata;

    assert(answer->result <= 0 && (answer->result < 0) == !table && ++*done == 1);
    world.n_done++;
    if (table) {
        uint64_t offset;
        symbol_table_find(table, 0x1008, &offset);
        symbol_table_address(table, 0x1008, &offset);
    }
}

static void turn(void)
{
    while (sd_event_run(world.event, 0) > 0)
        continue;
}

static void ask(struct symboliser *symboliser, unsigned *done)
{
    if (world.n_asked == REQUESTS_MAX)
        return;
    const struct symboliser_file file = {.kind = SYMBOLISER_ELF, .fd = make_file("", 0)};
    assert(symboliser_ask(symboliser, &file, on_done, &done[world.n_asked]) == 0);
    world.n_asked++;
}

/* --- the process --- */

static int make_sound(void)
{
    _cleanup_(symbol_list_done) struct symbol_list list = {0};
    int fd;

    list.segments[list.n_segments++] = (struct symbol_segment){0, 0x10000, 0x1000};
    assert(symbol_list_add(&list, 0x1000, 16, SYMBOL_GLOBAL, "f") == 0);
    assert(symbol_list_seal(&list, SYMBOL_TABLE_SIZE_MAX, &fd) == 0);
    return fd;
}

static int make_memory(struct input *input, bool sealed)
{
    size_t wanted = input_half(input) % 512, size = MIN(wanted, input_left(input));
    int fd = make_file(input->at, size);

    input->at += size;
    if (sealed)
        assert(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0);
    return fd;
}

static int make_fd(struct input *input, enum fd_kind kind)
{
    switch (kind) {
    case SOUND:
        return make_sound();
    case BYTES:
        return make_memory(input, true);
    case UNSEALED:
        return make_memory(input, false);
    case PIPE:
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    case NONE:
    case N_FD_KINDS:
        break;
    }
    return -1;
}

static void answer(struct input *input, enum message_kind kind, uint8_t choice)
{
    struct symboliser_answer message = {.magic = SYMBOLISER_MAGIC, .result = kind == HELLO ? SYMBOLISER_HELLO : 0};
    _cleanup_(closep) int fd = make_fd(input, choice % N_FD_KINDS);
    char bytes[64];

    if (choice & 0x80)
        message.result = -(int32_t)input_byte(input);
    if (kind == RAW) {
        size_t size = input_byte(input) % sizeof(bytes);
        input_copy(input, bytes, size);
        fd_socket_send_one_now(world.process, bytes, size, fd);
        return;
    }
    fd_socket_send_one_now(world.process, &message, sizeof(message), fd);
}

static void act(struct input *input, struct symboliser *symboliser, unsigned *done)
{
    uint8_t choice = input_byte(input);
    enum message_kind kind = choice % N_MESSAGE_KINDS;

    if (kind == ASK)
        ask(symboliser, done);
    else if (kind == HANG_UP)
        closep(&world.process);
    else if (world.process >= 0)
        answer(input, kind, input_byte(input));
    if (kind == HANG_UP)
        world.process = -1;
    if (!(choice & 0x80)) /* otherwise the daemon reads it together with the next message */
        turn();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, data + size};
    struct symboliser *symboliser;
    unsigned done[REQUESTS_MAX] = {0};

    unsigned before = count_fds();
    bool is_first = !world.event;
    if (is_first) {
        sys_init(&world.sys);
        assert(sd_event_new(&world.event) >= 0);
    }
    world.n_asked = world.n_done = 0;
    assert(symboliser_new(&world.sys, world.event, &symboliser) == 0);
    ask(symboliser, done);
    for (unsigned i = 0; i < MESSAGES_MAX && input_left(&input) > 0; i++)
        act(&input, symboliser, done);
    turn();
    symboliser_free(symboliser);
    closep(&world.process);
    world.process = -1;
    assert(world.n_done == world.n_asked);
    assert(is_first || count_fds() == before); /* the first run opens the descriptors of the event loop */
    return 0;
}
