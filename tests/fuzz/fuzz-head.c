/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends arbitrary bytes to the real libmicrohttpd; a stub answers the requests. A head with a folded or malformed line,
 * and anything that follows it, must not be answered; an ordinary request must be.
 *
 * The first byte is the size of the pieces in which the rest is sent (0: at once). The next two bytes are the length of
 * a header that is sent first, so that lines can be anywhere in libmicrohttpd's buffer (0: no header).
 */
#include <time.h>

#include "http/mhd.h"
#include "http/reply.h"
#include "http/routes.h"
#include "tests/fuzz/fuzz.h"

#define MEMORY 4096
#define PAD_MAX 3000
#define TURNS_MAX 100000
/* The server accepts every valid head within these limits. */
#define PLAIN_SIZE 1200
#define PLAIN_HEADERS 8

static const char intro[] = "GET / HTTP/1.1\r\nHost: a\r\n";

static unsigned passed;

/* Replaces the function in http/routes.c. */
void dispatch_request(struct request *request)
{
    passed++;
    request->answered = true;
    reply_text(request, MHD_HTTP_OK, "passed");
}

/* --- a strict parser of the heads that are sent */

struct text {
    const char *at, *end;
};

struct head {
    bool whole, plain;
    unsigned n_headers, n_hosts;
    bool last; /* whether the parser must stop after this head */
    uint64_t body;
};

/* Takes the first line, including its line end, off the text. */
static bool next_line(struct text *text, struct text *line)
{
    const char *end = memchr(text->at, '\n', (size_t)(text->end - text->at));

    if (!end)
        return false;
    *line = (struct text){text->at, end + 1};
    text->at = end + 1;
    return true;
}

static bool ends_well(const struct text *line)
{
    return line->end - line->at >= 2 && line->end[-2] == '\r';
}

static bool is_empty(const struct text *line)
{
    return line->end - line->at == 2 && ends_well(line);
}

static bool is_token(const struct text *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (const char *c = name->at; c < name->end; c++)
        if (!(*c >= '0' && *c <= '9') && !((*c | 32) >= 'a' && (*c | 32) <= 'z') &&
            !memchr(others, *c, sizeof(others) - 1))
            return false;
    return name->end > name->at;
}

static bool is_named(const struct text *name, const char *what)
{
    return (size_t)(name->end - name->at) == strlen(what) && strncasecmp(name->at, what, strlen(what)) == 0;
}

static void read_length(struct head *head, struct text value)
{
    while (value.at < value.end && (*value.at == ' ' || *value.at == '\t'))
        value.at++;
    head->body = 0;
    for (; value.at < value.end; value.at++)
        if (*value.at < '0' || *value.at > '9' || head->body > 100000)
            head->last = true;
        else
            head->body = head->body * 10 + (uint64_t)(*value.at - '0');
}

static bool read_header(struct head *head, const struct text *line)
{
    const char *colon = memchr(line->at, ':', (size_t)(line->end - line->at));

    if (!ends_well(line) || !colon)
        return false;
    const struct text name = {line->at, colon}, value = {colon + 1, line->end - 2};
    if (!is_token(&name))
        return false;
    for (const char *c = value.at; c < value.end; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
            return false;
    head->n_headers++;
    head->n_hosts += is_named(&name, "Host");
    if (is_named(&name, "Content-Length"))
        read_length(head, value);
    head->last |= is_named(&name, "Transfer-Encoding");
    if (is_named(&name, "Transfer-Encoding") || is_named(&name, "Content-Length") || is_named(&name, "Expect") ||
        is_named(&name, "Upgrade") || is_named(&name, "Connection"))
        head->plain = false;
    return true;
}

/* libmicrohttpd skips empty lines before a request line. */
static bool is_skipped(const struct text *line)
{
    return line->end - line->at == 1 || is_empty(line);
}

/* Parses the next head; returns false if it is incomplete or has a malformed line. */
static bool read_head(struct text *text, struct head *head)
{
    const char *start = text->at;
    struct text line;

    *head = (struct head){0};
    do
        if (!next_line(text, &line))
            return false;
    while (is_skipped(&line));
    head->plain = line.end - line.at == 16 && memcmp(line.at, intro, 16) == 0;
    do {
        if (!next_line(text, &line))
            return false;
        if (!is_empty(&line) && !read_header(head, &line))
            return false;
    } while (!is_empty(&line));
    head->plain &= head->n_hosts == 1 && head->n_headers <= PLAIN_HEADERS && text->at - start <= PLAIN_SIZE;
    return true;
}

static void expect(const struct buffer *sent, unsigned *ret_least, unsigned *ret_most)
{
    struct text text = {sent->data, sent->data + sent->size};
    struct head head;

    *ret_least = *ret_most = 0;
    while (text.at < text.end && read_head(&text, &head)) {
        *ret_least += *ret_least == *ret_most && head.plain && *ret_most == 0;
        ++*ret_most;
        if (head.last || head.body > (uint64_t)(text.end - text.at))
            return;
        text.at += head.body;
    }
}

/* --- the server */

static uint64_t now(void *userdata)
{
    struct timespec t;

    (void)userdata;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void check_files(struct site *site)
{
    (void)site;
}

static struct fixture {
    struct site site;
    struct connections all;
    struct mhd_loop *loop;
} * fixture(void)
{
    static const struct service service = {.now = now};
    static const struct mhd_terms terms = {.memory_per_connection = MEMORY, .connections = 8};
    static struct fixture f;
    static struct file_versions versions;
    struct error error;

    if (f.loop)
        return &f;
    assert(sd_event_new(&f.site.event) == 0);
    assert(security_load(NULL, NULL, &f.site.security, &versions, &error) == 0);
    f.site.service = &service;
    f.site.check_files = check_files;
    assert(connections_init(&f.all, f.site.event, &service, NULL) == 0);
    assert(mhd_loop_new(&f.site, &f.all, &terms, &f.loop) == 0);
    return &f;
}

/* Discards the response. */
static void turn(const struct fixture *f, int fd)
{
    char answer[4096];

    sd_event_run(f->site.event, 0);
    while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
        continue;
}

static void converse(struct fixture *f, const struct buffer *sent, size_t piece)
{
    const struct sockaddr address = {.sa_family = AF_UNIX};
    int fds[2];

    make_sockets(SOCK_STREAM, fds);
    mhd_loop_take(f->loop, fds[0], &address, sizeof(address));
    for (size_t at = 0; at < sent->size; at += piece) {
        send(fds[1], sent->data + at, MIN(piece, sent->size - at), MSG_NOSIGNAL);
        turn(f, fds[1]);
    }
    shutdown(fds[1], SHUT_WR);
    for (unsigned i = 0; f->all.n_there > 0; i++) {
        assert(i < TURNS_MAX);
        turn(f, fds[1]);
    }
    close(fds[1]);
}

/* http/mhd.c cannot distinguish heads with a NUL, or with a line that begins with a colon, from ordinary ones. */
static bool is_unseen(const uint8_t *data, size_t size)
{
    return memchr(data, '\0', size) || (size > 0 && data[0] == ':') || memmem(data, size, "\n:", 2);
}

/* libmicrohttpd 0.9.75 copies overlapping memory before a folded line; all of it is within its own buffer. */
const char *__asan_default_suppressions(void);
const char *__asan_default_suppressions(void)
{
    return "interceptor_via_lib:libmicrohttpd\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(buffer_done) struct buffer sent = {0};
    unsigned least, most;

    if (size < 3)
        return 0;
    size_t pad = (data[1] | (size_t)data[2] << 8) % PAD_MAX;
    if (pad > 0) {
        buffer_append_text(&sent, intro);
        buffer_append_text(&sent, "Pad: ");
        for (size_t i = 1; i < pad; i++)
            buffer_append_char(&sent, 'x');
        buffer_append_text(&sent, "\r\n");
    }
    buffer_append(&sent, data + 3, size - 3);
    if (sent.size == 0 || is_unseen(data + 3, size - 3))
        return 0;
    expect(&sent, &least, &most);
    passed = 0;
    converse(fixture(), &sent, data[0] ? data[0] : sent.size);
    assert(passed >= least && passed <= most);
    return 0;
}
