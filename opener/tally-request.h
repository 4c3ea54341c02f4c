/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of the seam to counting cgroups (bpf/calls.h), as a packet of the daemon to its opener. The daemon
 * names counters and cgroups by descriptors that go beside the packet, and nothing else of the program that is loaded.
 */
#ifndef OPENER_TALLY_REQUEST_H
#define OPENER_TALLY_REQUEST_H

#include "base/buffer.h"
#include "bpf/calls.h"
#include "opener/packet.h"
#include "opener/rules.h"

enum opener_tally_call {
    OPENER_TALLY_START = 1,
    OPENER_TALLY_SET_CPU,
    OPENER_TALLY_ATTACH,
    OPENER_TALLY_ASSIGN,
    OPENER_TALLY_WITHDRAW,
    OPENER_TALLY_FLUSH,
    OPENER_TALLY_STOP,
    N_OPENER_TALLY_CALLS
};

/*
 * OPENER_REQUEST_TALLY. Fields without a use for the call are zero. Its reply has the error's sentence where `start`
 * failed, two descriptors where it did not, and the id of the cgroup of `assign`.
 */
struct opener_tally_packet {
    struct opener_packet_header header;
    uint32_t call;
    uint32_t number;          /* set_cpu: the CPU; attach: 0 or 1; assign: the slot */
    uint64_t id;              /* withdraw */
    struct tally_shape shape; /* start */
    /* set_cpu: zero past those of the shape. A descriptor comes along for each TALLY_READ event, in order. */
    struct tally_event events[TALLY_EVENTS_MAX];
};

/* -EBADMSG where it is not a call with its fields, or not one with `n_fds` descriptors. */
int opener_tally_parse(const struct opener_tally_packet *packet, size_t size, size_t n_fds);
/* -EBADRQC where the rules have no tally, or none that is as large. */
int opener_tally_check(const struct opener_tally_packet *packet, const struct opener_rules *rules);
/* Fills the header; the rest is as the caller has it. -ENOMEM. */
int opener_tally_write(const struct opener_tally_packet *packet, struct buffer *ret_packet);

#endif
