/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's part of counting cgroups: see tally-server.h. */
#include "opener/tally-server.h"

#include <stdio.h>

/* Each tally has two maps. */
static int check_quota(struct quota *quota, struct error *error)
{
    int r = quota_check(quota, 0, 1, 2, (uint64_t)2 * OPENER_TALLIES_MAX);

    if (r == -EDQUOT)
        return error_set(error, -EBUSY, "%d programs that count cgroups are in memory, and no more may be",
                         OPENER_TALLIES_MAX);
    return r < 0 ? error_set(error, r, "cannot count the programs that count cgroups: %s", strerror(-r)) : 0;
}

static int add_to_quota(struct quota *quota, const struct tally_maps *maps, struct error *error)
{
    int r = quota_add(quota, 0, maps->counts);

    if (r == 0)
        r = quota_add(quota, 0, maps->records);
    return r < 0 ? error_set(error, r, "cannot keep count of the maps of the program that counts cgroups: %s%s",
                             strerror(-r), r == -EUSERS ? "; raise fs.epoll.max_user_watches" : "")
                 : 0;
}

static int start_tally(struct sys *sys, struct quota *quota, const struct tally_shape *shape, struct fd_list *opened,
                       struct error *error)
{
    struct tally_maps maps;
    int r = check_quota(quota, error);

    if (r == 0)
        r = sys->tally->start(sys, shape, &maps, error);
    if (r < 0)
        return r;
    r = add_to_quota(quota, &maps, error);
    if (r < 0) {
        sys->close(sys, maps.counts);
        sys->close(sys, maps.records);
        return r;
    }
    opened->fds[opened->n++] = maps.counts;
    opened->fds[opened->n++] = maps.records;
    return 0;
}

static int serve_start(struct sys *sys, struct quota *quota, const struct tally_shape *shape,
                       struct opener_reply *reply, struct fd_list *opened)
{
    struct error error = {0};
    int r = start_tally(sys, quota, shape, opened, &error);

    if (r < 0)
        snprintf(reply->message, sizeof(reply->message), "%s", error.message);
    else
        reply->n = 2;
    return r;
}

static int serve_set_cpu(struct sys *sys, const struct opener_tally_packet *packet, const struct fd_list *given)
{
    int fds[TALLY_EVENTS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < TALLY_EVENTS_MAX; i++)
        fds[i] = packet->events[i].source == TALLY_READ ? given->fds[n++] : -1;
    return sys->tally->set_cpu(sys, packet->number, packet->events, fds);
}

int opener_tally_serve(struct sys *sys, struct quota *quota, const struct opener_tally_packet *packet,
                       const struct fd_list *given, struct opener_reply *reply, struct fd_list *opened)
{
    if (!sys->tally)
        return -ENOSYS;
    switch ((enum opener_tally_call)packet->call) {
    case OPENER_TALLY_START:
        return serve_start(sys, quota, &packet->shape, reply, opened);
    case OPENER_TALLY_SET_CPU:
        return serve_set_cpu(sys, packet, given);
    case OPENER_TALLY_ATTACH:
        return sys->tally->attach(sys, packet->number == 1);
    case OPENER_TALLY_ASSIGN:
        return sys->tally->assign(sys, given->fds[0], packet->number, &reply->id);
    case OPENER_TALLY_WITHDRAW:
        return sys->tally->withdraw(sys, packet->id);
    case OPENER_TALLY_FLUSH:
        return sys->tally->flush(sys);
    case OPENER_TALLY_STOP:
        sys->tally->stop(sys);
        return 0;
    case N_OPENER_TALLY_CALLS:
        break;
    }
    return -EBADMSG;
}
