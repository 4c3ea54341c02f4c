/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server of a fake service in an event loop of its own, and its clients over real sockets. Any trouble with
 * either fails the test.
 */
#ifndef TESTS_UNIT_SERVED_H
#define TESTS_UNIT_SERVED_H

#include "base/buffer.h"
#include "http/server.h"
#include "tests/unit/fake-service.h"

#define GZIP "Accept-Encoding: gzip\r\n"

struct served {
    struct fake_service fake; /* of four CPUs */
    sd_event *event;
    struct server *server;
};

/* Six connections, four of them of one address, and time enough. */
extern const struct server_limits served_few;

/* Listens nowhere yet. `limits` may be NULL. */
void served_init(struct served *served, const struct server_limits *limits);
void served_listen(struct served *served, const char *address);
/* Both, where local clients operate, and "a" is another name of this machine. */
void served_start(struct served *served, const struct server_limits *limits, const char *address);
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
/* Sends these bytes. */
void served_say(int fd, const char *text);
/* Sends a request, "GET /" or the like, to the host "a"; `headers` are "" or lines that end in CR LF. */
void served_send(int fd, const char *request, const char *headers);
/* Sends a request to the first address on a new connection, which the caller closes. */
int served_ask(const struct served *served, const char *request, const char *headers);

/*
 * Appends one response to `in`, while the server runs; after HEAD it has no body. Returns where the body begins, or 0
 * where the connection was closed before all of it was there.
 */
size_t served_receive(struct served *served, int fd, bool head, struct buffer *in);
/* The same as a text, "" where nothing came. The caller frees it. */
char *served_receive_text(struct served *served, int fd, bool head);
/* The response to a request on a connection of its own to the n-th address. The caller frees it. */
char *served_answer(struct served *served, size_t n, const char *request, const char *headers);
/* That the next response has `part` in it. */
void served_expect(struct served *served, int fd, const char *part);
/* The same, and closes the connection. */
void served_expect_last(struct served *served, int fd, const char *part);
/* That the response to a request on a connection of its own to the n-th address has `part` in it. */
void served_expect_answer(struct served *served, size_t n, const char *request, const char *headers, const char *part);
/* Whether the server closes the connection within this time. */
bool served_is_closed(struct served *served, int fd, uint64_t within_ns);
/* 0 where it is no response. */
unsigned served_status(const char *response);

/* That `part` is, or is not, somewhere in a response. */
void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);

/* A request, and the status and parts that the answer must have. */
struct served_case {
    const char *in, *headers;
    unsigned out_status;
    const char *out[3]; /* the first NULL ends them */
};
void served_check(struct served *served, const struct served_case *the);
/* All of a table, asked of a server of their own. */
void served_check_all(const struct served_case *cases, size_t n);

#endif
