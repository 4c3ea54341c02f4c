/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick of HTTP: a bare libmicrohttpd handler that sends a constant page, with "reads" after one read of a
 * group of software events for each CPU. perfcountd needs more: the difference is the price of its text, its routes and
 * its event loop.
 *
 * usage: bare-server PORT PAGE-SIZE [reads]
 */
#include <arpa/inet.h>
#include <err.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/number.h"
#include "bench/bare-groups.h"

#define MEMORY_PER_CONNECTION ((size_t)16384) /* as perfcountd has it: libmicrohttpd clears it for each request */

struct bare {
    struct bare_groups groups;
    bool reads;
    char *page;
    size_t page_size;
};

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
    if (bare->reads)
        bare_groups_read(&bare->groups);
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

    if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "reads") != 0) || number_parse_u64(argv[1], &port) < 0 ||
        port > UINT16_MAX || number_parse_u64(argv[2], &size) < 0 || size == 0)
        errx(2, "usage: bare-server PORT PAGE-SIZE [reads]");
    bare.page = malloc(size);
    if (!bare.page)
        err(1, "malloc");
    memset(bare.page, 'x', size);
    bare.page_size = size;
    bare.reads = argc == 4;
    if (bare.reads)
        bare_groups_open(&bare.groups, BARE_GROUPS_EVENTS_MAX, NULL, 0);
    address.sin_port = htons((uint16_t)port);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL, (uint16_t)port, NULL, NULL, handle, &bare, MHD_OPTION_SOCK_ADDR, &address,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_PER_CONNECTION, MHD_OPTION_END);
    if (!daemon)
        err(1, "port %s", argv[1]);
    serve(daemon);
}
