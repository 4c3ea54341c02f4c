/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes one record of a perf ring buffer (perf_event_open(2), "MMAP layout"; include/uapi/linux/perf_event.h), and
 * walks the callchain of a sample.
 *
 * Pure and bounds-checked: whatever the bytes are, nothing outside of them is read. Arrays and strings of the result
 * point into the record's bytes, in the machine's byte order, and live as long as the bytes.
 */
#ifndef PERF_RECORD_H
#define PERF_RECORD_H

#include <linux/perf_event.h>

#include "base/buffer.h"
#include "base/util.h"

#define WORD sizeof(uint64_t)

/*
 * A position in the words of a record. Taking words beyond the end is allowed and sets `bad`. Thus a decoder takes the
 * fields in the kernel's order and checks once, at the end, whether the record had all of them.
 */
struct record_cursor {
    const uint64_t *at, *end;
    bool bad; /* words were taken beyond the end; from then on every word is 0 */
};

/* Returns NULL if fewer than `n` words are left. */
static inline const void *take_words(struct record_cursor *cursor, uint64_t n)
{
    const uint64_t *words = cursor->at;

    if (n > (uint64_t)(cursor->end - words)) {
        cursor->bad = true;
        cursor->at = cursor->end;
        return NULL;
    }
    cursor->at += n;
    return words;
}

/* The rest of the record as text. If the text is not NUL-terminated, returns "" and sets `bad`. */
static inline const char *take_text(struct record_cursor *cursor)
{
    const char *text = (const char *)cursor->at;
    size_t size = (size_t)(cursor->end - cursor->at) * WORD;
    const char *end = memchr(text, '\0', size);

    if (!end) {
        cursor->bad = true;
        return "";
    }
    cursor->at += (size_t)(end - text) / WORD + 1;
    return text;
}

/* The members of an event's attr that decide which fields its records have. */
struct record_layout {
    uint64_t sample_type, read_format, branch_sample_type;
    uint64_t sample_regs_user, sample_regs_intr;
    bool sample_id_all;
};
/* The layout of the records of an event that was opened with `attr`. */
struct record_layout record_layout_of(const struct perf_event_attr *attr);

/*
 * The fields that every record can have: a sample has them among its other fields, any other record in the trailer that
 * sample_id_all adds.
 */
struct record_id {
    uint32_t pid, tid; /* UINT32_MAX if the process is unknown */
    uint64_t time;     /* in ns, by the attr's clock, or 0 if unknown */
    uint64_t id, stream_id;
    uint32_t cpu; /* UINT32_MAX if the CPU is unknown */
};

struct record_value {
    uint64_t value, id, lost;
};

/* PERF_SAMPLE_REGS_USER or _INTR: one value for each bit of the attr's mask, lowest bit first. */
struct record_registers {
    uint64_t abi;           /* PERF_SAMPLE_REGS_ABI_*; PERF_SAMPLE_REGS_ABI_NONE: there are no values */
    const uint64_t *values; /* NULL if the sample has no values */
};

struct off_cpu_wait;

/* Fields that sample_type does not ask for are 0. */
struct record_sample {
    uint64_t ip, address, period, weight, data_source, transaction, physical_address, cgroup;
    uint64_t data_page_size, code_page_size;
    uint64_t time_enabled, time_running; /* the times that precede or follow the values in `read` */
    const uint64_t *read;                /* the values of PERF_SAMPLE_READ, not decoded: use record_read_value() */
    size_t n_read;
    const uint64_t *callchain; /* innermost first, with the PERF_CONTEXT_* markers among the addresses */
    size_t n_callchain;
    const void *raw; /* the data, with the kernel's padding at its end */
    size_t raw_size;
    const struct perf_branch_entry *branches; /* latest first */
    const uint64_t *branch_counters;          /* one for each branch, or NULL */
    size_t n_branches;
    uint64_t branch_index; /* PERF_SAMPLE_BRANCH_HW_INDEX */
    struct record_registers user_registers, interrupt_registers;
    const void *stack; /* copy of the user stack, from the stack pointer on */
    size_t stack_size; /* size of the copy, at most what the attr asks for */
    const void *aux;
    size_t aux_size;
    const struct off_cpu_wait *wait; /* set by sampler/off-cpu.c for samples of the off-cpu event; else NULL */
};

/*
 * The n-th value of a sample's read. All members are 0 if `n` is not below n_read; `id` and `lost` are also 0 if the
 * layout does not have them.
 */
struct record_value record_read_value(const struct record_sample *sample, const struct record_layout *layout, size_t n);

/* Returns the words of the n-th value in the record; `n` must be below n_read. */
const uint64_t *record_read_words(const struct record_sample *sample, const struct record_layout *layout, size_t n);

struct record_cursor;

struct record_mmap {
    uint32_t pid, tid;
    uint64_t address, length, offset;
    uint32_t major, minor; /* set only in an MMAP2 without a build id; otherwise 0 */
    uint64_t inode, inode_generation;
    uint32_t protection, flags;
    unsigned char build_id[20];
    uint8_t build_id_size; /* 0 if the record has no build id */
    const char *file;
};

struct record {
    uint32_t type;       /* PERF_RECORD_* */
    uint16_t misc, size; /* `size` in bytes, including the header; bytes->size may be too large */
    const struct perf_event_header *bytes;
    struct record_id id;
    union {
        struct record_sample sample; /* for SAMPLE; READ sets only the times, `read` and `n_read` */
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
        } lost; /* for LOST; LOST_SAMPLES sets only `lost` */
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
 * Decodes the record whose header is at `bytes`, aligned to 8, with `size` bytes available. Returns -EBADMSG if the
 * record is shorter than its type needs, is larger than `size`, is not a multiple of 8 (the kernel pads), or has an
 * unterminated string. A record of an unknown type is decoded up to its header and trailer. Further fields at the end
 * are accepted, since newer kernels add some.
 */
int record_decode(const void *bytes, size_t size, const struct record_layout *layout, struct record *ret);
/* Appends a copy of the record, whose header has the record's true size. Sets out->failed if memory runs out. */
void record_append(const struct record *record, struct buffer *out);

/* "SAMPLE", "MMAP2"..., or NULL for an unknown type. Knows the types of Linux 6.19. */
const char *record_type_name(uint32_t type);

/*
 * The address space to which an address belongs. SPACE_OTHER belongs to guests and hypervisors, whose addresses cannot
 * be symbolised.
 */
enum address_space { SPACE_USER, SPACE_KERNEL, SPACE_OTHER };

/* A position in the callchain of a sample, whose addresses come innermost first. */
struct callchain {
    const struct record_sample *sample;
    size_t next, start;       /* `start`: index of the first address after the last marker */
    enum address_space space; /* space of the last address that callchain_next() returned */
};

/* The address space that the record's `misc` names. */
static inline enum address_space address_space_of(const struct record *record)
{
    switch (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_KERNEL:
        return SPACE_KERNEL;
    case PERF_RECORD_MISC_USER:
        return SPACE_USER;
    default:
        return SPACE_OTHER;
    }
}

static inline struct callchain callchain_begin(const struct record *record)
{
    return (struct callchain){.sample = &record->sample, .space = address_space_of(record)};
}

/*
 * Gets the next address. Returns false after the last one. Skips the PERF_CONTEXT_* markers, which name the address
 * space of the addresses after them.
 */
static inline bool callchain_next(struct callchain *chain, uint64_t *ret_ip)
{
    while (chain->next < chain->sample->n_callchain) {
        uint64_t ip = chain->sample->callchain[chain->next++];
        if (ip < PERF_CONTEXT_MAX) {
            *ret_ip = ip;
            return true;
        }
        chain->start = chain->next;
        chain->space = ip == PERF_CONTEXT_KERNEL ? SPACE_KERNEL : ip == PERF_CONTEXT_USER ? SPACE_USER : SPACE_OTHER;
    }
    return false;
}

/*
 * Whether the last address is a return address in a caller. The call instruction ends one byte before the return
 * address, so look up that byte: the return address itself may belong to another line or function.
 */
static inline bool callchain_is_caller(const struct callchain *chain)
{
    return chain->next - 1 > chain->start;
}

#endif
