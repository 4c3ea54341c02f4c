/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's part of counting cgroups: see tally-server.h. */
#include "opener/tally-server.h"

#include <stdio.h>

static int serve_start(struct sys *sys, struct tally_quota *quota, const struct tally_shape *shape,
                       struct opener_reply *reply, struct fd_list *opened)
{
    int place = tally_quota_find_place(quota);
    struct error error = {0};
    struct tally_maps maps;
    int r = place < 0 ? error_set(&error, place, "%d programs that count cgroups are in memory, and no more may be",
                                  TALLY_QUOTA)
                      : sys->tally->start(sys, shape, &maps, &error);

    if (r < 0) {
        snprintf(reply->message, sizeof(reply->message), "%s", error.message);
        return r;
    }
    tally_quota_take(quota, place, maps.counts);
    reply->n = 2;
    opened->fds[opened->n++] = maps.counts;
    opened->fds[opened->n++] = maps.records;
    return 0;
}

static int serve_set_cpu(struct sys *sys, const struct opener_tally_packet *packet, const struct fd_list *given)
{
    int fds[TALLY_EVENTS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < TALLY_EVENTS_MAX; i++)
        fds[i] = packet->events[i].source == TALLY_READ ? given->fds[n++] : -1;
    return sys->tally->set_cpu(sys, packet->number, packet->events, fds);
}

int opener_tally_serve(struct sys *sys, struct tally_quota *quota, const struct opener_tally_packet *packet,
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
