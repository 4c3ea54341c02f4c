/* SPDX-License-Identifier: Apache-2.0 */
/* Events by the kernel's numbers: see numeric.h. */
#include "perf/numeric.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>

#include "base/number.h"
#include "perf/generic-events.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool numeric_starts_here(const struct event_cursor *cursor)
{
    const char *text = cursor->text + cursor->at;
    size_t size = cursor_name(cursor);
    uint64_t type;

    return size > 0 && text[size] == ':' && is_digit(text[size + 1]) &&
           number_parse_u64_n(text, size, &type) != -EINVAL;
}

static int parse_number(struct event_cursor *cursor, uint64_t *ret, struct error *error)
{
    size_t size = cursor_name(cursor);

    if (number_parse_u64_n(cursor->text + cursor->at, size, ret) < 0)
        return error_set_at(error, -EINVAL, cursor->at,
                            "the number of an event is one like 17 or 0x11, of at most 64 bits");
    cursor->at += size;
    return 0;
}

static int refuse_type(uint64_t type, size_t offset, struct error *error)
{
    if (type == PERF_TYPE_TRACEPOINT)
        return error_set_at(error, -EINVAL, offset,
                            "the number of a tracepoint may be another one after the next boot: write its name, as in "
                            "sched:sched_switch");
    if (type == PERF_TYPE_BREAKPOINT)
        return error_set_at(error, -EINVAL, offset, "a breakpoint has an address: write it as in mem:0x1000/8:w");
    return error_set_at(
        error, -EINVAL, offset,
        "the number %" PRIu64
        " of a PMU may be another one after the next boot: write its name, as in PMU/config=0x11/ (0 is "
        "hardware, 1 software, 3 cache, 4 raw)",
        type);
}

static int make_raw(uint64_t config, struct event *event, struct error *error)
{
    event->kind = EVENT_RAW;
    event->config = config;
    return asprintf(&event->name, "r%" PRIx64, config) < 0 ? error_oom(error) : 0;
}

static int make_cache(uint64_t config, size_t offset, struct event *event, struct error *error)
{
    char name[64];
    uint64_t known;

    for (size_t i = 0; generic_find_cache(i, name, sizeof(name), &known); i++)
        if (known == config) {
            event->config = config;
            event->name = strdup(name);
            return event->name ? 0 : error_oom(error);
        }
    return error_set_at(error, -EINVAL, offset,
                        "there is no cache event 0x%" PRIx64
                        ": its bytes are the cache, the operation and the result (perf_event_open(2))",
                        config);
}

static int make_generic(uint64_t config, size_t offset, struct event *event, struct error *error)
{
    event->generic = generic_find_config(event->type, config);
    if (!event->generic)
        return error_set_at(error, -EINVAL, offset, "there is no %s event %" PRIu64 "; 0 is %s",
                            event->type == PERF_TYPE_HARDWARE ? "hardware" : "software", config,
                            generic_find_config(event->type, 0)->name);
    event->config = config;
    event->name = strdup(event->generic->name);
    return event->name ? 0 : error_oom(error);
}

int numeric_parse(struct event_cursor *cursor, struct event *event, struct error *error)
{
    size_t start = cursor->at;
    uint64_t type, config;

    int r = parse_number(cursor, &type, error);
    size_t offset = ++cursor->at;
    if (r == 0)
        r = parse_number(cursor, &config, error);
    if (r < 0)
        return r;
    event->kind = EVENT_GENERIC;
    event->type = (uint32_t)type;
    switch (type) {
    case PERF_TYPE_HARDWARE:
    case PERF_TYPE_SOFTWARE:
        return make_generic(config, offset, event, error);
    case PERF_TYPE_HW_CACHE:
        return make_cache(config, offset, event, error);
    case PERF_TYPE_RAW:
        return make_raw(config, event, error);
    }
    return refuse_type(type, start, error);
}
