/* SPDX-License-Identifier: Apache-2.0 */
/* A call of counting cgroups as a packet: see tally-request.h. */
#include "opener/tally-request.h"

/* Parsing */

/* The fields that each call has, as bits, and the directory of a cgroup that comes along. */
enum { NUMBER = 1, ID = 2, SHAPE = 4, EVENTS = 8, DIRECTORY = 16 };

static const unsigned fields[N_OPENER_TALLY_CALLS] = {
    [OPENER_TALLY_START] = SHAPE,   [OPENER_TALLY_SET_CPU] = NUMBER | EVENTS,
    [OPENER_TALLY_ATTACH] = NUMBER, [OPENER_TALLY_ASSIGN] = NUMBER | DIRECTORY,
    [OPENER_TALLY_WITHDRAW] = ID,
};

static bool event_is_valid(const struct tally_event *event)
{
    return event->source <= TALLY_SWITCHES && event->group < TALLY_GROUPS_MAX && event->zero == 0 &&
           event->gives_times <= (event->source == TALLY_READ);
}

static bool other_fields_are_zero(const struct opener_tally_packet *packet)
{
    static const struct tally_event zero[TALLY_EVENTS_MAX];
    const struct tally_shape *shape = &packet->shape;
    unsigned has = fields[packet->call];

    return (has & NUMBER || packet->number == 0) && (has & ID || packet->id == 0) &&
           (has & SHAPE || !(shape->cpus | shape->slots | shape->events | shape->groups)) &&
           (has & EVENTS || memcmp(packet->events, zero, sizeof(zero)) == 0);
}

static size_t count_fds(const struct opener_tally_packet *packet)
{
    size_t n = (fields[packet->call] & DIRECTORY) != 0;

    for (size_t i = 0; i < TALLY_EVENTS_MAX; i++)
        n += packet->events[i].source == TALLY_READ;
    return n;
}

int opener_tally_parse(const struct opener_tally_packet *packet, size_t size, size_t n_fds)
{
    if (size != sizeof(*packet) || packet->call < OPENER_TALLY_START || packet->call >= N_OPENER_TALLY_CALLS ||
        !other_fields_are_zero(packet) || n_fds != count_fds(packet))
        return -EBADMSG;
    for (size_t i = 0; i < TALLY_EVENTS_MAX; i++)
        if (!event_is_valid(&packet->events[i]))
            return -EBADMSG;
    return packet->call == OPENER_TALLY_ATTACH && packet->number > 1 ? -EBADMSG : 0;
}

/* Checking */

static bool shape_is_allowed(const struct tally_shape *shape, const struct opener_rules *rules)
{
    return shape->cpus == rules->n_cpus && shape->slots > TALLY_SLOT_FIRST &&
           shape->slots <= rules->permissions.tally_slots && shape->events >= 1 && shape->events <= TALLY_EVENTS_MAX &&
           shape->groups >= 1 && shape->groups <= TALLY_GROUPS_MAX;
}

static bool call_is_allowed(const struct opener_tally_packet *packet, const struct opener_rules *rules)
{
    switch ((enum opener_tally_call)packet->call) {
    case OPENER_TALLY_START:
        return shape_is_allowed(&packet->shape, rules);
    case OPENER_TALLY_SET_CPU:
        return packet->number < rules->n_cpus;
    case OPENER_TALLY_ASSIGN:
        return packet->number >= TALLY_SLOT_ROOT && packet->number < rules->permissions.tally_slots;
    case OPENER_TALLY_ATTACH:
    case OPENER_TALLY_WITHDRAW:
    case OPENER_TALLY_FLUSH:
    case OPENER_TALLY_STOP:
    case N_OPENER_TALLY_CALLS:
        break;
    }
    return true;
}

int opener_tally_check(const struct opener_tally_packet *packet, const struct opener_rules *rules)
{
    return rules->permissions.tally_slots && call_is_allowed(packet, rules) ? 0 : -EBADRQC;
}

/* Writing */

int opener_tally_write(const struct opener_tally_packet *packet, struct buffer *ret_packet)
{
    struct opener_tally_packet whole = *packet;

    whole.header =
        (struct opener_packet_header){.version = OPENER_VERSION, .kind = OPENER_REQUEST_TALLY, .size = sizeof(whole)};
    buffer_append(ret_packet, &whole, sizeof(whole));
    return ret_packet->failed ? -ENOMEM : 0;
}
