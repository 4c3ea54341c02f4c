/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server of a fake service in an event loop of its own, and its clients over real sockets: what is in the way
 * of either fails the test.
 */
#ifndef TESTS_UNIT_SERVED_H
#define TESTS_UNIT_SERVED_H

#include "base/buffer.h"
#include "http/server.h"
#include "tests/unit/fake-service.h"

struct served {
    struct fake_service fake; /* of four CPUs */
    sd_event *event;
    struct server *server;
};

/* Listens nowhere yet. `limits` may be NULL. */
void served_init(struct served *served, const struct server_limits *limits);
void served_listen(struct served *served, const char *address);
void served_done(struct served *served);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t served_now(const struct served *served);
/* Lets the server run for a time. */
void served_run(struct served *served, uint64_t ns);

/*
 * Connects to the n-th address that is listened on, from 127.0.0.`from` (0: from wherever the kernel chooses). The
 * caller closes the descriptor.
 */
int served_connect(const struct served *served, size_t n, unsigned from);

/*
 * Appends one response to `in`, while the server runs; after HEAD it has no body. Returns where the body begins, or 0
 * where the connection was closed before all of it was there.
 */
size_t served_receive(struct served *served, int fd, bool head, struct buffer *in);
/* The same as a text, "" where nothing came. The caller frees it. */
char *served_receive_text(struct served *served, int fd, bool head);

/* That `part` is, or is not, somewhere in a response. */
void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);

#endif
