# SPDX-License-Identifier: Apache-2.0
"""The dashboards fleet.json, board.json and containers.json for Grafana 9 and newer, which ../generate.py writes."""
from panels import (BACKEND, BOARD, BRANCHES, CGROUP, CONTAINER, FAULTS, FRONTEND, IN_CGROUP, LAST_LEVEL, ON_PMU,
                    WARNINGS, WHERE, bars, cgroup_ratio, cgroup_total, container_ratio, cpu_ratio, dashboard, lines,
                    memory, number, of_containers, of_services, per_thousand, rate, row, running, table, text, total,
                    variable, watts)

TO_BOARD = {"title": "The board ${__data.fields.instance}", "targetBlank": False,
            "url": "/d/perfcountd-board/perfcountd-board?${datasource:queryparam}&var-job=${__data.fields.job}"
                   "&var-instance=${__data.fields.instance}&${__url_time_range}"}
SHARE = "percentunit"

HEALTH = [
    number("Boards", "none", "sum(up{%s})" % WHERE, "Boards whose last scrape succeeded."),
    number("Boards down", "none", "sum(up{%s} == bool 0)" % WHERE, "Boards whose last scrape failed.", FAULTS),
    number("Paused", "none", "sum(perfcountd_paused{%s})" % WHERE,
           "Boards on which an operator has paused counting. Their totals do not change.", WARNINGS),
    number("Configurations refused", "none", "sum(perfcountd_config_last_reload_successful{%s} == bool 0)" % WHERE,
           "Boards that refused their last configuration and still use the previous one.", FAULTS),
    number("Collectors failed", "none", "sum(perfcountd_collector_success{%s} == bool 0)" % WHERE,
           "Collectors whose last reading failed, over all boards.", FAULTS),
    number("Groups starved", "none", 'sum(perfcountd_groups{%s, state="starved"})' % WHERE,
           "Groups that are enabled but never counted, because something else holds the counters. They have no values.",
           FAULTS),
    number("Groups multiplexed", "none", 'sum(perfcountd_groups{%s, state="multiplexed"})' % WHERE,
           "Groups that are counted only part of the time, so their values are estimates.", WARNINGS),
    number("Events unavailable", "none",
           'sum(perfcountd_events_unavailable{%s, collector!="self"}) or vector(0)' % WHERE,
           "Events that cannot be counted, summed over CPUs and cgroups. The dashboard Board shows the reasons.",
           WARNINGS),
]

OVERVIEW = [
    (None, "none", "max by (%s, version) (perfcountd_build_info{%s})" % (BOARD, WHERE)),
    ("IPC", "none", cpu_ratio("instructions", "cycles")),
    ("Frontend stalled", SHARE, cpu_ratio(FRONTEND, "cycles")),
    ("Backend stalled", SHARE, cpu_ratio(BACKEND, "cycles")),
    ("Memory read", "Bps", memory("read")),
    ("Memory written", "Bps", memory("write")),
    ("Package", "watt", watts("pkg")),
    ("Counted", SHARE, running("cpu", BOARD)),
    ("Context switches/s", "cps", total("perf_cpu_context_switches_total")),
]

FLEET = [
    text("All boards that run perfcountd. The variables above select jobs and instances; a click on an instance in the "
         "table opens *Board*. A panel without data needs an event that these boards do not have or do not count: "
         "`perfcountd plan` on the board shows which one, and why."),
    row("Health"), *HEALTH,
    table("Boards", OVERVIEW,
          "Each board now: version, IPC, stalls, memory traffic, package power, context switches, and the fraction of "
          "time for which its least counted group was counted.", ["instance", "job", "version"], height=10,
          links=[("instance", TO_BOARD)]),
    table("Boards unlike their model", [("Of the median", SHARE, "instance:perfcountd_board:unlike{%s}" % WHERE)],
          "Boards that are worse than the median of their model by a quarter, and by more than boards of this model "
          "usually differ. alerts.yml records this for models with at least five boards.",
          ["instance", "model", "measure", "group", "pmu", "job"], height=8, links=[("instance", TO_BOARD)]),
    row("Where the cycles go"),
    lines("Instructions per cycle", "none", cpu_ratio("instructions", "cycles"),
          "Instructions divided by cycles, over all CPUs. Below 1, a core mostly waits; the stall panels show what it "
          "waits for.", decimals=2),
    lines("Frontend stalls", SHARE, cpu_ratio(FRONTEND, "cycles"),
          "The share of cycles in which no operation was dispatched because none was available: instruction cache, TLB "
          "or branches. Arm's stall_frontend, or perf's stalled-cycles-frontend.", most=1),
    lines("Backend stalls", SHARE, cpu_ratio(BACKEND, "cycles"),
          "The share of cycles in which no operation was dispatched because the core had no room: it waited for data "
          "or for an execution unit. Arm's stall_backend, or perf's stalled-cycles-backend.", most=1),
    row("What misses"),
    lines("L2 refills", "none", per_thousand("l2d_cache_refill"),
          "Level 2 data cache refills per 1,000 instructions (arm64: l2d_cache_refill).", decimals=2),
    lines("Last level cache misses", "none", per_thousand(LAST_LEVEL),
          "Last level cache misses per 1,000 instructions: reads on arm64 (ll_cache_miss_rd); elsewhere, everything "
          "that the kernel counts as cache-misses.", decimals=2),
    lines("Mispredicted branches", "none", per_thousand(BRANCHES),
          "Retired branches that were mispredicted, per 1,000 instructions (br_mis_pred_retired, or perf's "
          "branch-misses).", decimals=2),
    row("Memory and energy"),
    lines("Memory read", "Bps", memory("read"), "Bytes per second that the memory controllers read."),
    lines("Memory written", "Bps", memory("write"), "Bytes per second that the memory controllers wrote."),
    lines("Package power", "watt", watts("pkg"), "Power drawn by the processor packages, from their energy "
          "counters (power/energy-pkg/)."),
    row("Work and quality"),
    lines("Context switches", "cps", total("perf_cpu_context_switches_total"),
          "Context switches per second, over all CPUs.", width=6),
    lines("Minor faults", "cps", total("perf_cpu_minor_faults_total"),
          "Page faults per second that needed no disk access.", width=6),
    lines("Major faults", "cps", total("perf_cpu_major_faults_total"),
          "Page faults per second that read from a disk. A board that has them all the time has too little memory.",
          width=6),
    lines("Share of time counted", SHARE, running("cpu", BOARD),
          "The fraction of time for which the least counted group of any CPU was on its PMU. Below 1, its values are "
          "estimates; below 0.5, count fewer events.", width=6, most=1),
    row("Top ten services"),
    bars("Lowest IPC", "none", "bottomk(10, %s)" % of_services(
        "(%s) and (%s > 0.01)" % (cgroup_ratio("instructions", "cycles"), cgroup_total("task_clock_seconds"))),
        "Services with the lowest IPC, among those that use at least 1 % of a CPU.", decimals=2),
    bars("Most CPU time", "none", "topk(10, %s)" % of_services(cgroup_total("task_clock_seconds")),
         "In CPUs: 2 means that two CPUs are always busy.", decimals=2),
    bars("Most context switches", "cps", "topk(10, %s)" % of_services(cgroup_total("context_switches")),
         "Context switches per second."),
    bars("Most major faults", "cps", "topk(10, %s)" % of_services(cgroup_total("major_faults")),
         "Page faults per second that read from a disk."),
]

BY_PMU = "instance, pmu"
BY_CPU = "instance, cpu"
PMU_LEGEND = "{{instance}} {{pmu}}"
CPU_LEGEND = "{{instance}} CPU {{cpu}}"
CGROUP_LEGEND = "{{instance}} {{cgroup}}"

PER_PMU = [
    lines("IPC by PMU", "none", cpu_ratio("instructions", "cycles", BY_PMU, ON_PMU),
          "Instructions divided by cycles, for each kind of core.", PMU_LEGEND, decimals=2),
    lines("Cycles by PMU", "hertz", total("perf_cpu_cycles_total", BY_PMU, ON_PMU),
          "Cycles per second, summed over the CPUs of each PMU: the CPU's frequency, times the fraction of time that "
          "it was busy.", PMU_LEGEND),
    lines("Share of time counted", SHARE, running("cpu", BY_PMU + ", group", ON_PMU),
          "The fraction of time for which a group was on its PMU, on the CPU where it is lowest. Below 1, its values "
          "are estimates.", PMU_LEGEND + " {{group}}", most=1),
    lines("Frontend stalls by PMU", SHARE, cpu_ratio(FRONTEND, "cycles", BY_PMU, ON_PMU),
          "Cycles in which no operation was dispatched because none was available.", PMU_LEGEND, width=6, most=1),
    lines("Backend stalls by PMU", SHARE, cpu_ratio(BACKEND, "cycles", BY_PMU, ON_PMU),
          "Cycles in which no operation was dispatched because the core waited for data or for an execution unit.",
          PMU_LEGEND, width=6, most=1),
    lines("L2 refills by PMU", "none", per_thousand("l2d_cache_refill", BY_PMU, ON_PMU),
          "Level 2 data cache refills per 1,000 instructions (arm64).", PMU_LEGEND, width=6, decimals=2),
    lines("Last level cache misses by PMU", "none", per_thousand(LAST_LEVEL, BY_PMU, ON_PMU),
          "Per 1,000 instructions: ll_cache_miss_rd on arm64, cache-misses elsewhere.", PMU_LEGEND, width=6,
          decimals=2),
    lines("Cache miss ratio by PMU", SHARE, cpu_ratio("cache_misses", "cache_references", BY_PMU, ON_PMU),
          "Cache misses divided by cache references, where both are counted: by default, only on x86.",
          PMU_LEGEND, most=1),
    lines("Branch miss ratio by PMU", SHARE, cpu_ratio("branch_misses", "branches", BY_PMU, ON_PMU),
          "Mispredicted branches divided by branches, where both are counted: by default, only on x86.",
          PMU_LEGEND, most=1),
    lines("Mispredicted branches by PMU", "none", per_thousand(BRANCHES, BY_PMU, ON_PMU),
          "Mispredicted branches per 1,000 instructions.", PMU_LEGEND, decimals=2),
]

PER_CPU = [
    lines("Cycles by CPU", "hertz", total("perf_cpu_cycles_total", BY_CPU, ON_PMU),
          "Cycles per second: the CPU's frequency, times the fraction of time that it was busy.", CPU_LEGEND),
    lines("IPC by CPU", "none", cpu_ratio("instructions", "cycles", BY_CPU, ON_PMU),
          "Instructions per cycle of each CPU.", CPU_LEGEND, decimals=2),
    lines("Context switches by CPU", "cps", total("perf_cpu_context_switches_total", BY_CPU),
          "Context switches per second.", CPU_LEGEND),
    lines("Migrations by CPU", "cps", total("perf_cpu_cpu_migrations_total", BY_CPU),
          "Tasks per second that moved to this CPU from another one.", CPU_LEGEND),
    lines("Minor faults by CPU", "cps", total("perf_cpu_minor_faults_total", BY_CPU),
          "Page faults per second that needed no disk access.", CPU_LEGEND),
    lines("Major faults by CPU", "cps", total("perf_cpu_major_faults_total", BY_CPU),
          "Page faults per second that read from a disk.", CPU_LEGEND),
]

MACHINE = [
    lines("Memory read by PMU", "Bps", memory("read", BY_PMU),
          "Bytes per second that each memory controller read, where the driver counts bytes.", PMU_LEGEND),
    lines("Memory written by PMU", "Bps", memory("write", BY_PMU),
          "Bytes per second that each memory controller wrote, where the driver counts bytes.", PMU_LEGEND),
    lines("Power", "watt", {"{{instance}} %s" % name: watts(part) for name, part in (
        ("package", "pkg"), ("cores", "cores"), ("DRAM", "ram"), ("GPU", "gpu"), ("platform", "psys"))},
          "From the energy that the processor counts (power/energy-*/). The package includes cores and GPU; the "
          "platform includes everything."),
]

PER_CGROUP = [
    lines("CPU time", "none", cgroup_total("task_clock_seconds", IN_CGROUP),
          "In CPUs: 2 means that two CPUs are always busy. A cgroup includes the cgroups below it: do not add them up.",
          CGROUP_LEGEND, width=12, decimals=2),
    lines("IPC by cgroup", "none", cgroup_ratio("instructions", "cycles", IN_CGROUP),
          "Instructions per cycle of each cgroup.", CGROUP_LEGEND, width=12, decimals=2),
    lines("Context switches by cgroup", "cps", cgroup_total("context_switches", IN_CGROUP),
          "Context switches per second.", CGROUP_LEGEND),
    lines("Minor faults by cgroup", "cps", cgroup_total("minor_faults", IN_CGROUP),
          "Page faults per second that needed no disk access.", CGROUP_LEGEND),
    lines("Major faults by cgroup", "cps", cgroup_total("major_faults", IN_CGROUP),
          "Page faults per second that read from a disk.", CGROUP_LEGEND),
    lines("Cycles by cgroup", "hertz", cgroup_total("cycles", IN_CGROUP),
          "Cycles per second of each cgroup.", CGROUP_LEGEND, width=12),
    lines("Share of time counted, per cgroup", SHARE, running("cgroup", CGROUP, IN_CGROUP),
          "The fraction of a cgroup's CPU time in which its least counted group of events was counted. Below 1, the "
          "group's values are estimates.", CGROUP_LEGEND, width=12, most=1),
]

FAILURES = [
    lines("Groups by state", "none", {"{{state}}": "sum by (state) (perfcountd_groups{%s})" % WHERE},
          "Groups that are counted, multiplexed (estimated), starved (never counted) and unavailable (not opened)."),
    lines("Cgroups by state", "none", {"{{state}}": "sum by (state) (perfcountd_cgroups{%s})" % WHERE},
          "Cgroups that are counted, dropped (there was no room) and lingering (removed, but still shown)."),
    lines("Reading time by collector", "s",
          "max by (instance, collector) (perfcountd_collector_duration_seconds{%s})" % WHERE,
          "How long the last reading of each collector took.", "{{instance}} {{collector}}"),
    table("Events that are not counted", [("CPUs or cgroups", "none", "sum by (instance, collector, group, event, pmu, "
                                           "reason) (perfcountd_events_unavailable{%s})" % WHERE)],
          "no_pmu: the machine has no PMU, like most virtual machines. ENOENT: the PMU does not have the event. EBUSY: "
          "another program holds the counters. EACCES and EPERM: permission is missing. `perfcountd plan` on the board "
          "shows the remedy for each.",
          ["instance", "collector", "group", "event", "pmu", "reason"], width=14),
    table("Collectors", [("Success", "none", "max by (instance, collector) (perfcountd_collector_success{%s})" % WHERE),
                         ("Incomplete", "none", "max by (instance, collector, reason) "
                          "(perfcountd_collector_incomplete{%s}) > 0" % WHERE)],
          "Success is 1 if the last reading succeeded. Incomplete is 1 if the collector cannot find everything that it "
          "should count; perfcountd-metrics(7) explains the reasons.", ["instance", "collector", "reason"], width=10),
    lines("CPU time of perfcountd", SHARE, {
        "{{instance}} daemon": "sum by (instance) (%s and on (job, instance) perfcountd_build_info{%s})" % (
            rate("process_cpu_seconds_total"), WHERE),
        "{{instance}} {{process}}": "sum by (instance, process) (%s)" % rate("perfcountd_process_cpu_seconds_total")},
          "The fraction of a CPU that each of its processes uses.", width=12),
    lines("Memory of perfcountd", "bytes", {
        "{{instance}} daemon": "max by (instance) (process_resident_memory_bytes{%s} and on (job, instance) "
                               "perfcountd_build_info{%s})" % (WHERE, WHERE),
        "{{instance}} {{process}}":
            "max by (instance, process) (perfcountd_process_resident_memory_bytes{%s})" % WHERE},
          "Resident memory of each of its processes.", width=12),
]

BOARD_PANELS = [
    text("One board, or several side by side, as selected by the variables above. *PMU* applies to the panels by PMU "
         "or CPU, *Cgroup* to the section on cgroups. A panel without data needs an event that the board does not have "
         "or does not count: see *Events that are not counted* below."),
    row("Now"),
    number("IPC", "none", cpu_ratio("instructions", "cycles"), "Instructions per cycle, over all CPUs.", width=4,
           decimals=2),
    number("Frontend stalled", SHARE, cpu_ratio(FRONTEND, "cycles"), "Share of cycles, over all CPUs.", width=4),
    number("Backend stalled", SHARE, cpu_ratio(BACKEND, "cycles"), "Share of cycles, over all CPUs.", width=4),
    number("Memory read", "Bps", memory("read"), "Bytes per second that the memory controllers read.", width=4),
    number("Package power", "watt", watts("pkg"), "Power drawn by the processor packages.", width=4),
    number("Least counted group", SHARE, running("cpu", BOARD),
           "The fraction of time for which the least counted group was on its PMU. Below 1, its values are estimates.",
           [("red", None), ("orange", 0.5), ("green", 0.99)], width=4),
    row("Kinds of core"), *PER_PMU,
    row("CPUs"), *PER_CPU,
    row("Memory and energy"), *MACHINE,
    row("Cgroups"), *PER_CGROUP,
    row("Failures, and the cost of counting"), *FAILURES,
]

CPU_TIME = of_containers(cgroup_total("task_clock_seconds"))
CONTAINER_LEGEND = "{{instance}} {{namespace}} {{pod}} {{compose_project}} {{container}} {{id}}"

CONTAINERS = [
    text("Containers by the names that people gave them: the label *container* of `perf_cgroup_info`. A container "
         "without a name is not shown: `perfcountd plan` on the board says why it has none. *Board* shows all "
         "cgroups."),
    row("Now"),
    number("Containers", "none", "count by (instance) (%s)" % CPU_TIME, "Containers that are counted, by board.",
           width=4),
    number("CPUs", "none", "sum by (instance) (%s)" % CPU_TIME, "CPUs that all containers of a board use together.",
           width=4, decimals=2),
    table("Containers", [
        ("CPUs", "none", CPU_TIME), ("IPC", "none", container_ratio("instructions", "cycles")),
        ("Cycles/s", "hertz", of_containers(cgroup_total("cycles"))),
        ("Context switches/s", "cps", of_containers(cgroup_total("context_switches"))),
        ("Major faults/s", "cps", of_containers(cgroup_total("major_faults")))],
          "Each container now. Containers with the same name have different IDs.",
          CONTAINER.replace("job, ", "").split(", "), height=10),
    row("Over time"),
    lines("CPU time by container", "none", CPU_TIME, "In CPUs: 2 means that two CPUs are always busy.",
          CONTAINER_LEGEND, width=12, decimals=2),
    lines("IPC by container", "none", container_ratio("instructions", "cycles"),
          "Instructions per cycle of each container. Below 1, its code mostly waits.", CONTAINER_LEGEND, width=12,
          decimals=2),
    lines("Context switches by container", "cps", of_containers(cgroup_total("context_switches")),
          "Context switches per second.", CONTAINER_LEGEND),
    lines("Minor faults by container", "cps", of_containers(cgroup_total("minor_faults")),
          "Page faults per second that needed no disk access.", CONTAINER_LEGEND),
    lines("Major faults by container", "cps", of_containers(cgroup_total("major_faults")),
          "Page faults per second that read from a disk.", CONTAINER_LEGEND),
    lines("CPU time by pod or project", "none",
          "sum by (instance, namespace, pod, compose_project) (%s)" % CPU_TIME,
          "The sum over the containers of each pod or compose project. All other containers are one line.",
          "{{instance}} {{namespace}} {{pod}} {{compose_project}}", width=24, decimals=2, stack=True),
]


VARIABLES = [
    {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1,
     "regex": "", "hide": 0, "multi": False, "includeAll": False, "skipUrlSync": False, "options": [], "current": {}},
    variable("job", "label_values(perfcountd_build_info, job)"),
    variable("instance", 'label_values(perfcountd_build_info{job=~"$job"}, instance)'),
]
OF_BOARD = [
    variable("pmu", "label_values(perf_cpu_group_enabled_seconds_total{%s}, pmu)" % WHERE, "PMU"),
    variable("cgroup", "label_values(perf_cgroup_info{%s}, cgroup)" % WHERE),
]
OF_CONTAINERS = [
    variable("instance", 'label_values(perf_cgroup_info{job=~"$job", container=~".+"}, instance)'),
    variable("container", 'label_values(perf_cgroup_info{%s, container=~".+"}, container)' % WHERE),
]


DASHBOARDS = {
    "fleet.json": dashboard("perfcountd-fleet", "perfcountd / Fleet", "All boards that run perfcountd.", VARIABLES,
                            FLEET),
    "board.json": dashboard("perfcountd-board", "perfcountd / Board", "One board that runs perfcountd: its PMUs, CPUs, "
                            "cgroups and failures.", VARIABLES + OF_BOARD, BOARD_PANELS),
    "containers.json": dashboard("perfcountd-containers", "perfcountd / Containers", "Containers, pods and compose "
                                 "projects by name.", VARIABLES[:2] + OF_CONTAINERS, CONTAINERS),
}
