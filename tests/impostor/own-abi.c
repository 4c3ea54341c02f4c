/* SPDX-License-Identifier: Apache-2.0 */
/* Ways around a filter of system calls: other numbers of the same calls, and bits above those that the kernel heeds. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/impostor/ask.h"

#define X32_BIT 0x40000000L
#define I386_PTRACE 26
#define I386_UNSHARE 310

static int open_counter(struct impostor *impostor)
{
    const struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1};
    int fd = -1;

    ask_event(impostor, &attr, -1, 0, 0, -1, -1, &fd);
    return fd;
}

/* The kernel takes the request as 32 bits, a filter sees 64. */
static long try_upper_bits(struct impostor *impostor, const struct attempt *attempt)
{
    _cleanup_(closep) int fd = open_counter(impostor);

    if (fd < 0)
        return impostor_skip(impostor, "no counter can be opened");
    return syscall(SYS_ioctl, (long)fd, (long)(attempt->number | UINT64_C(1) << 32), 0L) < 0 ? -errno : 0;
}

#ifdef __x86_64__
static long try_x32(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    return syscall((long)attempt->number | X32_BIT, PTRACE_TRACEME, 0, 0, 0) < 0 ? -errno : 0;
}

/* As 32-bit programs call; the number and the first argument are all that is needed. */
static long try_i386(struct impostor *impostor, const struct attempt *attempt)
{
    long result = (long)attempt->number;

    (void)impostor;
    __asm__ volatile("int $0x80"
                     : "+a"(result)
                     : "b"(attempt->text ? 0x10000000L : 0L), "c"(0L), "d"(0L), "S"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    return (int)result;
}
#else
static long try_x32(struct impostor *impostor, const struct attempt *attempt)
{
    (void)attempt;
    return impostor_skip(impostor, "this is no x86-64");
}

static long try_i386(struct impostor *impostor, const struct attempt *attempt)
{
    (void)attempt;
    return impostor_skip(impostor, "this is no x86-64");
}
#endif

#define DENIED MUST(EPERM, ENOSYS, ENOTTY, EACCES)

static const struct attempt attempts[] = {
    {"itself: ioctl RESET with the bit 32 set", try_upper_bits, .must = DENIED, .number = PERF_EVENT_IOC_RESET},
    {"itself: ioctl PERIOD with the bit 32 set", try_upper_bits, .must = DENIED, .number = PERF_EVENT_IOC_PERIOD},
    {"itself: ioctl SET_FILTER with the bit 32 set", try_upper_bits, .must = DENIED,
     .number = PERF_EVENT_IOC_SET_FILTER},
    {"itself: ioctl SET_BPF with the bit 32 set", try_upper_bits, .must = DENIED, .number = PERF_EVENT_IOC_SET_BPF},
    {"itself: ioctl MODIFY_ATTRIBUTES with the bit 32 set", try_upper_bits, .must = DENIED,
     .number = PERF_EVENT_IOC_MODIFY_ATTRIBUTES},
    {"itself: ptrace by its number of x32", try_x32, .must = DENIED, .number = 521},
    {"itself: ptrace by its number of x86-64 with x32's bit", try_x32, .must = DENIED, .number = 101},
    {"itself: ptrace by its number of i386", try_i386, .must = DENIED, .number = I386_PTRACE},
    {"itself: unshare by its number of i386", try_i386, .must = DENIED, .text = "CLONE_NEWUSER",
     .number = I386_UNSHARE},
};

void own_abi_run(struct impostor *impostor)
{
    impostor_try_apart(impostor, attempts, ARRAY_SIZE(attempts));
}
