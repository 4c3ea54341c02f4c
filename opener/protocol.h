/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets between the daemon and the opener, and whether the rules allow a request. Pure.
 *
 * The first bytes of each packet from the daemon to its opener. Both ends are the same binary.
 *
 * A call of the seam to counting cgroups (bpf/calls.h), as a packet of the daemon to its opener. The daemon
 * names counters and cgroups by descriptors that go beside the packet, and nothing else of the program that is loaded.
 *
 * A request of the daemon to its opener, as one packet of a socket pair; whether the rules allow it; the reply. Pure:
 * bytes to a request, a request to a verdict.
 *
 * Both ends are the same binary, so numbers are in the machine's byte order. Descriptors go beside the packet
 * (process/fdpass.h), in this order: the cgroup's directory, the leader.
 */
#ifndef OPENER_PROTOCOL_H
#define OPENER_PROTOCOL_H

#include <stdint.h>

#include "base/buffer.h"
#include "bpf/calls.h"
#include "cgroups/state-files.h"
#include "opener/rules.h"
#include "perf/sys.h"
#include "process/fdpass.h"

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
/* Fills the header; the rest is as the caller has it. -ENOMEM. */
int opener_tally_write(const struct opener_tally_packet *packet, struct buffer *ret_packet);

#define OPENER_EVENTS_MAX FD_LIST_MAX
/* All texts of one request: names of functions, and paths of programs, that probes are set in. */
#define OPENER_TEXT_MAX (16 * 1024)
#define OPENER_MESSAGE_MAX 512

/* OPENER_REQUEST_GROUP: this, `n_events` events, `text_size` bytes of text. No number in it becomes a pointer. */
struct opener_group_packet {
    struct opener_packet_header header;
    int32_t pid, cpu; /* pid: -1, the daemon itself, or a task that is sampled */
    uint64_t flags;
    uint32_t n_events, text_size;
    uint32_t leader, whole; /* 0 or 1: a leader is among the descriptors; struct sys_group's `whole` */
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

/*
 * OPENER_REQUEST_FINDER: the header alone. Its reply has two sockets: see start_finder() of struct sys. A finder that
 * hangs cannot be ended, so there are at most this many at a time, and then the error is -EBUSY.
 */
#define OPENER_FINDERS_MAX 8

/* OPENER_REQUEST_STATE: its reply has an error or nothing, and no descriptor. */
struct opener_state_packet {
    struct opener_packet_header header;
    struct state_request request;
};

#define OPENER_PACKET_MAX                                                                                              \
    (sizeof(struct opener_group_packet) + OPENER_EVENTS_MAX * sizeof(struct opener_packet_event) + OPENER_TEXT_MAX)

/* A parsed packet; it points into the packet. */
struct opener_request {
    enum opener_request_kind kind;
    const struct opener_group_packet *group;
    const struct opener_packet_event *events;
    const char *text, *path;
    const struct state_request *state;
    const struct opener_tally_packet *tally;
};

/* `packet` is aligned as uint64_t. -EBADMSG where it is not a request, or not one with `n_fds` descriptors. */
int opener_request_parse(const void *packet, size_t size, size_t n_fds, struct opener_request *ret);
/*
 * 0, or why the request is refused: -EUNATCH where an opener that was started for sampling, or for a tally with as many
 * slots, would allow it; -ENOPKG for a tracepoint, probe or breakpoint that was not in the configuration at the start,
 * or a PMU that did not exist then; -ENOKEY for a breakpoint of the configuration without opener.breakpoints; -EBADRQC
 * for all else that no daemon needs or may have.
 */
int opener_request_check(const struct opener_request *request, const struct opener_rules *rules);
/* The text of the n-th event, NULL where it has none; borrowed from the packet. */
const char *opener_request_text(const struct opener_request *request, size_t n);

/*
 * Writes a request for the group's events from `first` on, for as many as it has room for, which *ret_n says. -EINVAL
 * where it has no room for one event.
 */
int opener_request_write(const struct opener_rules *rules, const struct sys_group *group, size_t first,
                         struct buffer *packet, size_t *ret_n);
int opener_request_write_file(const char *path, struct buffer *packet);
int opener_request_write_finder(struct buffer *packet);
int opener_request_write_state(const struct state_request *request, struct buffer *packet);

/* The reply to a request. A descriptor comes along for each result that is 0, in order. */
struct opener_reply {
    int32_t error; /* of the request as a whole: nothing was tried, or all of it failed */
    uint32_t n;
    uint64_t id; /* of a cgroup; of finders, how many that were started before have not ended */
    union {
        int32_t results[OPENER_EVENTS_MAX];
        char message[OPENER_MESSAGE_MAX]; /* with an error: its sentence with its NUL, if it has one */
    };
};
/* How many of its bytes are sent. */
size_t opener_reply_size(const struct opener_reply *reply);
/* One more result: a descriptor, or -errno. */
void opener_reply_add(struct opener_reply *reply, struct fd_list *opened, int result);

/* The first packet of the opener, with a descriptor of its /proc/PID/stat where it can be opened. */
struct opener_hello {
    int32_t error; /* 0, or why it cannot start: `message` says so */
    uint32_t filtered;
    uint64_t capabilities; /* a bit each */
    char message[240];
};

#endif
