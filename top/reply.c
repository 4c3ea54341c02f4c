/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a request of HTTP/1.0: see top-reply.h. */
#include "top/reply.h"

#include <strings.h>

#include "base/number.h"

/* The line that begins at `at`, without its end; NULL where it has none before `end`. */
static const char *line_end(const char *at, const char *end, size_t *ret_size)
{
    const char *next = memchr(at, '\n', (size_t)(end - at));

    if (!next)
        return NULL;
    *ret_size = (size_t)(next - at);
    if (*ret_size && at[*ret_size - 1] == '\r')
        --*ret_size;
    return next + 1;
}

/* "HTTP/1.1 200 OK" */
static int parse_status(const char *line, size_t size, unsigned *ret)
{
    uint64_t status;

    if (size < 12 || strncmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ' || (size > 12 && line[12] != ' ') ||
        number_parse_u64_n(line + 9, 3, &status) < 0 || status < 100)
        return -EBADMSG;
    *ret = (unsigned)status;
    return 0;
}

static bool is_header(const char *line, size_t size, const char *name)
{
    size_t length = strlen(name);

    return size > length && line[length] == ':' && strncasecmp(line, name, length) == 0;
}

struct reply_head {
    unsigned status;
    uint64_t length; /* of the body, where it is said */
    bool has_length;
    const char *body;
};

static int parse_header(const char *line, size_t size, struct reply_head *head)
{
    if (is_header(line, size, "transfer-encoding"))
        return -EBADMSG;
    if (!is_header(line, size, "content-length"))
        return 0;
    line += strlen("content-length:");
    size -= strlen("content-length:");
    for (; size && (*line == ' ' || *line == '\t'); size--)
        line++;
    while (size && (line[size - 1] == ' ' || line[size - 1] == '\t'))
        size--;
    head->has_length = true;
    return number_parse_u64_n(line, size, &head->length) == 0 ? 0 : -EBADMSG;
}

/* -EAGAIN where the head has no end yet. */
static int parse_head(const char *data, size_t size, struct reply_head *ret)
{
    const char *end = data + size, *at, *next;
    struct reply_head head = {0};
    size_t line;

    next = line_end(data, end, &line);
    if (!next)
        return -EAGAIN;
    int r = parse_status(data, line, &head.status);
    for (at = next; r == 0; at = next) {
        next = line_end(at, end, &line);
        if (!next)
            return -EAGAIN;
        if (line == 0)
            break;
        r = parse_header(at, line, &head);
    }
    if (r < 0)
        return r;
    head.body = next;
    *ret = head;
    return 0;
}

int top_reply_parse(const char *data, size_t size, bool ended, struct top_reply *ret, struct error *error)
{
    struct reply_head head = {0};
    int r = parse_head(data, size, &head);

    if (r == -EBADMSG)
        return error_set(error, r, "the answer is not what HTTP/1.0 has");
    if (r == -EAGAIN && size > TOP_REPLY_HEAD_MAX)
        return error_set(error, -EMSGSIZE, "the head of the answer has more than %d KiB", TOP_REPLY_HEAD_MAX / 1024);
    if (size > TOP_REPLY_MAX || (r == 0 && head.length > TOP_REPLY_MAX))
        return error_set(error, -EMSGSIZE, "the answer has more than %d MiB", TOP_REPLY_MAX / 1024 / 1024);
    size_t there = r == 0 ? size - (size_t)(head.body - data) : 0;
    if (r == -EAGAIN || (head.has_length ? there < head.length : !ended))
        return ended ? error_set(error, -EBADMSG, "the connection ended before the answer did") : -EAGAIN;
    *ret = (struct top_reply){head.status, head.body, head.has_length ? (size_t)head.length : there};
    return 0;
}
