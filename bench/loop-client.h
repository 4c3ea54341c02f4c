/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server and its only client in one process and one event loop, connected by a unix socket, so that the
 * instructions of an answer can be counted. The client adds little: one send(2), and a recv(2) for each chunk received.
 */
#ifndef BENCH_LOOP_CLIENT_H
#define BENCH_LOOP_CLIENT_H

#include "base/buffer.h"
#include "http/server.h"

struct loop_client;

/*
 * Listens on a unix socket at `path` and connects to it. `event` and `service` must outlive the client. Returns -errno
 * and fills `error` on failure.
 */
int loop_client_new(sd_event *event, const struct service *service, const char *path, struct loop_client **ret,
                    struct error *error);
struct loop_client *loop_client_free(struct loop_client *client);

/*
 * Sends a request over the keep-alive connection and appends the complete answer, including the headers. Returns
 * -EPROTO if the answer is not a 200 with a Content-Length, or the error of send(2), recv(2) or sd_event_run(3).
 */
int loop_client_get(struct loop_client *client, const char *request, struct buffer *answer);

#endif
