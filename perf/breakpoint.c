/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses to memory: see breakpoint.h. */
#include "perf/breakpoint.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "base/number.h"

#define PREFIX "mem:"
#define LENGTH_MAX 8

static const struct {
    char letter;
    unsigned access;
} accesses[] = {{'r', HW_BREAKPOINT_R}, {'w', HW_BREAKPOINT_W}, {'x', HW_BREAKPOINT_X}};

bool breakpoint_starts_here(const struct event_cursor *cursor)
{
    const char *text = cursor->text + cursor->at;

    /* No tracepoint's name begins with a digit. */
    return str_starts(text, PREFIX) && text[strlen(PREFIX)] >= '0' && text[strlen(PREFIX)] <= '9';
}

static int parse_number(struct event_cursor *cursor, const char *what, uint64_t *ret, struct error *error)
{
    size_t size = cursor_name(cursor);

    if (size == 0)
        return cursor_set_error(cursor, what, error);
    if (number_parse_u64_n(cursor->text + cursor->at, size, ret) < 0)
        return error_set_at(error, -EINVAL, cursor->at, "%s is a number like 4096 or 0x1000, of at most 64 bits", what);
    cursor->at += size;
    return 0;
}

static unsigned find_access(char c)
{
    for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
        if (accesses[i].letter == c)
            return accesses[i].access;
    return 0;
}

/* Parses ":rw" and the like; other letters are modifiers, which stay. */
static int parse_access(struct event_cursor *cursor, unsigned *ret, struct error *error)
{
    unsigned access = 0;

    if (cursor_peek(cursor) != ':' || !find_access(cursor->text[cursor->at + 1])) {
        *ret = HW_BREAKPOINT_RW;
        return 0;
    }
    for (cursor->at++; find_access(cursor_peek(cursor)); cursor->at++) {
        unsigned one = find_access(cursor_peek(cursor));
        if (access & one)
            return error_set_at(error, -EINVAL, cursor->at, "the access \"%c\" stands here twice", cursor_peek(cursor));
        access |= one;
    }
    *ret = access;
    return 0;
}

/* A letter behind the slash begins a term, and a second slash ends them: "mem:0/name=x/". */
static bool has_length(const struct event_cursor *cursor)
{
    char c = cursor_peek(cursor) == '/' ? cursor->text[cursor->at + 1] : 'a';

    return c != '/' && !(c >= 'a' && c <= 'z');
}

static int parse_length(struct event_cursor *cursor, uint64_t *ret, struct error *error)
{
    uint64_t length;
    size_t at = cursor->at + 1;

    if (!has_length(cursor))
        return 0;
    cursor->at++;
    int r = parse_number(cursor, "the length", &length, error);
    if (r < 0)
        return r;
    if (length < 1 || length > LENGTH_MAX)
        return error_set_at(error, -EINVAL, at, "the length is 1 to %d bytes, the sizes that a CPU can watch",
                            LENGTH_MAX);
    *ret = length;
    return 0;
}

int breakpoint_parse(struct event_cursor *cursor, struct event *event, struct error *error)
{
    const char *text = cursor->text + cursor->at;
    struct event_breakpoint breakpoint = {0};
    size_t start = cursor->at;

    cursor->at += strlen(PREFIX);
    int r = parse_number(cursor, "the address", &breakpoint.address, error);
    if (r == 0)
        r = parse_length(cursor, &breakpoint.length, error);
    if (r == 0)
        r = parse_access(cursor, &breakpoint.access, error);
    if (r < 0)
        return r;
    if (breakpoint.length == 0) /* as perf does; the kernel wants a pointer's size for instructions */
        breakpoint.length = breakpoint.access & HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
    event->kind = EVENT_BREAKPOINT;
    event->type = PERF_TYPE_BREAKPOINT;
    event->breakpoint = breakpoint;
    event->pmu = strdup("breakpoint");
    event->name = strndup(text, cursor->at - start);
    return event->pmu && event->name ? 0 : error_oom(error);
}

bool breakpoint_is_in_user_memory(const struct perf_event_attr *attr)
{
    return attr->exclude_kernel || (sizeof(void *) == 8 && attr->bp_addr >> 63 == 0);
}
