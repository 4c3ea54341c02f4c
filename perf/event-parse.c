/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/event-parse.h"

#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/generic-events.h"

/* --- Breakpoints --- */

#define PREFIX "mem:"
#define LENGTH_MAX 8

static const struct {
    char letter;
    unsigned access;
} accesses[] = {{'r', HW_BREAKPOINT_R}, {'w', HW_BREAKPOINT_W}, {'x', HW_BREAKPOINT_X}};

static bool breakpoint_starts_here(const struct event_cursor *cursor)
{
    const char *text = cursor->text + cursor->at;

    /* No tracepoint has a name that begins with a digit, so this is not "SYSTEM:NAME". */
    return str_starts(text, PREFIX) && text[strlen(PREFIX)] >= '0' && text[strlen(PREFIX)] <= '9';
}

static int parse_operand(struct event_cursor *cursor, const char *what, uint64_t *ret, struct error *error)
{
    size_t size = cursor_name(cursor);

    if (size == 0)
        return cursor_set_error(cursor, what, error);
    if (number_parse_u64_n(cursor->text + cursor->at, size, ret) < 0)
        return error_set_at(error, -EINVAL, cursor->at, "%s must be a number like 4096 or 0x1000, with at most 64 bits",
                            what);
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

/*
 * Parses the access of a breakpoint, as in ":w"; the default is "rw". If other letters follow the colon, they are
 * modifiers, and the caller parses them.
 */
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
            return error_set_at(error, -EINVAL, cursor->at, "the access \"%c\" is given twice", cursor_peek(cursor));
        access |= one;
    }
    *ret = access;
    return 0;
}

/*
 * A slash need not begin a length: a letter after it begins a term, and a second slash ends an empty list of terms
 * ("mem:0/name=x/").
 */
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
    int r = parse_operand(cursor, "the length", &length, error);
    if (r < 0)
        return r;
    if (length < 1 || length > LENGTH_MAX)
        return error_set_at(error, -EINVAL, at, "the length must be 1 to %d bytes, the sizes that a CPU can watch",
                            LENGTH_MAX);
    *ret = length;
    return 0;
}

/*
 * Parses "mem:0x1000/8:w" up to the modifiers or the end. The default access is "rw"; the default length is 4 bytes, or
 * the size of a pointer if the access includes execution. Returns -EINVAL, with the error at the offending character,
 * or -ENOMEM.
 */
static int breakpoint_parse(struct event_cursor *cursor, struct event *event, struct error *error)
{
    const char *text = cursor->text + cursor->at;
    struct event_breakpoint breakpoint = {0};
    size_t start = cursor->at;

    cursor->at += strlen(PREFIX);
    int r = parse_operand(cursor, "the address", &breakpoint.address, error);
    if (r == 0)
        r = parse_length(cursor, &breakpoint.length, error);
    if (r == 0)
        r = parse_access(cursor, &breakpoint.access, error);
    if (r < 0)
        return r;
    if (breakpoint.length == 0) /* the default, as in perf; for execution the kernel requires the size of a pointer */
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

/* --- TYPE:CONFIG --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/*
 * Whether two numbers with a colon between them begin at the cursor. Only the first digit of the second number is
 * checked.
 */
static bool numeric_starts_here(const struct event_cursor *cursor)
{
    const char *text = cursor->text + cursor->at;
    size_t size = cursor_name(cursor);
    uint64_t type;

    return size > 0 && text[size] == ':' && is_digit(text[size + 1]) &&
           number_parse_u64_n(text, size, &type) != -EINVAL;
}

static int parse_numeric_part(struct event_cursor *cursor, uint64_t *ret, struct error *error)
{
    size_t size = cursor_name(cursor);

    if (number_parse_u64_n(cursor->text + cursor->at, size, ret) < 0)
        return error_set_at(error, -EINVAL, cursor->at,
                            "an event number must be like 17 or 0x11, with at most 64 bits");
    cursor->at += size;
    return 0;
}

static int refuse_type(uint64_t type, size_t offset, struct error *error)
{
    if (type == PERF_TYPE_TRACEPOINT)
        return error_set_at(error, -EINVAL, offset,
                            "the number of a tracepoint may change at the next boot: write the tracepoint's name, as "
                            "in sched:sched_switch");
    if (type == PERF_TYPE_BREAKPOINT)
        return error_set_at(error, -EINVAL, offset, "a breakpoint needs an address: write it as in mem:0x1000/8:w");
    return error_set_at(error, -EINVAL, offset,
                        "the number %" PRIu64
                        " of a PMU may change at the next boot: write its name, as in PMU/config=0x11/ (0 is "
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
        return error_set_at(error, -EINVAL, offset, "there is no %s event %" PRIu64 "; event 0 is %s",
                            event->type == PERF_TYPE_HARDWARE ? "hardware" : "software", config,
                            generic_find_config(event->type, 0)->name);
    event->config = config;
    event->name = strdup(event->generic->name);
    return event->name ? 0 : error_oom(error);
}

/*
 * Parses TYPE:CONFIG into the same event as the event's name: "1:1" is task-clock, "4:0x11" is r11. Types 0, 1, 3 and 4
 * mean the same on every kernel (include/uapi/linux/perf_event.h). Other types are refused: the numbers of PMUs and
 * tracepoints may change at each boot, and two numbers do not describe a breakpoint. Returns -EINVAL, with the error at
 * the refused number, or -ENOMEM.
 */
static int numeric_parse(struct event_cursor *cursor, struct event *event, struct error *error)
{
    size_t start = cursor->at;
    uint64_t type, config;

    int r = parse_numeric_part(cursor, &type, error);
    size_t offset = ++cursor->at;
    if (r == 0)
        r = parse_numeric_part(cursor, &config, error);
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

/* --- Events and groups --- */

#define TEXT_MAX 65536
#define EVENTS_MAX 64
#define GROUPS_MAX 256

/* Stores the metric name, converted to a valid one if necessary. */
static int take_metric_name(struct event *event, const struct event_term *term, struct error *error)
{
    if (!term->text)
        return error_set_at(error, -EINVAL, term->offset, "the term \"name\" needs a value");
    if (event_set_metric(event, term->text, NULL) < 0) {
        _cleanup_(freep) char *metric = event_metric_name(term->text);
        if (!metric || event_set_metric(event, metric, NULL) < 0)
            return error_oom(error);
    }
    return 0;
}

/*
 * Stores the period or frequency of a sampled event. The value is passed in attr.sample_period, where the kernel
 * accepts 63 bits.
 */
static int take_rate(struct event *event, const struct event_term *term, struct error *error)
{
    if (!term->text || !term->numeric || term->value == 0 || term->value > INT64_MAX)
        return error_set_at(error, -EINVAL, term->offset, "the value of \"%s\" must be a number from 1 to 2^63 - 1",
                            term->name);
    if (event->period || event->frequency)
        return error_set_at(error, -EINVAL, term->offset,
                            "the terms \"period\" and \"freq\" exclude each other, and each may be given once");
    *(str_equal(term->name, "period") ? &event->period : &event->frequency) = term->value;
    return 0;
}

/*
 * Returns 1 if the term belongs to the event itself and was stored there, 0 if it belongs to the PMU, or -errno if the
 * event cannot have the term.
 */
static int take_term(struct event *event, const struct event_term *term, bool samples, struct error *error)
{
    int r;

    if (str_equal(term->name, "name"))
        r = take_metric_name(event, term, error);
    else if (samples && (str_equal(term->name, "period") || str_equal(term->name, "freq")))
        r = take_rate(event, term, error);
    else
        return event_term_check(event, term, samples, error);
    return r < 0 ? r : 1;
}

/* Parses the terms and the slash after them; the slash before them has been consumed. */
static int parse_terms(struct event_cursor *cursor, struct event *event, struct error *error)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};
    size_t kept = 0;

    int r = event_terms_parse(cursor, &terms, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < terms.n; i++) {
        r = take_term(event, &terms.terms[i], cursor->samples, error);
        if (r < 0)
            return r;
        struct event_term term = terms.terms[i];
        terms.terms[i] = (struct event_term){0};
        if (r > 0)
            event_term_done(&term);
        else
            terms.terms[kept++] = term;
    }
    if (!cursor_take(cursor, '/'))
        return cursor_set_error(cursor, "a comma or a slash", error);
    event->terms = steal(terms.terms);
    event->n_terms = kept;
    terms.n = 0;
    return 0;
}

/*
 * Length of the tracepoint or system name at `text`: [a-z0-9_]+ with at least one character that is not a digit. System
 * names may begin with a digit ("9p"). The result is 0 if there is no name.
 */
static size_t tracepoint_name_size(const char *text)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

    return strspn(text, "0123456789") < size ? size : 0;
}

static int copy_name(char **name, const char *text, size_t size, struct error *error)
{
    *name = strndup(text, size);
    return *name ? 0 : error_oom(error);
}

/* Whether the word of `size` characters is followed by ":" and another word that is not modifiers. */
static bool is_tracepoint(const char *text, size_t size)
{
    const char *name = text + size + 1;

    if (text[size] != ':' || tracepoint_name_size(text) != size)
        return false;
    size_t name_size = tracepoint_name_size(name);
    return name_size && !cursor_is_modifiers(name, name_size);
}

static bool find_generic(const char *word, size_t size, struct event *event)
{
    event->generic = generic_find(word, size);
    if (event->generic) {
        event->type = event->generic->type;
        event->config = event->generic->config;
        return true;
    }
    if (!generic_parse_cache(word, size, &event->config))
        return false;
    event->type = PERF_TYPE_HW_CACHE;
    return true;
}

/* Whether the name before a slash is the name of a PMU. As in perf, the kernel's event names take precedence. */
static bool is_pmu(const char *word, size_t size)
{
    uint64_t config;

    return !generic_find(word, size) && !generic_parse_cache(word, size, &config) &&
           generic_parse_raw(word, size, &config) == -EINVAL;
}

static int parse_pmu(struct event_cursor *cursor, size_t size, struct event *event, struct error *error)
{
    int r = copy_name(&event->pmu, cursor->text + cursor->at, size, error);

    event->kind = EVENT_PMU;
    cursor->at += size + 1;
    return r < 0 ? r : parse_terms(cursor, event, error);
}

/* Parses an event that names no PMU and begins with a word of `size` characters. */
static int parse_word(struct event_cursor *cursor, size_t size, struct event *event, struct error *error)
{
    const char *word = cursor->text + cursor->at;
    int raw = generic_parse_raw(word, size, &event->config);

    if (raw == -ERANGE)
        return error_set_at(error, -EINVAL, cursor->at, "a raw event has at most 16 digits");
    if (find_generic(word, size, event)) {
        event->kind = EVENT_GENERIC;
    } else if (raw == 0) {
        event->kind = EVENT_RAW;
        event->type = PERF_TYPE_RAW;
    } else if (is_tracepoint(word, size)) {
        event->kind = EVENT_TRACEPOINT;
        event->type = PERF_TYPE_TRACEPOINT;
        int r = copy_name(&event->system, word, size, error);
        if (r < 0)
            return r;
        cursor->at += size + 1;
        word += size + 1;
        size = tracepoint_name_size(word);
    } else {
        event->kind = EVENT_NAME;
        size = cursor_pfm_name_size(word, size);
    }
    cursor->at += size;
    return copy_name(&event->name, word, size, error);
}

/*
 * A clock counts time whatever the CPU does: the kernel accepts all modifiers and ignores them. On a clock that counts,
 * u, k and I are refused, because the count would be mistaken for the time in that mode; h, G and H are accepted, as in
 * perf, and the metric name leaves them out (event_has_ignored_modifiers()). On a clock that samples, h, G and H are
 * refused: a clock with h alone would never sample.
 */
static int check_clock(const struct event *event, unsigned modifiers, bool samples, size_t offset, struct error *error)
{
    const unsigned refused = samples ? EVENT_IGNORED_ON_CLOCKS : (unsigned)(EVENT_USER | EVENT_KERNEL | EVENT_NO_IDLE);

    if (!(modifiers & refused))
        return 0;
    if (samples)
        return error_set_at(error, -EINVAL, offset, "the modifiers h, G and H have no effect on %s",
                            event->generic->name);
    return error_set_at(error, -EINVAL, offset,
                        "%s counts time whatever the CPU does: the modifiers u, k and I have no effect on it",
                        event->generic->name);
}

/*
 * Software events also happen in the idle task. exclude_idle is for hardware events, and for clocks that sample
 * (kernel/events/core.c of Linux 6.12, perf_swevent_hrtimer()).
 */
static int check_modifiers(const struct event *event, unsigned modifiers, bool samples, size_t offset,
                           struct error *error)
{
    bool software = event->kind == EVENT_GENERIC && event->type == PERF_TYPE_SOFTWARE;

    if (event->generic && event->generic->clock)
        return check_clock(event, modifiers, samples, offset, error);
    if ((modifiers & EVENT_NO_IDLE) && (software || event->kind == EVENT_TRACEPOINT || event->kind == EVENT_BREAKPOINT))
        return error_set_at(error, -EINVAL, offset, "the modifier I has no effect on \"%s\": it is for hardware events",
                            event->name);
    return 0;
}

static int parse_modifiers(struct event_cursor *cursor, struct event *event, struct error *error)
{
    bool slash = cursor->at > event->offset && cursor->text[cursor->at - 1] == '/';
    char c = cursor_peek(cursor);

    if (!cursor_take(cursor, ':') && !(slash && c && !strchr(",{} \t\r\n", c)))
        return 0;
    size_t offset = cursor->at;
    int r = cursor_parse_modifiers(cursor, &event->modifiers, &event->precise, error);
    return r < 0 ? r : check_modifiers(event, event->modifiers, cursor->samples, offset, error);
}

/* Refuses patterns such as "sched:*", for which perf would open every matching tracepoint. */
static int check_no_pattern(const struct event_cursor *cursor, struct error *error)
{
    size_t size = strcspn(cursor->text + cursor->at, "*?,/{} \t\r\n");
    const char *text = cursor->text + cursor->at;

    if (text[size] != '*' && text[size] != '?')
        return 0;
    return error_set_at(
        error, -EINVAL, cursor->at + size,
        "patterns such as \"%c\" are not supported in an event: \"perfcountd list-events\" lists the full names",
        text[size]);
}

static int parse_kind(struct event_cursor *cursor, struct event *event, struct error *error)
{
    const char *start = cursor->text + cursor->at;
    size_t size = cursor_name(cursor);

    int r = check_no_pattern(cursor, error);
    if (r < 0)
        return r;
    if (breakpoint_starts_here(cursor))
        return breakpoint_parse(cursor, event, error);
    if (numeric_starts_here(cursor))
        return numeric_parse(cursor, event, error);
    if (size == 0 || start[0] == '-' || start[0] == '.')
        return cursor_set_error(cursor, "an event", error);
    if (start[size] == '/' && is_pmu(start, size))
        return parse_pmu(cursor, size, event, error);
    return parse_word(cursor, size, event, error);
}

/* Parses the terms after an event that names no PMU: "/name=x/". The list may be empty: "cycles//". */
static int parse_own_terms(struct event_cursor *cursor, struct event *event, struct error *error)
{
    if (event->kind == EVENT_PMU || event->kind == EVENT_NAME || !cursor_take(cursor, '/'))
        return 0;
    return cursor_take(cursor, '/') ? 0 : parse_terms(cursor, event, error);
}

static int parse_event_here(struct event_cursor *cursor, struct event *ret, struct error *error)
{
    _cleanup_(event_done) struct event event = {.offset = cursor->at};
    const char *start = cursor->text + cursor->at;

    int r = parse_kind(cursor, &event, error);
    if (r == 0)
        r = parse_own_terms(cursor, &event, error);
    if (r == 0)
        r = parse_modifiers(cursor, &event, error);
    if (r == 0)
        r = copy_name(&event.text, start, (size_t)(cursor->text + cursor->at - start), error);
    if (r < 0)
        return r;
    *ret = event;
    event = (struct event){0};
    return 0;
}

/*
 * Whether a group in braces starts here, perhaps after a name: "{", "name{" or "name:{". *ret_name is the length of the
 * name; *ret_before is the length of everything before the "{".
 */
static bool group_starts_here(const struct event_cursor *cursor, size_t *ret_name, size_t *ret_before)
{
    size_t name = cursor_name(cursor), before = name;

    if (name > 0 && cursor->text[cursor->at + name] == ':')
        before++;
    *ret_name = name;
    *ret_before = before;
    return cursor->text[cursor->at + before] == '{';
}

/*
 * Consumes a comma if another event of the same group follows. Outside of braces, a group in braces may follow instead.
 */
static bool take_comma(struct event_cursor *cursor, bool braces)
{
    struct event_cursor ahead = *cursor;
    size_t name, before;

    if (!cursor_take(&ahead, ','))
        return false;
    cursor_skip_space(&ahead);
    if (!braces && group_starts_here(&ahead, &name, &before))
        return false;
    *cursor = ahead;
    return true;
}

/* Parses events up to a closing brace, a group in braces or the end. *ret_end is the position after the last event. */
static int parse_events_here(struct event_cursor *cursor, struct event_list *list, bool braces, size_t *ret_end,
                             struct error *error)
{
    size_t name, before;

    do {
        cursor_skip_space(cursor);
        if (group_starts_here(cursor, &name, &before))
            return error_set_at(error, -EINVAL, cursor->at, "groups cannot be nested");
        if (list->n == EVENTS_MAX)
            return error_set_at(error, -EINVAL, cursor->at, "a group has at most %d events", EVENTS_MAX);
        if (array_grow(&list->events, list->n) < 0)
            return error_oom(error);
        int r = parse_event_here(cursor, &list->events[list->n], error);
        if (r < 0)
            return r;
        list->n++;
        cursor->samples = false;
        *ret_end = cursor->at;
        cursor_skip_space(cursor);
    } while (take_comma(cursor, braces));
    return 0;
}

static int parse_group_modifiers(struct event_cursor *cursor, struct event_list *list, struct error *error)
{
    unsigned precise = 0;

    if (!cursor_take(cursor, ':'))
        return 0;
    size_t offset = cursor->at;
    int r = cursor_parse_modifiers(cursor, &list->modifiers, &precise, error);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        struct event *event = &list->events[i];
        r = check_modifiers(event, list->modifiers, cursor->is_stream && i == 0, offset, error);
        event->modifiers |= list->modifiers;
        event->precise = MIN(event->precise + precise, 3u);
    }
    return r;
}

static int parse_braces(struct event_cursor *cursor, struct event_list *list, size_t *ret_end, struct error *error)
{
    cursor_take(cursor, '{');
    int r = parse_events_here(cursor, list, true, ret_end, error);
    if (r < 0)
        return r;
    if (!cursor_take(cursor, '}'))
        return cursor_set_error(cursor, "a comma or \"}\"", error);
    r = parse_group_modifiers(cursor, list, error);
    *ret_end = cursor->at;
    return r;
}

static int check_text_size(const char *text, struct error *error)
{
    if (strnlen(text, TEXT_MAX + 1) > TEXT_MAX)
        return error_set_at(error, -EINVAL, TEXT_MAX, "at most %d characters are allowed", TEXT_MAX);
    return 0;
}

static int parse_group_here(struct event_cursor *cursor, struct event_list *list, struct error *error)
{
    size_t name, before, end = 0;
    int r = 0;

    list->offset = cursor->at;
    bool braces = group_starts_here(cursor, &name, &before);
    if (braces && name > 0)
        r = copy_name(&list->name, cursor->text + cursor->at, name, error);
    if (r < 0)
        return r;
    cursor->at += braces ? before : 0;
    size_t start = cursor->at;
    r = braces ? parse_braces(cursor, list, &end, error) : parse_events_here(cursor, list, false, &end, error);
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (event_build_metric(&list->events[i]) < 0)
            r = error_oom(error);
    return r < 0 ? r : copy_name(&list->text, cursor->text + start, end - start, error);
}

static int parse_groups(const char *text, bool samples, struct event_groups *ret, struct error *error)
{
    _cleanup_(event_groups_done) struct event_groups groups = {0};
    struct event_cursor cursor = {.text = text, .samples = samples, .is_stream = samples};

    int r = check_text_size(text, error);
    if (r < 0)
        return r;
    do {
        cursor_skip_space(&cursor);
        if (groups.n == GROUPS_MAX)
            return error_set_at(error, -EINVAL, cursor.at, "at most %d groups are allowed", GROUPS_MAX);
        if (array_grow(&groups.groups, groups.n) < 0)
            return error_oom(error);
        groups.groups[groups.n] = (struct event_list){0};
        r = parse_group_here(&cursor, &groups.groups[groups.n++], error);
        if (r < 0)
            return r;
        cursor_skip_space(&cursor);
    } while (cursor_take(&cursor, ','));
    if (cursor_peek(&cursor))
        return cursor_set_error(&cursor, "a comma or the end", error);
    *ret = groups;
    groups = (struct event_groups){0};
    return 0;
}

int event_groups_parse(const char *text, struct event_groups *ret, struct error *error)
{
    return parse_groups(text, false, ret, error);
}

static int parse_list(const char *text, bool samples, struct event_list *ret, struct error *error)
{
    _cleanup_(event_groups_done) struct event_groups groups = {0};
    int r = parse_groups(text, samples, &groups, error);

    if (r < 0)
        return r;
    if (groups.n > 1)
        return error_set_at(error, -EINVAL, groups.groups[1].offset,
                            "only one group is allowed here: write all events inside one pair of braces, or sample the "
                            "others in a separate stream");
    if (groups.groups[0].name)
        return error_set_at(error, -EINVAL, groups.groups[0].offset,
                            "a group cannot have a name here: leave out \"%.64s\" before the brace",
                            groups.groups[0].name);
    *ret = groups.groups[0];
    groups.groups[0] = (struct event_list){0};
    return 0;
}

int event_list_parse(const char *text, struct event_list *ret, struct error *error)
{
    return parse_list(text, false, ret, error);
}

int event_list_parse_sampled(const char *text, struct event_list *ret, struct error *error)
{
    return parse_list(text, true, ret, error);
}

int event_parse(const char *text, struct event *ret, struct error *error)
{
    _cleanup_(event_done) struct event event = {0};
    struct event_cursor cursor = {.text = text};
    size_t name, before;

    int r = check_text_size(text, error);
    if (r < 0)
        return r;
    cursor_skip_space(&cursor);
    if (group_starts_here(&cursor, &name, &before))
        return error_set_at(error, -EINVAL, cursor.at, "a group is not allowed here: leave out the %sbraces",
                            name > 0 ? "name and the " : "");
    r = parse_event_here(&cursor, &event, error);
    if (r < 0)
        return r;
    cursor_skip_space(&cursor);
    if (cursor_peek(&cursor) == ',')
        return error_set_at(error, -EINVAL, cursor.at, "only one event is allowed here: add another entry to the list");
    if (cursor_peek(&cursor))
        return cursor_set_error(&cursor, "the end", error);
    if (event_build_metric(&event) < 0)
        return error_oom(error);
    *ret = event;
    event = (struct event){0};
    return 0;
}
