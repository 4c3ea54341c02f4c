/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an HTTP server of a simulated service in its own event loop, with clients over real sockets. A test fails if the
 * server or a client reports an error, or keeps the test waiting for more than a minute.
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
    struct fake_service fake; /* a service with four CPUs */
    sd_event *event;
    struct server *server;
};

/* Limits: six connections, four of them from one address, and timeouts of minutes. */
extern const struct server_limits served_few;

/* Creates a server that does not listen yet. `limits` may be NULL. */
void served_init(struct served *served, const struct server_limits *limits);
int served_listen(struct served *served, const char *address, struct error *error);
/* Creates a server that listens on `address`. Local clients are operators, and "a" is another name of this machine. */
void served_start(struct served *served, const struct server_limits *limits, const char *address);
void served_done(struct served *served);

/* Setup for cmocka: the server listens on 127.0.0.1 and has no limits. */
int served_setup(void **state);
int served_teardown(void **state);
#define SERVED_TEST(name) TEST_WITH(name, served_setup, served_teardown)

/*
 * Runs one turn of the event loop. `*deadline_ns` must be 0 at the first call. Returns false a minute after that call.
 */
bool served_turn(const struct served *served, uint64_t *deadline_ns);
/* Runs enough turns for the server to see everything that clients have done. */
void served_spin(const struct served *served, unsigned turns);
/* Runs the server until `condition` is true. */
#define served_wait(served, condition)                                                                                 \
    do {                                                                                                               \
        uint64_t deadline_ns_ = 0;                                                                                     \
        while (!(condition))                                                                                           \
            if (!served_turn(served, &deadline_ns_))                                                                   \
                fail_msg("waited in vain for: %s", #condition);                                                        \
    } while (0)

/*
 * Connects to the n-th listen address, from 127.0.0.`from` (0: the kernel chooses the address). The caller closes the
 * descriptor.
 */
int served_connect(const struct served *served, size_t n, unsigned from);
/* Sends these bytes. */
void served_say(int fd, const char *text);
/* Sends a request like "GET /" to the host "a". `headers` is "" or consists of lines that end in CR LF. */
void served_send(int fd, const char *request, const char *headers);
/* Sends a request to the first address on a new connection, which the caller closes. */
int served_ask(const struct served *served, const char *request, const char *headers);

/*
 * Runs the server until it has sent one response, and appends that to `in`. `head` is true for a HEAD request, whose
 * response has no body. Returns the offset of the body, or 0 if the connection was closed before the response was
 * complete.
 */
size_t served_receive(struct served *served, int fd, bool head, struct buffer *in);
/* Returns the response as a string, "" if there was none. The caller frees it. */
char *served_receive_text(struct served *served, int fd, bool head);
/* Sends a request to the n-th address on a new connection and returns the response. The caller frees it. */
char *served_answer(struct served *served, size_t n, const char *request, const char *headers);
/* Asserts that the next response contains `part`. */
void served_expect(struct served *served, int fd, const char *part);
/* Sends a request to the n-th address on a new connection and asserts that the response contains `part`. */
void served_expect_answer(struct served *served, size_t n, const char *request, const char *headers, const char *part);
/*
 * Asserts that the server closes the connection. Appends what the server sent before that to `in`, which may be NULL.
 */
void served_expect_end(struct served *served, int fd, struct buffer *in);
/* Returns the status of a response, or 0 if the text is not a response. */
unsigned served_status(const char *response);

/* count_of() returns how often `part` occurs in a response; the others assert that it does or does not occur. */
unsigned count_of(const char *text, const char *part);
void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);

/* A request, and the expected response: its status, and parts of its text in any order, with " ... " between them. */
struct served_case {
    const char *in, *headers;
    unsigned out_status;
    const char *out;
};
void served_check(struct served *served, const struct served_case *the);
void served_check_all(struct served *served, const struct served_case *cases, size_t n);

#endif
