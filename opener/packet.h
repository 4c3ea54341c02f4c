/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of each packet from the daemon to its opener. Both ends are the same binary. */
#ifndef OPENER_PACKET_H
#define OPENER_PACKET_H

#include <stdint.h>

#define OPENER_VERSION 1

enum opener_request_kind {
    OPENER_REQUEST_GROUP = 1,
    OPENER_REQUEST_FILE,
    OPENER_REQUEST_STATE,
    OPENER_REQUEST_TALLY,
    OPENER_REQUEST_FINDER,
};

struct opener_packet_header {
    uint16_t version, kind;
    uint32_t size; /* of the whole packet */
};

#endif
