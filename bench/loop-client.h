/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server and its only client in one process and one event loop, over a unix socket, so that what an answer costs can
 * be counted. The client's part is small: a send(2), and a recv(2) for each piece that comes.
 */
#ifndef BENCH_LOOP_CLIENT_H
#define BENCH_LOOP_CLIENT_H

#include "base/buffer.h"
#include "http/server.h"

struct loop_client;

/* Serves on a socket of that path and connects to it. Both must outlive the client. -errno with a sentence. */
int loop_client_new(sd_event *event, const struct service *service, const char *path, struct loop_client **ret,
                    struct error *error);
struct loop_client *loop_client_free(struct loop_client *client);

/*
 * Sends a request over the connection, which is kept, and appends the whole answer, headers too. -EPROTO where it is
 * not 200 with a Content-Length; errors of send(2), recv(2) and sd_event_run(3).
 */
int loop_client_get(struct loop_client *client, const char *request, struct buffer *answer);

#endif
