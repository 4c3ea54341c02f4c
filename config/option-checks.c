/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of values: see option-checks.h. */
#include "config/option-checks.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/number.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "cgroups/name-kind.h"
#include "config/address.h"
#include "perf/cpuset.h"
#include "perf/event-parse.h"
#include "perf/event.h"

int option_check_address(const char *text, struct error *error)
{
    struct address address;

    return address_parse(text, &address, error);
}

/* Other pages have paths below these. */
static const char *const taken_prefixes[] = {"/api/", "/-/", "/debug/", "/page/"};

/* The characters of a path that need no percent-encoding (RFC 3986, section 3.3). */
#define PATH_CHARACTERS                                                                                                \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"                                                   \
    "/-._~!$&'()*+,;=:@"

int option_check_telemetry_path(const char *text, struct error *error)
{
    size_t usual = strspn(text, PATH_CHARACTERS);

    if (text[0] != '/')
        return error_set(error, -EINVAL, "\"%s\" does not start with \"/\"", text);
    if (str_equal(text, "/"))
        return error_set(error, -EINVAL, "\"/\" is the live page; choose another path, such as /metrics");
    if (text[usual])
        return error_set(error, -EINVAL, "\"%s\" has a character that the path of a URL cannot have: \"%.*s\"", text,
                         (int)utf8_character(text + usual, strlen(text + usual)), text + usual);
    /* Clients resolve these before they send a request. */
    if (strstr(text, "//") || strstr(text, "/./") || strstr(text, "/../") || str_equal(strrchr(text, '/'), "/.") ||
        str_equal(strrchr(text, '/'), "/.."))
        return error_set(error, -EINVAL, "\"%s\" has an empty part, \".\" or \"..\"", text);
    for (size_t i = 0; i < ARRAY_SIZE(taken_prefixes); i++)
        if (str_starts(text, taken_prefixes[i]))
            return error_set(error, -EINVAL, "\"%s\" is below %s, where other pages are", text, taken_prefixes[i]);
    return 0;
}

int option_check_cpus(const char *text, struct error *error)
{
    _cleanup_(cpuset_done) struct cpuset set = {0};

    if (str_equal(text, "all"))
        return 0;
    if (text[0] == '\0')
        return error_set(error, -EINVAL, "expected \"all\" or a list of CPUs such as 0-3,6, found nothing");
    int r = cpuset_parse(text, &set, error);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        error_prefix(error, "neither \"all\" nor a list of CPUs such as 0-3,6");
    return r < 0 ? -EINVAL : 0;
}

static int check_path_pattern(const char *text, struct error *error)
{
    size_t size = strlen(text);

    if (strstr(text, "//") || (size > 1 && text[size - 1] == '/'))
        return error_set(error, -EINVAL, "\"%s\" has an empty part; the path of a cgroup has none", text);
    return glob_check(text, error);
}

static int check_name_pattern(const char *text, const char *glob, struct error *error)
{
    if (!*glob)
        return error_set_at(error, -EINVAL, (size_t)(glob - text), "no name is empty; \"%s*\" is every name", text);
    int r = glob_check(glob, error);
    if (r < 0 && error)
        error->offset += (size_t)(glob - text);
    return r;
}

static int refuse_key(const char *key, struct error *error)
{
    struct suggest suggest = {.wrong = key};
    char nearest[128], known[256];
    size_t used = 0;

    for (size_t i = 0; i < N_NAME_KEYS; i++) {
        const char *text = name_kind_text((enum name_kind)i);
        suggest_consider(&suggest, text);
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", text);
    }
    suggest_format(&suggest, nearest, sizeof(nearest));
    if (*nearest)
        return error_set(error, -EINVAL, "\"%s\" is no kind of name%s", key, nearest);
    return error_set(error, -EINVAL, "\"%s\" is no kind of name; known are %s", key, known);
}

/* A text that is neither a path nor begins with a key of names and "=". */
static int refuse_pattern(const char *text, struct error *error)
{
    size_t size = strcspn(text, "=");

    if (!text[size])
        return error_set(error, -EINVAL,
                         "\"%s\" is neither a path, which starts with \"/\", nor a name such as container=grafana",
                         text);
    _cleanup_(freep) char *key = strndup(text, size);
    return key ? refuse_key(key, error) : error_oom(error);
}

/* A pattern that cannot match any cgroup is a mistake. */
int option_check_pattern(const char *text, struct error *error)
{
    enum name_kind kind;
    const char *glob;

    if (text[0] == '/')
        return check_path_pattern(text, error);
    if (name_kind_parse(text, &kind, &glob) == 0)
        return check_name_pattern(text, glob, error);
    return refuse_pattern(text, error);
}

int option_check_not_empty(const char *text, struct error *error)
{
    return text[0] ? 0 : error_set(error, -EINVAL, "the text is empty");
}

int option_check_sampled_event(const char *text, struct error *error)
{
    struct event_list list;

    if (str_equal(text, "auto"))
        return 0;
    int r = event_list_parse_sampled(text, &list, error);
    if (r < 0)
        return r;
    event_list_done(&list);
    return 0;
}

int option_check_tracepoint(const char *text, struct error *error)
{
    struct event event;

    int r = event_parse(text, &event, error);
    if (r < 0)
        return r;
    if (event.kind != EVENT_TRACEPOINT || event.modifiers || event.precise)
        r = error_set(error, -EINVAL, "\"%s\" is not a tracepoint such as sched:sched_switch", text);
    event_done(&event);
    return r;
}

/* The kernel has rings of these sizes only. */
int option_check_power_of_two(const char *text, struct error *error)
{
    uint64_t value = 0;

    if (number_parse_u64(text, &value) < 0 || value == 0 || (value & (value - 1)) != 0)
        return error_set(error, -EINVAL, "%s is not a power of two", text);
    return 0;
}

int option_check_host(const char *text, struct error *error)
{
    size_t usual = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._");

    if (text[0] == '\0' || text[0] == '.')
        return error_set(error, -EINVAL, "\"%s\" is not the name of a host", text);
    if (text[usual])
        return error_set(error, -EINVAL,
                         "\"%s\" is not the name of a host, which may have letters, digits, \"-\", \"_\" and dots, "
                         "but no port here",
                         text);
    return 0;
}
