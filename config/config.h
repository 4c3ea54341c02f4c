/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed configuration: what perfcountd.yaml says, over the defaults, under the flags. Immutable once loaded.
 *
 * config/options.c is the table that gives each key its type, range, default and help; loader, `check-config`,
 * /api/v1/config and the manual page all follow it.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <jansson.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "config/standing.h"
#include "perf/attr.h"
#include "perf/event/event.h"

/* One event of a group, with where the file says it. */
struct config_event {
    struct event event;
    char *help;            /* the operator's HELP; NULL for the usual one */
    bool named;            /* `name:` was given */
    unsigned line, column; /* 0 in the built-in default */
};

/* A configured group: what is counted together on each target. */
struct config_group {
    char *name;
    bool strict;
    char *text; /* the events as written, where that was one string; NULL for a list */
    struct config_event *events;
    size_t n_events;
    char *signature; /* equal for groups that count and name the same in the same way; for reload */
    unsigned line, column;
};

struct config_groups {
    struct config_group *items;
    size_t n;
};

/* What clients may take: numbers of connections, bytes, nanoseconds. */
struct config_limits {
    uint64_t connections, connections_per_address;
    uint64_t header_size; /* of the request line and the headers together */
    uint64_t request_timeout_ns, idle_timeout_ns, response_timeout_ns;
};

struct config_web {
    char **listen; /* addresses as written: ":10298", "[::1]:10298", "unix:/path" */
    size_t n_listen;
    char *telemetry_path;
    uint64_t min_interval_ns;
    char *config_file; /* of the exporters' web configuration (web-config.h); "" for none */
    struct config_limits limits;
    char **hosts; /* names that this machine is reached by, besides its own */
    size_t n_hosts;
    bool local_operators;
};

struct config_cpu {
    bool enabled;
    char *cpus; /* "all" or a list, checked */
    struct config_groups groups;
};

struct config_pmu {
    bool enabled;
    struct config_groups groups;
};

struct config_cgroup {
    bool enabled;
    char **include, **exclude; /* patterns of base/glob.h, checked */
    size_t n_include, n_exclude;
    uint64_t max_cgroups;
    bool per_cpu;
    uint64_t linger_ns;
    struct config_groups groups;
};

struct config_sampler {
    bool enabled;
    char *event;                /* "auto", or one group in perf's syntax, checked */
    uint64_t frequency, period; /* Hz, or events; one of them is 0 */
    bool callchain;
    uint64_t ring_pages; /* of data on each CPU, a power of two */
    uint64_t max_clients, max_seconds;
    enum standing allow; /* the lowest that may have samples; see config_standing_to_sample() */
    bool allow_remote;   /* deprecated: `allow` has what it meant */
    unsigned allow_remote_line, allow_remote_column; /* 0: it is not there */
    char **tracepoints;                              /* that clients may name, each checked */
    size_t n_tracepoints;
};

struct config {
    char *file; /* where it was read from; NULL for the built-in default */
    struct config_web web;
    struct config_cpu cpu;
    struct config_pmu pmu;
    struct config_cgroup cgroup;
    bool self_enabled;
    struct config_sampler sampler;
    char *user;              /* whom a process started by root becomes: a name or a number; "" for the usual one */
    bool opener_breakpoints; /* the opener may give out the breakpoints of the configuration */
};

/* The most that is read: bytes of a file, groups of a collector, events of a group. */
#define CONFIG_FILE_MAX (1024 * 1024)
#define CONFIG_GROUPS_MAX 256
#define CONFIG_EVENTS_MAX 64

/* The built-in default. */
int config_default(struct config **ret, struct error *error);
/*
 * Reads `path`, which `opener` opens (base/file.h). -EINVAL for bad content, with line and column in the error; errors
 * of open(2) and read(2); -EFBIG above CONFIG_FILE_MAX. The message does not repeat file and place:
 * config_format_error() puts them before it.
 */
int config_load(const struct file_opener *opener, const char *path, struct config **ret, struct error *error);
/* The same for a text in memory (pure; what the fuzzer calls). */
int config_parse(const char *text, size_t size, struct config **ret, struct error *error);
struct config *config_free(struct config *config);
DEFINE_CLEANUP(struct config *, config_free);

/*
 * Holds the events against a machine: a bare name that no PMU knows is an error with the nearest names, and so is an
 * event in collectors.pmu that is of no PMU of the system anywhere (cycles, a tracepoint). The error has the place in
 * the file, but for sampler.event, which it names instead. What is merely missing on this machine (a PMU, a term, a
 * tracepoint) is none: it is reported at run time, and the rest is served.
 */
int config_check_events(const struct config *config, struct sys *sys, const struct machine *machine,
                        struct error *error);

/*
 * Calls `visit` for each event of the configuration, of its groups, of sampler.event and of sampler.tracepoints;
 * `samples` where the sampler may open it. -ENOMEM, or what `visit` returned where that was not 0.
 */
int config_each_event(const struct config *config,
                      int (*visit)(void *userdata, const struct event *event, bool samples), void *userdata);

/* The lowest standing that may reload and pause, and the lowest that may have samples. */
enum standing config_standing_to_operate(const struct config *config);
enum standing config_standing_to_sample(const struct config *config);

/*
 * Whether it has a key that a later version will not take: `warning`, which may be NULL, gets the place and what to
 * write instead, for config_format_error().
 */
bool config_has_deprecated_key(const struct config *config, struct error *warning);

/* "FILE:LINE:COLUMN: message", or what of it there is. `text` is always NUL-terminated. */
const char *config_format_error(const char *file, const struct error *error, char *text, size_t size);

/*
 * What a flag said: replaces web.telemetry_path..., adds to a list such as web.listen; `path` is a key's path. -EINVAL
 * by the same checks as in the file, with a sentence that names neither key nor flag.
 */
int config_override(struct config *config, const char *path, const char *value, struct error *error);
/* Empties web.listen, before the first --web.listen-address. */
void config_clear_listen(struct config *config);

/* What runs, as /api/v1/config shows it; NULL when out of memory. The caller owns it. */
json_t *config_json(const struct config *config);

#endif
