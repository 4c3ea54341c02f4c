/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's part of counting cgroups: see tally-client.h. */
#include "opener/tally-client.h"

#include <sys/socket.h>

#include "base/cleanup.h"

/* The sentence for an error without one: the opener did not come to making the call. */
static int start_fail(int code, const char *message, struct error *error)
{
    static const struct {
        int error;
        const char *sentence;
    } known[] = {
        {EUNATCH, "perfcountd was started without this engine, or for fewer cgroups; restart perfcountd"},
        {ENOSYS, "this perfcountd is built without counting by BPF"},
        {ETIMEDOUT, "the opener does not answer; if it never does, restart perfcountd"},
        {EPIPE, "the opener is gone; restart perfcountd"},
    };

    if (*message)
        return error_set(error, code, "%s", message);
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i].error == -code)
            return error_set(error, code, "%s", known[i].sentence);
    return error_set(error, code, "the opener refuses to count cgroups by BPF (%s)", error_name(code));
}

static int client_ask_tally(struct sys *sys, const struct opener_tally_packet *packet, const struct fd_list *given,
                            struct opener_reply *reply, struct fd_list *opened)
{
    struct opener_client *client = sys->userdata;
    bool start = packet->call == OPENER_TALLY_START;

    buffer_clear(&client->packet);
    int r = opener_tally_write(packet, &client->packet);
    return r < 0 ? r
                 : opener_client_ask(client, given, start ? 2 : 0,
                                     start ? OPENER_TALLY_PATIENCE_MS : OPENER_PATIENCE_MS, reply, opened);
}

/* A call whose reply is an error or nothing. */
static int client_order_tally(struct sys *sys, const struct opener_tally_packet *packet, const struct fd_list *given)
{
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_reply reply;

    return client_ask_tally(sys, packet, given, &reply, &opened);
}

static int client_start(struct sys *sys, const struct tally_shape *shape, struct tally_maps *ret, struct error *error)
{
    const struct opener_tally_packet packet = {.call = OPENER_TALLY_START, .shape = *shape};
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    struct opener_client *client = sys->userdata;
    struct opener_reply reply = {0};
    int r = client_ask_tally(sys, &packet, &(struct fd_list){0}, &reply, &opened);

    if (r == 0 && opened.n < 2)
        r = -EMFILE;
    if (r < 0) {
        reply.message[sizeof(reply.message) - 1] = '\0';
        return start_fail(r, r == reply.error ? reply.message : "", error);
    }
    client->tally_events = shape->events;
    *ret = (struct tally_maps){.counts = opened.fds[0], .records = opened.fds[1]};
    opened.n = 0;
    return 0;
}

static int client_set_cpu(struct sys *sys, unsigned cpu, const struct tally_event *events, const int *fds)
{
    const struct opener_client *client = sys->userdata;
    struct opener_tally_packet packet = {.call = OPENER_TALLY_SET_CPU, .number = cpu};
    struct fd_list given = {0};

    for (size_t i = 0; i < client->tally_events; i++) {
        packet.events[i] = events[i];
        if (events[i].source == TALLY_READ)
            given.fds[given.n++] = fds[i];
    }
    return client_order_tally(sys, &packet, &given);
}

static int client_attach(struct sys *sys, bool attached)
{
    const struct opener_tally_packet packet = {.call = OPENER_TALLY_ATTACH, .number = attached};

    return client_order_tally(sys, &packet, &(struct fd_list){0});
}

static int client_assign(struct sys *sys, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    const struct opener_tally_packet packet = {.call = OPENER_TALLY_ASSIGN, .number = slot};
    _cleanup_(fd_list_close) struct fd_list opened = {0};
    const struct fd_list given = {1, {cgroup_fd}};
    struct opener_reply reply;
    int r = client_ask_tally(sys, &packet, &given, &reply, &opened);

    if (r == 0)
        *ret_id = reply.id;
    return r;
}

static int client_withdraw(struct sys *sys, uint64_t id)
{
    const struct opener_tally_packet packet = {.call = OPENER_TALLY_WITHDRAW, .id = id};

    return client_order_tally(sys, &packet, &(struct fd_list){0});
}

static int client_flush(struct sys *sys)
{
    const struct opener_tally_packet packet = {.call = OPENER_TALLY_FLUSH};

    return client_order_tally(sys, &packet, &(struct fd_list){0});
}

/* Before the daemon has heard of it, too. */
static bool client_is_lost(struct sys *sys)
{
    const struct opener_client *client = sys->userdata;
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    return client->lost || recvmsg(client->socket, &message, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void client_stop(struct sys *sys)
{
    const struct opener_tally_packet packet = {.call = OPENER_TALLY_STOP};

    (void)client_order_tally(sys, &packet, &(struct fd_list){0});
}

void opener_client_attach_tally(struct sys *sys)
{
    static const struct tally_calls calls = {
        .start = client_start,
        .set_cpu = client_set_cpu,
        .attach = client_attach,
        .assign = client_assign,
        .withdraw = client_withdraw,
        .flush = client_flush,
        .is_lost = client_is_lost,
        .stop = client_stop,
    };

    sys->tally = &calls;
}
