/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys: see options.h. */
#include "config/options.h"

#include "base/glob.h"
#include "base/number.h"
#include "base/utf8.h"
#include "config/address.h"
#include "config/config.h"
#include "config/events.h"
#include "config/groups.h"
#include "config/option-types.h"
#include "perf/cpuset.h"
#include "perf/event/parse.h"

static int check_address(const char *text, struct error *error)
{
    struct address address;

    return address_parse(text, &address, error);
}

/* Where other pages live. */
static const char *const taken_prefixes[] = {"/api/", "/-/", "/debug/"};

/* What a path may have besides letters and digits without percent-encoding (RFC 3986, section 3.3). */
#define PATH_CHARACTERS                                                                                                \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"                                                   \
    "/-._~!$&'()*+,;=:@"

static int check_telemetry_path(const char *text, struct error *error)
{
    size_t usual = strspn(text, PATH_CHARACTERS);

    if (text[0] != '/')
        return error_set(error, -EINVAL, "\"%s\" does not start with \"/\"", text);
    if (str_equal(text, "/"))
        return error_set(error, -EINVAL, "\"/\" is the page with links; take another path, such as /metrics");
    if (text[usual])
        return error_set(error, -EINVAL, "\"%s\" has a character that is not of a URL's path: \"%.*s\"", text,
                         (int)utf8_character(text + usual, strlen(text + usual)), text + usual);
    /* Clients resolve these before they send. */
    if (strstr(text, "//") || strstr(text, "/./") || strstr(text, "/../") || str_equal(strrchr(text, '/'), "/.") ||
        str_equal(strrchr(text, '/'), "/.."))
        return error_set(error, -EINVAL, "\"%s\" has an empty part, \".\" or \"..\"", text);
    for (size_t i = 0; i < ARRAY_SIZE(taken_prefixes); i++)
        if (str_starts(text, taken_prefixes[i]))
            return error_set(error, -EINVAL, "\"%s\" is below %s, which has other pages", text, taken_prefixes[i]);
    return 0;
}

static int check_cpus(const char *text, struct error *error)
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

/* A pattern that no cgroup's path can match is a mistake. */
static int check_pattern(const char *text, struct error *error)
{
    size_t size = strlen(text);

    if (text[0] != '/')
        return error_set(error, -EINVAL, "\"%s\" does not start with \"/\", as the path of every cgroup does", text);
    if (strstr(text, "//") || (size > 1 && text[size - 1] == '/'))
        return error_set(error, -EINVAL, "\"%s\" has an empty part, which the path of no cgroup has", text);
    return glob_check(text, error);
}

static int check_not_empty(const char *text, struct error *error)
{
    return text[0] ? 0 : error_set(error, -EINVAL, "the text is empty");
}

static int check_sampled_event(const char *text, struct error *error)
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

static int check_tracepoint(const char *text, struct error *error)
{
    struct event event;

    int r = event_parse(text, &event, error);
    if (r < 0)
        return r;
    if (event.kind != EVENT_TRACEPOINT || event.modifiers || event.precise)
        r = error_set(error, -EINVAL, "\"%s\" is no tracepoint, as sched:sched_switch is", text);
    event_done(&event);
    return r;
}

/* The kernel has rings of no other size. */
static int check_power_of_two(const char *text, struct error *error)
{
    uint64_t value = 0;

    if (number_parse_u64(text, &value) < 0 || value == 0 || (value & (value - 1)) != 0)
        return error_set(error, -EINVAL, "%s is no power of two", text);
    return 0;
}

/* As "Host" has it, without the port. */
static int check_host(const char *text, struct error *error)
{
    size_t usual = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._");

    if (text[0] == '\0' || text[0] == '.')
        return error_set(error, -EINVAL, "\"%s\" is not the name of a host", text);
    if (text[usual])
        return error_set(error, -EINVAL,
                         "\"%s\" is not the name of a host, which has letters, digits, \"-\", \"_\" and dots, and here "
                         "no port",
                         text);
    return 0;
}

static const struct option_choice standings[] = {
    {"operators", STANDING_OPERATOR},
    {"local", STANDING_LOCAL},
    {"everybody", STANDING_EVERYBODY},
    {NULL, 0},
};

#define MEMBER(member) .offset = offsetof(struct config, member)

static const struct option config_rows[] = {
    {
        .path = "user",
        .type = &option_text,
        MEMBER(user),
        .range = "the name or number of a user who is not root; empty for \"perfcountd\", or else \"nobody\"",
        .fallback = "\"\"",
        .help = "whom the process that listens becomes when root starts it",
    },
    {
        .path = "opener.breakpoints",
        .type = &option_bool,
        MEMBER(opener_breakpoints),
        .range = "true or false",
        .fallback = "false",
        .help = "whether the breakpoints of the configuration are counted beside an opener, where whoever takes over "
                "the process that listens can move them",
    },
    {
        .path = "web.listen",
        .type = &option_text_list,
        MEMBER(web.listen),
        .count_offset = offsetof(struct config, web.n_listen),
        .min = 1,
        .check = check_address,
        .range = ":PORT, HOST:PORT, [IPv6]:PORT or unix:/PATH",
        .fallback = "[\":10298\"]",
        .help = "where to listen for HTTP",
    },
    {
        .path = "web.telemetry_path",
        .type = &option_text,
        MEMBER(web.telemetry_path),
        .check = check_telemetry_path,
        .range = "starts with \"/\"; not \"/\" itself, nor below /api/, /-/ or /debug/",
        .fallback = "/metrics",
        .help = "the path of the metrics",
    },
    {
        .path = "web.min_interval",
        .type = &option_duration,
        MEMBER(web.min_interval_ns),
        .max = 60 * NSEC_PER_SEC,
        .range = "0s to 60s",
        .fallback = "100ms",
        .help = "scrapes closer together than this share one reading",
    },
    {
        .path = "web.config_file",
        .type = &option_text,
        MEMBER(web.config_file),
        .range = "the path of a file, relative to the directory of this one; empty for none",
        .fallback = "\"\"",
        .help = "the exporters' web configuration: TLS, passwords, headers",
    },
    {
        .path = "web.limits.connections",
        .type = &option_number,
        MEMBER(web.limits.connections),
        .min = 1,
        .max = 100000,
        .range = "1 to 100000",
        .fallback = "512",
        .help = "how many connections may be open",
    },
    {
        .path = "web.limits.connections_per_address",
        .type = &option_number,
        MEMBER(web.limits.connections_per_address),
        .min = 1,
        .max = 100000,
        .range = "1 to 100000",
        .fallback = "128",
        .help = "how many connections may be open from one address",
    },
    {
        .path = "web.limits.header_size",
        .type = &option_number,
        MEMBER(web.limits.header_size),
        .min = 4096,
        .max = 1048576,
        .range = "4096 to 1048576",
        .fallback = "16384",
        .help = "how many bytes the line and the headers of a request may have",
    },
    {
        .path = "web.limits.request_timeout",
        .type = &option_duration,
        MEMBER(web.limits.request_timeout_ns),
        .min = 100 * NSEC_PER_MSEC,
        .max = 86400 * NSEC_PER_SEC,
        .range = "100ms to 24h",
        .fallback = "10s",
        .help = "how long a new connection has for its first request",
    },
    {
        .path = "web.limits.idle_timeout",
        .type = &option_duration,
        MEMBER(web.limits.idle_timeout_ns),
        .min = 100 * NSEC_PER_MSEC,
        .max = 86400 * NSEC_PER_SEC,
        .range = "100ms to 24h",
        .fallback = "300s",
        .help = "how long a connection may go without a request",
    },
    {
        .path = "web.limits.response_timeout",
        .type = &option_duration,
        MEMBER(web.limits.response_timeout_ns),
        .min = 100 * NSEC_PER_MSEC,
        .max = 86400 * NSEC_PER_SEC,
        .range = "100ms to 24h",
        .fallback = "60s",
        .help = "how long a client may take to read a response",
    },
    {
        .path = "web.hosts",
        .type = &option_text_list,
        MEMBER(web.hosts),
        .count_offset = offsetof(struct config, web.n_hosts),
        .check = check_host,
        .range = "names of hosts, without a port",
        .fallback = "[]",
        .help = "names besides its own by which browsers and local clients reach this machine",
    },
    {
        .path = "web.local_operators",
        .type = &option_bool,
        MEMBER(web.local_operators),
        .range = "true or false",
        .fallback = "false",
        .help = "whether every client of this machine is an operator, who may reload, pause and have samples",
    },
    {
        .path = "collectors.cpu.enabled",
        .type = &option_bool,
        MEMBER(cpu.enabled),
        .range = "true or false",
        .fallback = "true",
        .help = "whether to count per CPU",
    },
    {
        .path = "collectors.cpu.cpus",
        .type = &option_text,
        MEMBER(cpu.cpus),
        .check = check_cpus,
        .range = "\"all\" or a list such as \"0-3,6\"",
        .fallback = "all",
        .help = "on which CPUs to count",
    },
    {
        .path = "collectors.cpu.groups",
        .type = &option_groups,
        MEMBER(cpu.groups),
        .range = "at most 256 groups of at most 64 events",
        .fallback = "[{name: core, events: \"{cycles,instructions}\"},"
                    " {name: cache, events: \"{cache-references,cache-misses}\"},"
                    " {name: branch, events: \"{branches,branch-misses}\"},"
                    " {name: software, events: \"{context-switches,cpu-migrations,minor-faults,major-faults}\"}]",
        .help = "what to count on each CPU, each group's events together",
    },
    {
        .path = "collectors.pmu.enabled",
        .type = &option_bool,
        MEMBER(pmu.enabled),
        .range = "true or false",
        .fallback = "true",
        .help = "whether to count on PMUs that are not of one CPU: uncore, DSU, RAPL",
    },
    {
        .path = "collectors.pmu.groups",
        .type = &option_groups,
        MEMBER(pmu.groups),
        .range = "at most 256 groups of at most 64 events",
        .fallback = "[]",
        .help = "what to count on each of these PMUs, each group's events together",
    },
    {
        .path = "collectors.cgroup.enabled",
        .type = &option_bool,
        MEMBER(cgroup.enabled),
        .range = "true or false",
        .fallback = "true",
        .help = "whether to count per cgroup",
    },
    {
        .path = "collectors.cgroup.include",
        .type = &option_text_list,
        MEMBER(cgroup.include),
        .count_offset = offsetof(struct config, cgroup.n_include),
        .min = 1,
        .check = check_pattern,
        .range = "patterns of paths from the root of the cgroups, which is \"/\"",
        .fallback = "[\"/*.slice\", \"/system.slice/*.service\", \"/system.slice/*.slice/*.service\"]",
        .help = "which cgroups to count",
    },
    {
        .path = "collectors.cgroup.exclude",
        .type = &option_text_list,
        MEMBER(cgroup.exclude),
        .count_offset = offsetof(struct config, cgroup.n_exclude),
        .check = check_pattern,
        .range = "patterns of paths from the root of the cgroups, which is \"/\"",
        .fallback = "[]",
        .help = "which of these cgroups not to count",
    },
    {
        .path = "collectors.cgroup.max_cgroups",
        .type = &option_number,
        MEMBER(cgroup.max_cgroups),
        .max = 100000,
        .range = "0 to 100000",
        .fallback = "256",
        .help = "how many cgroups to count at most, those nearest to the root first",
    },
    {
        .path = "collectors.cgroup.per_cpu",
        .type = &option_bool,
        MEMBER(cgroup.per_cpu),
        .range = "true or false",
        .fallback = "false",
        .help = "whether each CPU has its own series, with the label \"cpu\"",
    },
    {
        .path = "collectors.cgroup.linger",
        .type = &option_duration,
        MEMBER(cgroup.linger_ns),
        .max = 3600 * NSEC_PER_SEC,
        .range = "0s to 1h",
        .fallback = "60s",
        .help = "how long the last values of a removed cgroup stay",
    },
    {
        .path = "collectors.cgroup.groups",
        .type = &option_groups,
        MEMBER(cgroup.groups),
        .range = "at most 256 groups of at most 64 events",
        .fallback = "[{name: core, events: \"{cycles,instructions}\"},"
                    " {name: software, events: \"{task-clock,context-switches,minor-faults,major-faults}\"}]",
        .help = "what to count in each cgroup, each group's events together",
    },
    {
        .path = "collectors.self.enabled",
        .type = &option_bool,
        MEMBER(self_enabled),
        .range = "true or false",
        .fallback = "true",
        .help = "whether to report on the daemon itself",
    },
    {
        .path = "sampler.enabled",
        .type = &option_bool,
        MEMBER(sampler.enabled),
        .range = "true or false",
        .fallback = "false",
        .help = "whether clients may have samples of what runs: profiles",
    },
    {
        .path = "sampler.event",
        .type = &option_text,
        MEMBER(sampler.event),
        .check = check_sampled_event,
        .range = "\"auto\" or events in perf's syntax, of which the first samples",
        .fallback = "auto",
        .help = "what samples, where a client does not say; auto is cycles, and cpu-clock where no PMU has them",
    },
    {
        .path = "sampler.frequency",
        .type = &option_number,
        MEMBER(sampler.frequency),
        .max = 1000000,
        .range = "0 to 1000000",
        .fallback = "99",
        .help = "samples a second on each CPU, where a client does not say; 0 with sampler.period",
    },
    {
        .path = "sampler.period",
        .type = &option_number,
        MEMBER(sampler.period),
        .max = INT64_MAX,
        .range = "0 to 2^63 - 1",
        .fallback = "0",
        .help = "a sample after so many events instead of sampler.frequency; 0 for none",
    },
    {
        .path = "sampler.callchain",
        .type = &option_bool,
        MEMBER(sampler.callchain),
        .range = "true or false",
        .fallback = "true",
        .help = "whether samples have the chain of calls",
    },
    {
        .path = "sampler.ring_pages",
        .type = &option_number,
        MEMBER(sampler.ring_pages),
        .min = 1,
        .max = 4096,
        .check = check_power_of_two,
        .range = "a power of two, 1 to 4096",
        .fallback = "128",
        .help = "pages of memory that take the samples of a CPU",
    },
    {
        .path = "sampler.max_clients",
        .type = &option_number,
        MEMBER(sampler.max_clients),
        .min = 1,
        .max = 64,
        .range = "1 to 64",
        .fallback = "4",
        .help = "how many streams may run",
    },
    {
        .path = "sampler.tracepoints",
        .type = &option_text_list,
        MEMBER(sampler.tracepoints),
        .count_offset = offsetof(struct config, sampler.n_tracepoints),
        .check = check_tracepoint,
        .range = "names as sched:sched_switch",
        .fallback = "[]",
        .help = "the tracepoints that clients may sample",
    },
    {
        .path = "sampler.max_seconds",
        .type = &option_number,
        MEMBER(sampler.max_seconds),
        .min = 1,
        .max = 604800,
        .range = "1 to 604800",
        .fallback = "3600",
        .help = "how many seconds a stream may run",
    },
    {
        .path = "sampler.allow",
        .type = &option_choice,
        MEMBER(sampler.allow),
        .choices = standings,
        .range = "operators, local or everybody",
        .fallback = "operators",
        .help = "the clients that may have samples: operators, all of this machine, or everybody",
    },
    {
        .path = "sampler.allow_remote",
        .type = &option_deprecated_bool,
        MEMBER(sampler.allow_remote),
        .range = "true or false",
        .fallback = "false",
        .help = "deprecated: true is what sampler.allow has as everybody, false as operators",
    },
};

const struct option_table config_options = {.rows = config_rows, .n = ARRAY_SIZE(config_rows)};

static const struct option group_rows[GROUP_OPTIONS] = {
    [GROUP_NAME] =
        {
            .path = "name",
            .type = &option_text,
            .offset = offsetof(struct config_group, name),
            .check = check_not_empty,
            .range = "not empty; once among the groups of a collector",
            .help = "the label \"group\" of its metrics",
        },
    [GROUP_EVENTS] =
        {
            .path = "events",
            .type = &option_events,
            .range = "1 to 64 events",
            .help = "the events, as one text in perf's syntax or as a list",
        },
    [GROUP_STRICT] =
        {
            .path = "strict",
            .type = &option_bool,
            .offset = offsetof(struct config_group, strict),
            .range = "true or false",
            .fallback = "false",
            .help = "whether the group counts whole on a PMU or not at all",
        },
};

const struct option_table group_options = {.rows = group_rows, .n = ARRAY_SIZE(group_rows)};

static const struct option event_rows[EVENT_OPTIONS] = {
    [EVENT_OPTION_EVENT] =
        {
            .path = "event",
            .type = &option_text,
            .offset = offsetof(struct event_text, event),
            .range = "one event in perf's syntax",
            .help = "the event",
        },
    [EVENT_OPTION_NAME] =
        {
            .path = "name",
            .type = &option_text,
            .offset = offsetof(struct event_text, name),
            .range = "letters, digits and \"_\", not starting with a digit",
            .help = "the metric's name instead of the one made of the event",
        },
    [EVENT_OPTION_HELP] =
        {
            .path = "help",
            .type = &option_text,
            .offset = offsetof(struct event_text, help),
            .check = check_not_empty,
            .range = "one line of text; the same wherever the metric is named",
            .help = "the metric's HELP instead of the usual one",
        },
};

const struct option_table event_options = {.rows = event_rows, .n = ARRAY_SIZE(event_rows)};

const struct option *option_table_find(const struct option_table *table, const char *path)
{
    for (size_t i = 0; i < table->n; i++)
        if (str_equal(table->rows[i].path, path))
            return &table->rows[i];
    return NULL;
}
