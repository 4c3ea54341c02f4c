/* SPDX-License-Identifier: Apache-2.0 */
#include "config/keys.h"

#include "base/util.h"
#include "config/event-groups.h"
#include "config/schema.h"
#include "config/values.h"
#include "config/web-keys.h"

static const struct option_choice trusts[] = {
    {"operators", TRUST_OPERATOR},
    {"local", TRUST_LOCAL},
    {"everybody", TRUST_EVERYBODY},
    {NULL, 0},
};

static const struct option_choice engines[] = {
    {"auto", ENGINE_AUTO},
    {"perf", ENGINE_PERF},
    {"bpf", ENGINE_BPF},
    {NULL, 0},
};

const char *config_engine_name(enum config_engine engine)
{
    const struct option_choice *choice = engines;

    while (choice->value != engine)
        choice++;
    return choice->word;
}

static const struct option_choice max_cgroups[] = {
    {"auto", MAX_CGROUPS_AUTO},
    {NULL, 0},
};

#define MEMBER(type_of, member) .type = &option_##type_of, .offset = offsetof(struct config, member)
#define BOOL(member) MEMBER(bool, member), .range = "true or false"
#define TEXT_LIST(member, count) MEMBER(text_list, member), .count_offset = offsetof(struct config, count)
#define NUMBER(member, least, most) MEMBER(number, member), .min = (least), .max = (most), .range = #least " to " #most
#define GROUPS(member) MEMBER(groups, member), .range = "at most 256 groups of at most 64 events"

#define CGROUP_PATTERNS                                                                                                \
    "path patterns, which start with \"/\", or name patterns, such as container=grafana-*; \"default\""
#define SLICES_AND_SERVICES "/*.slice, /system.slice/*.service, /system.slice/*.slice/*.service"
/*
 * The places where runtimes create the cgroups of containers and virtual machines, without the slices of pods above
 * them and without the cgroups inside them. These patterns are narrow, because every directory that may contain a
 * matching cgroup is watched.
 */
#define CONTAINERS                                                                                                     \
    "/system.slice/docker-*.scope, /system.slice/nerdctl-*.scope, /system.slice/cri-containerd-*.scope,"               \
    " /machine.slice/*.scope, /machine.slice/*.service, /machine.slice/*.slice/*.scope, /machine/*.libvirt-*,"         \
    " /user.slice/user-*.slice/user@*.service/user.slice/docker-*.scope,"                                              \
    " /user.slice/user-*.slice/user@*.service/user.slice/nerdctl-*.scope,"                                             \
    " /user.slice/user-*.slice/user@*.service/user.slice/libpod-*.scope,"                                              \
    " /user.slice/user-*.slice/user@*.service/user.slice/*.slice/libpod-*.scope,"                                      \
    " /kubepods.slice/*.slice/*.scope, /kubepods.slice/*.slice/*.slice/*.scope, /kubepods/pod*/*, /kubepods/*/pod*/*," \
    " /docker/*, /default/*, /libpod_parent/libpod-*, /lxc.payload.*, /lxc/*"

static const struct option config_rows[] = {
    {
        .path = "user",
        MEMBER(text, user),
        .range = "a user name or UID, but not root; empty for \"perfcountd\", or \"nobody\" if there is no such user",
        .default_yaml = "\"\"",
    },
    {
        .path = "opener.breakpoints",
        BOOL(opener_breakpoints),
        .default_yaml = "false",
    },
    {
        .path = "web.listen",
        TEXT_LIST(web.listen, web.n_listen),
        .min = 1,
        .check = option_check_address,
        .range = ":PORT, HOST:PORT, [IPv6]:PORT or unix:/PATH",
        .default_yaml = "[\":10298\"]",
    },
    {
        .path = "web.telemetry_path",
        MEMBER(text, web.telemetry_path),
        .check = option_check_telemetry_path,
        .range = "starts with \"/\"; not \"/\" itself, nor below /api/, /-/ or /debug/",
        .default_yaml = "/metrics",
    },
    {
        .path = "web.min_interval",
        MEMBER(duration, web.min_interval_ns),
        .max = 60 * NSEC_PER_SEC,
        .range = "0s to 60s",
        .default_yaml = "100ms",
    },
    {
        .path = "web.config_file",
        MEMBER(text, web.config_file),
        .range = "the path of a file, relative to the directory of this one; empty for none",
        .default_yaml = "\"\"",
    },
    {
        .path = "web.limits.connections",
        NUMBER(web.limits.connections, 1, 100000),
        .default_yaml = "512",
    },
    {
        .path = "web.limits.connections_per_address",
        NUMBER(web.limits.connections_per_address, 1, 100000),
        .default_yaml = "128",
    },
    {
        .path = "web.limits.header_size",
        NUMBER(web.limits.header_size, 4096, 1048576),
        .default_yaml = "16384",
    },
    {
        .path = "web.limits.request_timeout",
        MEMBER(duration, web.limits.request_timeout_ns),
        .min = 100 * NSEC_PER_MSEC,
        .max = 86400 * NSEC_PER_SEC,
        .range = "100ms to 24h",
        .default_yaml = "10s",
    },
    {
        .path = "web.limits.idle_timeout",
        MEMBER(duration, web.limits.idle_timeout_ns),
        .min = 100 * NSEC_PER_MSEC,
        .max = 86400 * NSEC_PER_SEC,
        .range = "100ms to 24h",
        .default_yaml = "300s",
    },
    {
        .path = "web.limits.response_timeout",
        MEMBER(duration, web.limits.response_timeout_ns),
        .min = 100 * NSEC_PER_MSEC,
        .max = 86400 * NSEC_PER_SEC,
        .range = "100ms to 24h",
        .default_yaml = "60s",
    },
    {
        .path = "web.hosts",
        TEXT_LIST(web.hosts, web.n_hosts),
        .check = option_check_host,
        .range = "host names, without a port",
        .default_yaml = "[]",
    },
    {
        .path = "web.local_operators",
        BOOL(web.local_operators),
        .default_yaml = "false",
    },
    {
        .path = "collectors.cpu.enabled",
        BOOL(cpu.enabled),
        .default_yaml = "true",
    },
    {
        .path = "collectors.cpu.cpus",
        MEMBER(text, cpu.cpus),
        .check = option_check_cpus,
        .range = "\"all\" or a list such as \"0-3,6\"",
        .default_yaml = "all",
    },
    {
        .path = "collectors.cpu.groups",
        GROUPS(cpu.groups),
        .default_yaml = "[{preset: overview},"
                        " {name: software, events: \"{context-switches,cpu-migrations,minor-faults,major-faults}\"}]",
    },
    {
        .path = "collectors.pmu.enabled",
        BOOL(pmu.enabled),
        .default_yaml = "true",
    },
    {
        .path = "collectors.pmu.groups",
        GROUPS(pmu.groups),
        .default_yaml = "[{preset: memory}, {preset: energy}]",
    },
    {
        .path = "collectors.cgroup.enabled",
        BOOL(cgroup.enabled),
        .default_yaml = "true",
    },
    {
        .path = "collectors.cgroup.engine",
        MEMBER(choice, cgroup.engine),
        .choices = engines,
        .range = "auto, perf or bpf",
        .default_yaml = "auto",
    },
    {
        .path = "collectors.cgroup.include",
        TEXT_LIST(cgroup.include, cgroup.n_include),
        .min = 1,
        .check = option_check_pattern,
        .extends = true,
        .range = CGROUP_PATTERNS,
        .default_yaml = "[" SLICES_AND_SERVICES ", " CONTAINERS "]",
    },
    {
        .path = "collectors.cgroup.exclude",
        TEXT_LIST(cgroup.exclude, cgroup.n_exclude),
        .check = option_check_pattern,
        .extends = true,
        .range = CGROUP_PATTERNS,
        .default_yaml = "[\"/**-conmon-*\"]",
    },
    {
        .path = "collectors.cgroup.max_cgroups",
        MEMBER(number, cgroup.max_cgroups),
        .max = 100000,
        .choices = max_cgroups,
        .range = "0 to 100000, or auto",
        .default_yaml = "auto",
    },
    {
        .path = "collectors.cgroup.per_cpu",
        BOOL(cgroup.per_cpu),
        .default_yaml = "false",
    },
    {
        .path = "collectors.cgroup.linger",
        MEMBER(duration, cgroup.linger_ns),
        .max = 3600 * NSEC_PER_SEC,
        .range = "0s to 1h",
        .default_yaml = "60s",
    },
    {
        .path = "collectors.cgroup.groups",
        GROUPS(cgroup.groups),
        .default_yaml = "[{name: core, events: \"{task-clock,cycles,instructions}\"},"
                        " {name: software, events: \"{context-switches,minor-faults,major-faults}\"}]",
    },
    {
        .path = "collectors.self.enabled",
        BOOL(self_enabled),
        .default_yaml = "true",
    },
    {
        .path = "history.enabled",
        BOOL(history.enabled),
        .default_yaml = "true",
    },
    {
        .path = "history.interval",
        MEMBER(duration, history.interval_ns),
        .min = NSEC_PER_SEC,
        .max = 3600 * NSEC_PER_SEC,
        .range = "1s to 1h",
        .default_yaml = "10s",
    },
    {
        .path = "history.keep",
        MEMBER(duration, history.keep_ns),
        .min = NSEC_PER_SEC,
        .max = 7 * 86400 * NSEC_PER_SEC,
        .range = "1s to 7d",
        .default_yaml = "1h",
    },
    {
        .path = "history.memory",
        MEMBER(size, history.memory),
        .min = 64 << 10,
        .max = 1 << 30,
        .range = "64KiB to 1GiB",
        .default_yaml = "2MiB",
    },
    {
        .path = "sampler.enabled",
        BOOL(sampler.enabled),
        .default_yaml = "false",
    },
    {
        .path = "sampler.event",
        MEMBER(text, sampler.event),
        .check = option_check_sampled_event,
        .range = "\"auto\" or a group in perf's syntax, whose first event triggers the samples",
        .default_yaml = "auto",
    },
    {
        .path = "sampler.frequency",
        NUMBER(sampler.frequency, 0, 1000000),
        .default_yaml = "99",
    },
    {
        .path = "sampler.period",
        MEMBER(number, sampler.period),
        .max = INT64_MAX,
        .range = "0 to 2^63 - 1",
        .default_yaml = "0",
    },
    {
        .path = "sampler.callchain",
        BOOL(sampler.callchain),
        .default_yaml = "true",
    },
    {
        .path = "sampler.ring_pages",
        MEMBER(number, sampler.ring_pages),
        .min = 1,
        .max = 4096,
        .check = option_check_power_of_two,
        .range = "a power of two, 1 to 4096",
        .default_yaml = "128",
    },
    {
        .path = "sampler.max_clients",
        NUMBER(sampler.max_clients, 1, 64),
        .default_yaml = "4",
    },
    {
        .path = "sampler.tracepoints",
        TEXT_LIST(sampler.tracepoints, sampler.n_tracepoints),
        .check = option_check_tracepoint,
        .range = "names such as sched:sched_switch",
        .default_yaml = "[]",
    },
    {
        .path = "sampler.max_seconds",
        NUMBER(sampler.max_seconds, 1, 604800),
        .default_yaml = "3600",
    },
    {
        .path = "sampler.memory",
        MEMBER(size, sampler.memory),
        .min = 16 << 20,
        .max = 1 << 30,
        .range = "16MiB to 1GiB",
        .default_yaml = "16MiB",
    },
    {
        .path = "sampler.hindsight.enabled",
        BOOL(sampler.hindsight.enabled),
        .default_yaml = "false",
    },
    {
        .path = "sampler.hindsight.seconds",
        NUMBER(sampler.hindsight.seconds, 1, 3600),
        .default_yaml = "60",
    },
    {
        .path = "sampler.hindsight.frequency",
        NUMBER(sampler.hindsight.frequency, 1, 1000),
        .default_yaml = "19",
    },
    {
        .path = "sampler.hindsight.event",
        MEMBER(text, sampler.hindsight.event),
        .check = option_check_sampled_event,
        .range = "\"auto\" or an event in perf's syntax",
        .default_yaml = "auto",
    },
    {
        .path = "sampler.hindsight.memory",
        MEMBER(size, sampler.hindsight.memory),
        .min = 64 << 10,
        .max = 1 << 30,
        .range = "64KiB to 1GiB",
        .default_yaml = "8MiB",
    },
    {
        .path = "sampler.allow",
        MEMBER(choice, sampler.allow),
        .choices = trusts,
        .range = "operators, local or everybody",
        .default_yaml = "operators",
    },
    {
        .path = "sampler.allow_remote",
        MEMBER(deprecated_bool, sampler.allow_remote),
        .range = "true or false",
        .default_yaml = "false",
    },
};

const struct option_table config_options = {
    .rows = config_rows,
    .n = ARRAY_SIZE(config_rows),
    .other = &web_options,
    .other_hint =
        "it is a key of the web configuration, which \"perfcountd check-config --web.config.file=FILE\" checks",
};
