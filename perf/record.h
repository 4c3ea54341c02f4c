/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record of a perf ring buffer, decoded (perf_event_open(2), "MMAP layout"; include/uapi/linux/perf_event.h).
 *
 * Pure and bounds-checked: whatever the bytes are, nothing outside of them is read. Arrays and strings point into the
 * record's bytes, in the machine's byte order; they live as long as those.
 */
#ifndef PERF_RECORD_H
#define PERF_RECORD_H

#include "perf/record-sample.h"

struct record_mmap {
    uint32_t pid, tid;
    uint64_t address, length, offset;
    uint32_t major, minor; /* MMAP2 without build id; else 0 */
    uint64_t inode, inode_generation;
    uint32_t protection, flags;
    unsigned char build_id[20];
    uint8_t build_id_size; /* 0: none */
    const char *file;
};

struct record {
    uint32_t type;       /* PERF_RECORD_* */
    uint16_t misc, size; /* bytes, with the header */
    const struct perf_event_header *bytes;
    struct record_id id;
    union {
        struct record_sample sample; /* SAMPLE; of READ the times, `read` and `n_read` */
        struct record_mmap mmap;     /* MMAP, MMAP2 */
        struct {
            uint32_t pid, tid;
            const char *comm;
        } comm;
        struct {
            uint32_t pid, parent_pid, tid, parent_tid;
            uint64_t time;
        } task; /* FORK, EXIT */
        struct {
            uint64_t id, lost;
        } lost; /* LOST; of LOST_SAMPLES only `lost` */
        struct {
            uint64_t time, id, stream_id;
        } throttle; /* THROTTLE, UNTHROTTLE */
        struct {
            uint32_t next_pid, next_tid;
        } context_switch; /* SWITCH_CPU_WIDE */
        struct {
            uint64_t id;
            const char *path;
        } cgroup;
        struct {
            uint64_t address;
            uint32_t length;
            uint16_t ksym_type, flags;
            const char *name;
        } ksymbol;
    };
};

/*
 * Decodes the record whose header starts at `bytes` (aligned to 8). -EBADMSG: it is shorter than its type needs, larger
 * than `size`, not a multiple of 8 (the kernel pads), or has a text that does not end. Of an unknown type only the
 * header is decoded, and the trailer where there is one. A longer record than its type needs is no error, as newer
 * kernels add fields at the end.
 */
int record_decode(const void *bytes, size_t size, const struct record_layout *layout, struct record *ret);

/* "SAMPLE", "MMAP2"...; NULL for an unknown type (known are those of Linux 6.19). */
const char *record_type_name(uint32_t type);

#endif
