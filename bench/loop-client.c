/* SPDX-License-Identifier: Apache-2.0 */
/* A server and its only client in one process: see loop-client.h. */
#include "bench/loop-client.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"

#define PIECE 65536
#define OK "HTTP/1.1 200 "
#define LENGTH "Content-Length: "

struct loop_client {
    sd_event *event;
    struct server *server;
    int fd;
};

struct loop_client *loop_client_free(struct loop_client *client)
{
    if (!client)
        return NULL;
    closep(&client->fd);
    server_free(client->server);
    free(client);
    return NULL;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    return fd < 0 ? -errno : fd;
}

int loop_client_new(sd_event *event, const struct service *service, const char *path, struct loop_client **ret,
                    struct error *error)
{
    struct loop_client *client = calloc(1, sizeof(*client));
    char address[sizeof("unix:") + sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    char *addresses[] = {address};

    if (!client)
        return error_oom(error);
    client->event = event;
    client->fd = -1;
    snprintf(address, sizeof(address), "unix:%s", path);
    int r = server_new(event, service, "/metrics", NULL, &client->server, error);
    if (r == 0)
        r = server_listen(client->server, addresses, 1, error);
    if (r == 0) {
        client->fd = connect_to(path);
        if (client->fd < 0)
            r = error_set(error, client->fd, "cannot connect to %s", path);
    }
    if (r < 0) {
        loop_client_free(client);
        return r;
    }
    *ret = client;
    return 0;
}

/* Returns the size of the complete answer; 0 until all its headers have arrived. */
static int answer_size(const char *text, size_t size, size_t *ret)
{
    const char *end = size ? memmem(text, size, "\r\n\r\n", 4) : NULL;
    size_t headers = end ? (size_t)(end + 4 - text) : 0;

    *ret = 0;
    if (!end)
        return 0;
    const char *length = memmem(text, headers, LENGTH, strlen(LENGTH));
    if (!str_starts(text, OK) || !length)
        return -EPROTO;
    *ret = headers + strtoul(length + strlen(LENGTH), NULL, 10);
    return 0;
}

static int receive(struct loop_client *client, struct buffer *answer)
{
    char *room = buffer_reserve(answer, PIECE);

    if (!room)
        return -ENOMEM;
    ssize_t n = recv(client->fd, room, PIECE, MSG_DONTWAIT);
    if (n == 0)
        return -ECONNRESET;
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    buffer_advance(answer, (size_t)n);
    return 0;
}

int loop_client_get(struct loop_client *client, const char *request, struct buffer *answer)
{
    size_t start = answer->size, size = 0;

    if (send(client->fd, request, strlen(request), MSG_NOSIGNAL) < 0)
        return -errno;
    while (size == 0 || answer->size - start < size) {
        int r = sd_event_run(client->event, 1000000);
        if (r >= 0)
            r = receive(client, answer);
        if (r == 0)
            r = answer_size(answer->data + start, answer->size - start, &size);
        if (r < 0)
            return r;
    }
    return 0;
}
