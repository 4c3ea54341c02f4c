/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record of a perf ring buffer, decoded (perf_event_open(2), "MMAP layout"; include/uapi/linux/perf_event.h).
 *
 * Pure and bounds-checked: whatever the bytes are, nothing outside of them is read. Arrays and strings point into the
 * record's bytes, in the machine's byte order; they live as long as those.
 */
#ifndef PERF_RECORD_H
#define PERF_RECORD_H

#include <linux/perf_event.h>

#include "base/util.h"

/* Of the attr that the ring's events were opened with: what decides which fields a record has. */
struct record_layout {
    uint64_t sample_type, read_format, branch_sample_type;
    uint64_t sample_regs_user, sample_regs_intr;
    bool sample_id_all;
};
/* That of the records of an event that was opened with `attr`. */
struct record_layout record_layout_of(const struct perf_event_attr *attr);

/* What every record can carry: in a sample as its fields, in others as the trailer that sample_id_all adds. */
struct record_id {
    uint32_t pid, tid; /* UINT32_MAX where not known */
    uint64_t time;     /* ns of the attr's clock; 0 where not known */
    uint64_t id, stream_id;
    uint32_t cpu; /* UINT32_MAX where not known */
};

struct record_value {
    uint64_t value, id, lost;
};

/* Of PERF_SAMPLE_REGS_USER and _INTR: one value for each bit of the attr's mask, from the lowest. */
struct record_registers {
    uint64_t abi;           /* PERF_SAMPLE_REGS_ABI_*; where it is NONE there are no values */
    const uint64_t *values; /* NULL: none */
};

/* What the sample_type does not ask for is 0. */
struct record_sample {
    uint64_t ip, address, period, weight, data_source, transaction, physical_address, cgroup;
    uint64_t data_page_size, code_page_size;
    uint64_t time_enabled, time_running; /* of `read` */
    const uint64_t *read;                /* the values of PERF_SAMPLE_READ as they stand: use record_read_value() */
    size_t n_read;
    const uint64_t *callchain; /* innermost first, with the PERF_CONTEXT_* markers among the addresses */
    size_t n_callchain;
    const void *raw; /* with the kernel's padding at its end */
    size_t raw_size;
    const struct perf_branch_entry *branches; /* the latest first */
    const uint64_t *branch_counters;          /* one for each branch; NULL: none */
    size_t n_branches;
    uint64_t branch_index; /* PERF_SAMPLE_BRANCH_HW_INDEX */
    struct record_registers user_registers, interrupt_registers;
    const void *stack; /* of user space, from the stack pointer */
    size_t stack_size; /* what was really copied */
    const void *aux;
    size_t aux_size;
};

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
    uint32_t type; /* PERF_RECORD_* */
    uint16_t misc, size;
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
 * Decodes the record whose header starts at `bytes` (aligned to 8). -EBADMSG: shorter than its type needs, larger than
 * `size`, of a size that is no multiple of 8 (the kernel pads), or with a text that does not end. A type that is not
 * known is decoded as far as its header (and its trailer where there is one); more than a type needs is no error, as
 * newer kernels add to the ends.
 */
int record_decode(const void *bytes, size_t size, const struct record_layout *layout, struct record *ret);

/* The n-th value of a sample's read, of the same layout; all 0 beyond `n_read`, `id` and `lost` where not asked for. */
struct record_value record_read_value(const struct record_sample *sample, const struct record_layout *layout, size_t n);

/* Where it stands; `n` is below `n_read`. */
const uint64_t *record_read_words(const struct record_sample *sample, const struct record_layout *layout, size_t n);

/* "SAMPLE", "MMAP2"...; NULL for a type that is not known (they are known up to Linux 6.19). */
const char *record_type_name(uint32_t type);

#endif
