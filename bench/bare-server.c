/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick: a bare libmicrohttpd handler that reads one group of five software events per CPU and sends a constant
 * page. What perfcountd needs beyond it is the price of its text, its routes and its event loop.
 *
 * usage: bare-server PORT PAGE-SIZE
 */
#include <arpa/inet.h>
#include <err.h>
#include <linux/perf_event.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"

static const uint64_t events[] = {
    PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,  PERF_COUNT_SW_PAGE_FAULTS,
    PERF_COUNT_SW_PAGE_FAULTS_MIN,  PERF_COUNT_SW_PAGE_FAULTS_MAJ,
};
#define N_EVENTS (sizeof(events) / sizeof(events[0]))

struct bare {
    int *leaders;
    size_t n_leaders;
    char *page;
    size_t page_size;
    uint64_t sum; /* so that the reads are used */
};

static int open_event(uint64_t config, int cpu, int leader)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = config,
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };

    return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

static void open_groups(struct bare *bare)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);

    bare->leaders = calloc((size_t)n, sizeof(int));
    if (!bare->leaders)
        err(1, "calloc");
    for (int cpu = 0; cpu < n; cpu++) {
        int leader = open_event(events[0], cpu, -1);
        if (leader < 0)
            continue;
        for (size_t i = 1; i < N_EVENTS; i++)
            if (open_event(events[i], cpu, leader) < 0)
                err(1, "perf_event_open");
        bare->leaders[bare->n_leaders++] = leader;
    }
    if (bare->n_leaders == 0)
        err(1, "perf_event_open");
}

static void read_groups(struct bare *bare)
{
    uint64_t values[3 + 2 * N_EVENTS];

    for (size_t i = 0; i < bare->n_leaders; i++)
        if (read(bare->leaders[i], values, sizeof(values)) == sizeof(values))
            bare->sum += values[3];
}

static enum MHD_Result handle(void *userdata, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *body, size_t *body_size, void **state)
{
    static const int second_call;
    struct bare *bare = userdata;
    struct MHD_Response *response;
    enum MHD_Result result;

    (void)url, (void)method, (void)version, (void)body, (void)body_size;
    /* A response on the first call would end the connection. */
    if (!*state) {
        *state = (void *)&second_call;
        return MHD_YES;
    }
    read_groups(bare);
    response = MHD_create_response_from_buffer(bare->page_size, bare->page, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static void serve(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (!info || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, info->epoll_fd, &event) < 0)
        err(1, "epoll");
    for (;;) {
        MHD_UNSIGNED_LONG_LONG timeout;
        int wait = MHD_get_timeout(daemon, &timeout) == MHD_YES ? (int)timeout : -1;
        epoll_wait(epoll, &event, 1, wait);
        MHD_run(daemon);
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct bare bare = {0};
    uint64_t port, size;

    if (argc != 3 || number_parse_u64(argv[1], &port) < 0 || port > UINT16_MAX ||
        number_parse_u64(argv[2], &size) < 0 || size == 0)
        errx(2, "usage: bare-server PORT PAGE-SIZE");
    bare.page = malloc(size);
    if (!bare.page)
        err(1, "malloc");
    memset(bare.page, 'x', size);
    bare.page_size = size;
    open_groups(&bare);
    address.sin_port = htons((uint16_t)port);
    struct MHD_Daemon *daemon = MHD_start_daemon(MHD_USE_EPOLL, (uint16_t)port, NULL, NULL, handle, &bare,
                                                 MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_END);
    if (!daemon)
        err(1, "port %s", argv[1]);
    serve(daemon);
}
