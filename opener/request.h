/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon asks its opener, as one packet of a socket pair, and whether it may be asked. Pure: bytes to a
 * request, a request to a verdict.
 *
 * Both ends are one binary: numbers are in the machine's order. Descriptors go beside the packet (SCM_RIGHTS), in this
 * order: the cgroup's directory, the leader.
 */
#ifndef OPENER_REQUEST_H
#define OPENER_REQUEST_H

#include "base/buffer.h"
#include "opener/path.h"
#include "opener/rules.h"
#include "perf/sys.h"

#define OPENER_VERSION 1
#define OPENER_EVENTS_MAX 64
#define OPENER_FDS_MAX 2
/* All texts of one request: function names and paths that probes are set on. */
#define OPENER_TEXT_MAX (16 * 1024)

enum opener_request_kind { OPENER_REQUEST_GROUP = 1, OPENER_REQUEST_FILE };

struct opener_packet_header {
    uint16_t version, kind;
    uint32_t size; /* of the whole packet */
};

/* OPENER_REQUEST_GROUP: this, `n_events` events, `text_size` bytes of text. Nothing in it is, or becomes, a pointer. */
struct opener_group_packet {
    struct opener_packet_header header;
    int32_t pid, cpu; /* pid: -1, or the daemon itself */
    uint64_t flags;
    uint32_t n_events, text_size;
    uint32_t leader, whole; /* 0 or 1: a leader comes along; struct sys_group's `whole` */
};

struct opener_packet_event {
    struct perf_event_attr attr;
    uint32_t text; /* a probe's function or file: 1 + its offset in the text; 0: none */
    uint32_t zero;
};

/* OPENER_REQUEST_FILE: this and a path, with its NUL. */
struct opener_file_packet {
    struct opener_packet_header header;
};

#define OPENER_PACKET_MAX                                                                                              \
    (sizeof(struct opener_group_packet) + OPENER_EVENTS_MAX * sizeof(struct opener_packet_event) + OPENER_TEXT_MAX)

/* A packet that was understood, into which it points. */
struct opener_request {
    enum opener_request_kind kind;
    const struct opener_group_packet *group;
    const struct opener_packet_event *events;
    const char *text, *path;
};

/* `packet` is aligned as uint64_t. -EBADMSG for one that is not a request with so many descriptors. */
int opener_request_parse(const void *packet, size_t size, size_t n_fds, struct opener_request *ret);
/*
 * 0, or why it is refused: -EUNATCH for what it would get if it had been started for sampling; -ENOPKG for a
 * tracepoint, probe or breakpoint that was not in the configuration then, or a PMU that was not there; -ENOKEY for a
 * breakpoint of the configuration without opener.breakpoints; -EBADRQC for what no daemon needs or none may have.
 */
int opener_request_check(const struct opener_request *request, const struct opener_rules *rules);
/* The text of the n-th event; NULL where it has none. Borrowed from the packet. */
const char *opener_request_text(const struct opener_request *request, size_t n);

/* Writes a request for as many of the group's events, from `first` on, as go into one. -EINVAL where not even one does.
 */
int opener_request_write(const struct opener_rules *rules, const struct sys_group *group, size_t first,
                         struct buffer *packet, size_t *ret_n);
int opener_request_write_file(const char *path, struct buffer *packet);

#endif
