/* SPDX-License-Identifier: Apache-2.0 */
/* Of ioctl(2) on descriptors of perf the daemon's filter leaves five requests; of those on others, what it needs. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/impostor/ask.h"

static long request_of(struct impostor *impostor, unsigned long request, const void *argument)
{
    const struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1};
    _cleanup_(closep) int fd = -1;

    ask_event(impostor, &attr, -1, 0, 0, -1, -1, &fd);
    if (fd < 0)
        return impostor_skip(impostor, "no counter can be opened");
    return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

static long try_request(struct impostor *impostor, const struct attempt *attempt)
{
    static uint64_t words[64];

    return request_of(impostor, attempt->number, attempt->text ? attempt->text : (const char *)words);
}

/* Both numbers are -1 here: no output. */
static long try_output(struct impostor *impostor, const struct attempt *attempt)
{
    return request_of(impostor, attempt->number, (const void *)(intptr_t)-1);
}

/* EINVAL: it came through, but there is no ring. */
static long try_pause(struct impostor *impostor, const struct attempt *attempt)
{
    long got = request_of(impostor, attempt->number, (const void *)1);

    return got == -EINVAL ? 0 : got;
}

/* A key that root's shell, on the same terminal, would take as pressed. */
static long try_terminal(struct impostor *impostor, const struct attempt *attempt)
{
    if (!impostor->on_terminal)
        return impostor_skip(impostor, "there is no terminal here");
    return syscall(SYS_ioctl, STDIN_FILENO, attempt->number, attempt->text) < 0 ? -errno : 0;
}

static const struct attempt attempts[] = {
    {"itself: ioctl ENABLE", try_request, .must = MUST_WORK, .number = PERF_EVENT_IOC_ENABLE},
    {"itself: ioctl DISABLE", try_request, .must = MUST_WORK, .number = PERF_EVENT_IOC_DISABLE},
    {"itself: ioctl ID", try_request, .must = MUST_WORK, .number = PERF_EVENT_IOC_ID},
    {"itself: ioctl SET_OUTPUT", try_output, .must = MUST_WORK, .number = PERF_EVENT_IOC_SET_OUTPUT},
    {"itself: ioctl PAUSE_OUTPUT", try_pause, .must = MUST_WORK, .number = PERF_EVENT_IOC_PAUSE_OUTPUT},
    {"itself: ioctl RESET", try_request, .must = MUST(EPERM), .number = PERF_EVENT_IOC_RESET},
    {"itself: ioctl REFRESH", try_request, .must = MUST(EPERM), .number = PERF_EVENT_IOC_REFRESH},
    {"itself: ioctl PERIOD", try_request, .must = MUST(EPERM), .number = PERF_EVENT_IOC_PERIOD},
    {"itself: ioctl SET_FILTER", try_request, .must = MUST(EPERM), .text = "common_pid == 1",
     .number = PERF_EVENT_IOC_SET_FILTER},
    {"itself: ioctl SET_BPF", try_output, .must = MUST(EPERM), .number = PERF_EVENT_IOC_SET_BPF},
    {"itself: ioctl QUERY_BPF", try_request, .must = MUST(EPERM), .number = PERF_EVENT_IOC_QUERY_BPF},
    {"itself: ioctl MODIFY_ATTRIBUTES", try_request, .must = MUST(EPERM), .number = PERF_EVENT_IOC_MODIFY_ATTRIBUTES},
    {"itself: an ioctl of perf that no kernel knows", try_request, .must = MUST(EPERM), .number = _IO('$', 99)},
    {"itself: ioctl TIOCSTI", try_terminal, .must = MUST(EPERM, EIO), .text = "x", .number = TIOCSTI},
    {"itself: ioctl TIOCSTI with the bit 32 set", try_terminal, .must = MUST(EPERM, EIO), .text = "x",
     .number = TIOCSTI | UINT64_C(1) << 32},
    {"itself: ioctl TIOCLINUX", try_terminal, .must = MUST(EPERM, ENOTTY, EINVAL), .text = "\3", .number = TIOCLINUX},
};

void own_ioctls_run(struct impostor *impostor)
{
    impostor_try_apart(impostor, attempts, ARRAY_SIZE(attempts));
}
