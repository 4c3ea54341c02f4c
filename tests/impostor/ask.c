/* SPDX-License-Identifier: Apache-2.0 */
/* Raw requests to the opener: see ask.h. */
#include "tests/impostor/ask.h"

#include <unistd.h>

#include "base/cleanup.h"

long ask_raw(struct impostor *impostor, const void *packet, size_t size, const struct fd_list *fds, int *ret_fd)
{
    struct fd_list opened = {0};
    struct opener_reply reply = {0};
    int r = fd_socket_send(impostor->client->socket, packet, size, fds);

    if (r < 0)
        return r;
    ssize_t n = fd_socket_receive(impostor->client->socket, &reply, sizeof(reply), &opened, NULL);
    if (n <= 0)
        return n < 0 ? (long)n : -EPIPE;
    if (ret_fd && opened.n > 0) {
        *ret_fd = opened.fds[0];
        opened.fds[0] = opened.fds[--opened.n];
    }
    fd_list_close(&opened);
    return reply.error ? reply.error : reply.n ? reply.results[0] : 0;
}

static void add_fd(struct fd_list *fds, int fd)
{
    if (fd >= 0)
        fds->fds[fds->n++] = fd;
}

static long ask_group(struct impostor *impostor, const struct sys_group *group, int directory, int leader, int *ret_fd)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    struct fd_list fds = {0};
    size_t n;

    add_fd(&fds, directory);
    add_fd(&fds, leader);
    int r = opener_request_write(&impostor->client->rules, group, 0, &packet, &n);
    return r < 0 ? r : ask_raw(impostor, packet.data, packet.size, &fds, ret_fd);
}

long ask_event(struct impostor *impostor, const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags,
               int directory, int leader, int *ret_fd)
{
    const struct sys_group group = {.attrs = attr, .n = 1, .pid = pid, .cpu = cpu, .leader = leader, .flags = flags};

    return ask_group(impostor, &group, directory, leader, ret_fd);
}

long ask_probe(struct impostor *impostor, uint32_t type, uint64_t config, const char *text, uint64_t offset,
               int *ret_fd)
{
    const struct perf_event_attr attr = {.size = sizeof(attr), .type = type, .config = config, .config2 = offset};
    const struct sys_group group = {.attrs = &attr, .texts = &text, .n = 1, .pid = -1, .leader = -1};

    return ask_group(impostor, &group, -1, -1, ret_fd);
}

long ask_file(struct impostor *impostor, const char *path, int *ret_fd)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    int r = opener_request_write_file(path, &packet);

    return r < 0 ? r : ask_raw(impostor, packet.data, packet.size, &(struct fd_list){0}, ret_fd);
}
