/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of opener/descriptor-powers.h that are for maps of bpf(2), made by a process without filters. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "perf/tally/layout.h"
#include "tests/impostor/helper.h"

/* More than a value of any map here has. */
#define VALUE_WORDS 128

static long bpf_try(enum bpf_cmd command, union bpf_attr *attr)
{
    long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

    return r < 0 ? -errno : r;
}

static long map_try(int fd, enum descriptor_operation operation)
{
    size_t size = (size_t)getpagesize();
    int flags = operation == OPERATION_MAP_PRIVATE ? MAP_PRIVATE : MAP_SHARED;
    void *page = mmap(NULL, size, PROT_READ, flags, fd, 0);
    long got = 0;

    if (page == MAP_FAILED)
        return -errno;
    if (operation == OPERATION_MAP_PROTECT && mprotect(page, size, PROT_READ | PROT_WRITE) < 0)
        got = -errno;
    munmap(page, size);
    return got;
}

static long element_try(int fd, enum bpf_cmd command)
{
    uint64_t value[VALUE_WORDS] = {0};
    uint32_t key = 0;
    union bpf_attr attr = {.map_fd = (uint32_t)fd, .key = (uintptr_t)&key};

    if (command != BPF_MAP_DELETE_ELEM)
        attr.value = (uintptr_t)value;
    return bpf_try(command, &attr);
}

static long elements_try(int fd)
{
    uint64_t value[VALUE_WORDS] = {0};
    uint32_t key = 0;
    union bpf_attr attr = {
        .batch = {.keys = (uintptr_t)&key, .values = (uintptr_t)value, .count = 1, .map_fd = (uint32_t)fd}};

    return bpf_try(BPF_MAP_UPDATE_BATCH, &attr);
}

static long freeze_try(int fd)
{
    union bpf_attr attr = {.map_fd = (uint32_t)fd};

    return bpf_try(BPF_MAP_FREEZE, &attr);
}

static long inform_try(int fd)
{
    struct bpf_map_info info = {0};
    union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd, .info_len = sizeof(info), .info = (uintptr_t)&info}};

    return bpf_try(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

/* The id is for everybody to read who has the descriptor. */
static long find_try(int fd)
{
    union bpf_attr attr = {0};
    char path[64], line[256];

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    _cleanup_(fclosep) FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        (void)!sscanf(line, "map_id: %u", &attr.map_id);
    _cleanup_(closep) int found = (int)bpf_try(BPF_MAP_GET_FD_BY_ID, &attr);
    return found;
}

static long pin_try(int fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/sys/fs/bpf/impostor-%d", (int)getpid());
    union bpf_attr attr = {.pathname = (uintptr_t)path, .bpf_fd = (uint32_t)fd};
    long got = bpf_try(BPF_OBJ_PIN, &attr);
    if (got >= 0)
        unlink(path);
    return got;
}

/* Looks up the first element and writes 0 there: of the only kind that anybody may load. */
static long program_try(int fd)
{
    const struct bpf_insn program[] = {
        {.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10},
        {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4},
        {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = fd},
        {.code = 0},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
        {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2},
        {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
                           .insns = (uintptr_t)program,
                           .insn_cnt = ARRAY_SIZE(program),
                           .license = (uintptr_t) "Dual BSD/GPL"};
    _cleanup_(closep) int loaded = (int)bpf_try(BPF_PROG_LOAD, &attr);

    return loaded;
}

long map_power_try(enum descriptor_operation operation, int fd)
{
    switch (operation) {
    case OPERATION_MAP_READABLE:
    case OPERATION_MAP_PROTECT:
    case OPERATION_MAP_PRIVATE:
        return map_try(fd, operation);
    case OPERATION_ELEMENT_LOOK_UP:
        return element_try(fd, BPF_MAP_LOOKUP_ELEM);
    case OPERATION_ELEMENT_UPDATE:
        return element_try(fd, BPF_MAP_UPDATE_ELEM);
    case OPERATION_ELEMENTS_UPDATE:
        return elements_try(fd);
    case OPERATION_ELEMENT_DELETE:
        return element_try(fd, BPF_MAP_DELETE_ELEM);
    case OPERATION_FREEZE:
        return freeze_try(fd);
    case OPERATION_INFORM:
        return inform_try(fd);
    case OPERATION_FIND:
        return find_try(fd);
    case OPERATION_PIN:
        return pin_try(fd);
    case OPERATION_PROGRAM:
        return program_try(fd);
    default:
        return -ENOSYS;
    }
}

/*
 * Looks for an address of the kernel in the records of a tally's `n` CPUs: a word whose upper bits are all set, as
 * those of its addresses are on each architecture of 64 bits. The check may be any number.
 */
long map_find_address(int fd, uint32_t n)
{
    size_t size = n * sizeof(struct tally_record);
    const struct tally_record *records = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    long found = 0;

    if (records == MAP_FAILED)
        return -errno;
    for (uint32_t cpu = 0; cpu < n; cpu++) {
        const volatile uint64_t *words = (const volatile uint64_t *)&records[cpu];
        for (size_t i = 0; i < sizeof(*records) / sizeof(*words); i++)
            if (i != offsetof(struct tally_record, check) / sizeof(*words) && words[i] >> 48 == 0xffff)
                found = -EFAULT;
    }
    munmap((void *)(uintptr_t)records, size);
    return found;
}
