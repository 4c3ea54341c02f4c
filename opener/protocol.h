/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets between the daemon and its opener, and the check of requests against the opener's rules. All functions
 * are pure: they parse bytes into a request and check whether it is allowed.
 *
 * Each request is one packet on a SOCK_SEQPACKET socket pair and gets one reply. The daemon and the opener run the same
 * binary, so numbers in packets are in native byte order. Descriptors are attached to a packet (process/fdpass.h): for
 * an event group, first the cgroup directory, then the leader; for the bpf engine, the counters or the cgroup
 * directory. The daemon can choose only the shape of the BPF program, not the program itself.
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

/* The header at the start of each request packet. */
struct opener_packet_header {
    uint16_t version, kind;
    uint32_t size; /* size of the whole packet in bytes */
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
 * OPENER_REQUEST_BPF: a call of struct bpf_calls (bpf/calls.h). Fields that the call does not use must be zero. The
 * reply to `start` has two descriptors, or an error message. The reply to `assign` has the id of the cgroup, and the
 * reply to off_cpu_start() has the number of the program.
 */
struct opener_bpf_packet {
    struct opener_packet_header header;
    uint32_t call;
    uint32_t number; /* the CPU for set_cpu, 0 or 1 for attach, the slot for assign */
    /*
     * The cgroup for withdraw, the threshold in ns for off_cpu_start(), the program's number for other off-CPU calls.
     */
    uint64_t id;
    struct bpf_shape shape; /* for start */
    /*
     * The events for set_cpu, and then zeroed elements. The packet has a descriptor for each event with SOURCE_READ, in
     * the order of this array.
     */
    struct bpf_event events[BPF_EVENTS_MAX];
};
/* Writes the packet, with its header filled in, to an empty buffer. Returns -ENOMEM on failure. */
int opener_bpf_write(const struct opener_bpf_packet *packet, struct buffer *ret_packet);

#define OPENER_EVENTS_MAX FD_LIST_MAX
/* Maximum total size of the strings in a request: the probes' functions and program paths. */
#define OPENER_TEXT_MAX (16 * 1024)
#define OPENER_MESSAGE_MAX 512

/*
 * A packet of the kind OPENER_REQUEST_GROUP: this struct, then `n_events` events, then `text_size` bytes of text. No
 * number in the packet is ever used as a pointer.
 */
struct opener_group_packet {
    struct opener_packet_header header;
    int32_t pid, cpu; /* `pid` is -1, the daemon itself, or a task to sample */
    uint64_t flags;
    uint32_t n_events, text_size;
    uint32_t leader, whole; /* booleans: the packet has the leader's descriptor; `whole` of struct sys_group */
};

struct opener_packet_event {
    struct perf_event_attr attr;
    uint32_t text; /* 1 + offset of a probe's function or file in the text; 0 for other events */
    uint32_t zero;
};

/* A packet of the kind OPENER_REQUEST_FILE: this struct, then a path with its NUL. */
struct opener_file_packet {
    struct opener_packet_header header;
};

/*
 * A packet of the kind OPENER_REQUEST_FINDER consists of a header only. The reply has two sockets (see struct
 * sys_calls). Finders that hang cannot be killed, so their number is limited, and further requests fail with -EBUSY.
 */
#define OPENER_FINDERS_MAX 8

/* A packet of the kind OPENER_REQUEST_STATE, whose reply has only an error code and no descriptor. */
struct opener_state_packet {
    struct opener_packet_header header;
    struct state_request request;
};

#define OPENER_PACKET_MAX                                                                                              \
    (sizeof(struct opener_group_packet) + OPENER_EVENTS_MAX * sizeof(struct opener_packet_event) + OPENER_TEXT_MAX)

/* A parsed request, whose members point into the packet. */
struct opener_request {
    enum opener_request_kind kind;
    const struct opener_group_packet *group;
    const struct opener_packet_event *events;
    const char *text, *path;
    const struct state_request *state;
    const struct opener_bpf_packet *bpf;
};

/*
 * `packet` must be aligned like uint64_t. Returns -EBADMSG if the packet is not a valid request with exactly `n_fds`
 * descriptors.
 */
int opener_request_parse(const void *packet, size_t size, size_t n_fds, struct opener_request *ret);
/*
 * Returns 0 if the request is allowed, or else the reason for refusing it: -EUNATCH if the opener was started without
 * sampling or for a BPF program with fewer slots, so that a restart would help; -ENOPKG if, when the opener was
 * started, the tracepoint, probe or breakpoint was not in the configuration or the PMU did not exist; -ENOKEY for a
 * configured breakpoint if opener.breakpoints is not set; -EBADRQC for any other request, which no intact daemon sends.
 */
int opener_request_check(const struct opener_request *request, const struct opener_rules *rules);
/* Returns the text of the n-th event, borrowed from the packet, or NULL if the event has no text. */
const char *opener_request_text(const struct opener_request *request, size_t n);

/*
 * Fills the empty buffer `packet` with a request for as many of the group's events as fit, starting at `first`; *ret_n
 * is their number. Returns -EINVAL if not even one event fits, and -ENOMEM when out of memory.
 */
int opener_request_write(const struct opener_rules *rules, const struct sys_group *group, size_t first,
                         struct buffer *packet, size_t *ret_n);
/* The functions below write the other kinds of requests to an empty buffer, and return -ENOMEM on failure. */
int opener_request_write_file(const char *path, struct buffer *packet);
int opener_request_write_finder(struct buffer *packet);
int opener_request_write_state(const struct state_request *request, struct buffer *packet);

/* The reply to a request. A descriptor is attached for each zero result, in order. */
struct opener_reply {
    int32_t error; /* error of the request as a whole; if nonzero, there are no results */
    uint32_t n;
    /* The id of a cgroup, the number of a BPF program, or how many earlier finders are still running. */
    uint64_t id;
    struct off_cpu_totals totals; /* for off_cpu_read() */
    union {
        int32_t results[OPENER_EVENTS_MAX];
        char message[OPENER_MESSAGE_MAX]; /* the error message with its NUL, or "" */
    };
};
/* Returns how many bytes of the reply to send. */
size_t opener_reply_size(const struct opener_reply *reply);
/* Adds a result to the reply: -errno, or a descriptor, which is also added to `opened`. */
void opener_reply_add(struct opener_reply *reply, struct fd_list *opened, int result);

#endif
