/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server of a fake service in an event loop of its own, and its clients over real sockets. Any trouble with
 * either fails the test, and so does waiting for more than a minute.
 */
#ifndef TESTS_UNIT_SERVED_H
#define TESTS_UNIT_SERVED_H

#include "base/buffer.h"
#include "http/server.h"
#include "tests/unit/fake-service.h"

#define GZIP "Accept-Encoding: gzip\r\n"
#define HEALTHY "GET /-/healthy"
#define OK "HTTP/1.1 200 "

struct served {
    struct fake_service fake; /* of four CPUs */
    sd_event *event;
    struct server *server;
};

/* Six connections, four of them of one address, and minutes of time. */
extern const struct server_limits served_few;

/* Listens nowhere yet. `limits` may be NULL. */
void served_init(struct served *served, const struct server_limits *limits);
int served_listen(struct served *served, const char *address, struct error *error);
/* Both, where local clients operate, and "a" is another name of this machine. */
void served_start(struct served *served, const struct server_limits *limits, const char *address);
void served_done(struct served *served);

/* For cmocka: the state is one that was started on 127.0.0.1 without limits. */
int served_setup(void **state);
int served_teardown(void **state);
#define SERVED_TEST(name) TEST_WITH(name, served_setup, served_teardown)

/* One turn of the event loop; false once the minute from `*deadline_ns` (0 at first) is over. */
bool served_turn(const struct served *served, uint64_t *deadline_ns);
/* So many turns: enough for the server to see what clients have done. */
void served_spin(const struct served *served, unsigned turns);
/* Lets the server run until `condition`. */
#define served_wait(served, condition)                                                                                 \
    do {                                                                                                               \
        uint64_t deadline_ns_ = 0;                                                                                     \
        while (!(condition))                                                                                           \
            if (!served_turn(served, &deadline_ns_))                                                                   \
                fail_msg("waited in vain for: %s", #condition);                                                        \
    } while (0)

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
/* That the response to a request on a connection of its own to the n-th address has `part` in it. */
void served_expect_answer(struct served *served, size_t n, const char *request, const char *headers, const char *part);
/* That the server closes the connection. Appends what it sent before to `in`, which may be NULL. */
void served_expect_end(struct served *served, int fd, struct buffer *in);
/* 0 where it is no response. */
unsigned served_status(const char *response);

/* How often `part` is in a response, and that it is there, or not. */
unsigned count_of(const char *text, const char *part);
void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);

/* A request, and the status and the parts that the answer must have, in any order: "this ... and that". */
struct served_case {
    const char *in, *headers;
    unsigned out_status;
    const char *out;
};
void served_check(struct served *served, const struct served_case *the);
void served_check_all(struct served *served, const struct served_case *cases, size_t n);

#endif
