/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets between the daemon and its opener, and the check of requests against the opener's rules. Pure: parses
 * bytes into a request and checks whether it is allowed.
 *
 * Each request is one packet on a SOCK_SEQPACKET socket pair and gets one reply. Both ends are the same binary, so
 * numbers are in the machine's byte order. Descriptors are attached to the packet (process/fdpass.h): for a group first
 * the directory of the cgroup, then the leader; for the engine bpf the counters or the directory of the cgroup. The
 * daemon cannot choose the BPF program, only its shape.
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
    OPENER_REQUEST_BPF,
    OPENER_REQUEST_FINDER,
};

/* The first bytes of each request. */
struct opener_packet_header {
    uint16_t version, kind;
    uint32_t size; /* of the whole packet */
};

enum opener_bpf_call {
    OPENER_BPF_START = 1,
    OPENER_BPF_SET_CPU,
    OPENER_BPF_ATTACH,
    OPENER_BPF_ASSIGN,
    OPENER_BPF_WITHDRAW,
    OPENER_BPF_FLUSH,
    OPENER_BPF_STOP,
    OPENER_OFF_CPU_START,
    OPENER_OFF_CPU_SET_CPU,
    OPENER_OFF_CPU_READ,
    OPENER_OFF_CPU_STOP,
    N_OPENER_BPF_CALLS
};

/*
 * OPENER_REQUEST_BPF: a call of struct bpf_calls (bpf/calls.h). Fields that the call does not use are zero. The
 * reply to `start` has two descriptors, or the sentence of the error; the reply to `assign` has the id of the cgroup,
 * and that to off_cpu_start() the number of the program.
 */
struct opener_bpf_packet {
    struct opener_packet_header header;
    uint32_t call;
    uint32_t number;        /* set_cpu: the CPU; attach: 0 or 1; assign: the slot */
    uint64_t id;            /* withdraw: the cgroup; off_cpu: the program's number, or on start the threshold in ns */
    struct bpf_shape shape; /* start */
    /*
     * set_cpu: elements past the shape's events are zero. The packet has a descriptor for each SOURCE_READ event, in
     * order.
     */
    struct bpf_event events[BPF_EVENTS_MAX];
};
/* Fills in the packet's header and writes the packet to the empty buffer. Returns -ENOMEM on failure. */
int opener_bpf_write(const struct opener_bpf_packet *packet, struct buffer *ret_packet);

#define OPENER_EVENTS_MAX FD_LIST_MAX
/* Limit of the total size of a request's texts: names of functions and paths of programs, for probes. */
#define OPENER_TEXT_MAX (16 * 1024)
#define OPENER_MESSAGE_MAX 512

/*
 * OPENER_REQUEST_GROUP: this, then `n_events` events, then `text_size` bytes of text. No number in it becomes a
 * pointer.
 */
struct opener_group_packet {
    struct opener_packet_header header;
    int32_t pid, cpu; /* pid: -1, the daemon itself, or a task that is sampled */
    uint64_t flags;
    uint32_t n_events, text_size;
    uint32_t leader, whole; /* 0 or 1: a leader is among the descriptors; `whole` of struct sys_group */
};

struct opener_packet_event {
    struct perf_event_attr attr;
    uint32_t text; /* a probe's function or file: 1 plus its offset in the text; 0: none */
    uint32_t zero;
};

/* OPENER_REQUEST_FILE: this and a path, with its NUL. */
struct opener_file_packet {
    struct opener_packet_header header;
};

/*
 * OPENER_REQUEST_FINDER: the header alone. Its reply has two sockets: see struct sys_calls. A finder that hangs cannot
 * be ended, so their number is limited; above it, the error is -EBUSY.
 */
#define OPENER_FINDERS_MAX 8

/* OPENER_REQUEST_STATE. The reply has only an error code and no descriptor. */
struct opener_state_packet {
    struct opener_packet_header header;
    struct state_request request;
};

#define OPENER_PACKET_MAX                                                                                              \
    (sizeof(struct opener_group_packet) + OPENER_EVENTS_MAX * sizeof(struct opener_packet_event) + OPENER_TEXT_MAX)

/* A parsed packet. Its pointers point into the packet. */
struct opener_request {
    enum opener_request_kind kind;
    const struct opener_group_packet *group;
    const struct opener_packet_event *events;
    const char *text, *path;
    const struct state_request *state;
    const struct opener_bpf_packet *bpf;
};

/* `packet` is aligned like uint64_t. Returns -EBADMSG if it is not a valid request with exactly `n_fds` descriptors. */
int opener_request_parse(const void *packet, size_t size, size_t n_fds, struct opener_request *ret);
/*
 * Returns 0, or the reason why the request is refused: -EUNATCH if it would be allowed by an opener that was started
 * for sampling, or for a BPF program with this many slots; -ENOPKG for a tracepoint, probe or breakpoint that was not
 * in the configuration at the start, or a PMU that did not exist then; -ENOKEY for a breakpoint of the configuration
 * without opener.breakpoints; -EBADRQC for anything else, which no daemon needs or may have.
 */
int opener_request_check(const struct opener_request *request, const struct opener_rules *rules);
/* Returns the text of the n-th event, or NULL. It is borrowed from the packet. */
const char *opener_request_text(const struct opener_request *request, size_t n);

/*
 * Writes a request for as many of the group's events as fit, from `first` on, to the empty buffer `packet`; *ret_n is
 * their number. Returns -EINVAL if not even one event fits, and -ENOMEM when out of memory.
 */
int opener_request_write(const struct opener_rules *rules, const struct sys_group *group, size_t first,
                         struct buffer *packet, size_t *ret_n);
/* Write a request of another kind to an empty buffer. They return -ENOMEM on failure. */
int opener_request_write_file(const char *path, struct buffer *packet);
int opener_request_write_finder(struct buffer *packet);
int opener_request_write_state(const struct state_request *request, struct buffer *packet);

/* The reply to a request. It carries a descriptor for each result that is 0, in order. */
struct opener_reply {
    int32_t error; /* of the request as a whole, and then there are no results */
    uint32_t n;
    /* The id of a cgroup, the number of a program, or how many earlier finders have not ended. */
    uint64_t id;
    struct off_cpu_totals totals; /* off_cpu_read() */
    union {
        int32_t results[OPENER_EVENTS_MAX];
        char message[OPENER_MESSAGE_MAX]; /* the message of an error with its NUL, or "" */
    };
};
/* The number of bytes to send. */
size_t opener_reply_size(const struct opener_reply *reply);
/* Adds a result: a descriptor, which also goes to `opened`, or -errno. */
void opener_reply_add(struct opener_reply *reply, struct fd_list *opened, int result);

#endif
