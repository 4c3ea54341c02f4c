# SPDX-License-Identifier: Apache-2.0
"""The building blocks of dashboards.py: PromQL expressions, panels, variables, and their JSON."""

WHERE = 'job=~"$job", instance=~"$instance"'
ON_PMU = WHERE + ', pmu=~"$pmu"'
IN_CGROUP = WHERE + ', cgroup=~"$cgroup"'
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
BOARD = "job, instance"
CGROUP = BOARD + ", cgroup"
# Labels that perf_cgroup_info can have for a container.
NAMES = "container, image, pod, namespace, compose_project, compose_service"
CONTAINER = BOARD + ", %s, id" % NAMES

# --- PromQL


def rate(metric, where=WHERE):
    """Returns the rate of METRIC with more label matchers. METRIC may have matchers: perf_x_total or
    {__name__=~"..."}."""
    if metric.endswith("}"):
        return "rate(%s, %s}[$__rate_interval])" % (metric[:-1], where)
    return "rate(%s{%s}[$__rate_interval])" % (metric, where)


def either(*metrics, where=WHERE):
    """Returns the rate of an event with two names; `or` selects the first name that a group has."""
    rates = [rate(metric, where) for metric in metrics]
    return rates[0] if len(rates) == 1 else "(%s)" % " or ".join(rates)


def ratio(above, below, by=BOARD):
    """Returns a ratio of sums over groups that count both events on one CPU; `and` drops groups with only one of
    them."""
    return "sum by (%s) (%s and %s) / (sum by (%s) (%s and %s) > 0)" % (by, above, below, by, below, above)


def total(metric, by=BOARD, where=WHERE):
    """Returns a rate per CPU. If an event is in several groups, it is used only once."""
    return "max by (%s) (sum by (%s, group) (%s))" % (by, by, rate(metric, where))


def cpu(event, where=WHERE):
    return either("perf_cpu_%s_total" % event, where=where)


def cpu_ratio(above, below, by=BOARD, where=WHERE):
    above = [above] if isinstance(above, str) else above
    return ratio(either(*("perf_cpu_%s_total" % event for event in above), where=where), cpu(below, where), by)


def per_thousand(events, by=BOARD, where=WHERE):
    return "1000 * " + cpu_ratio(events, "instructions", by, where)


def cgroup_ratio(above, below, where=WHERE):
    return ratio(rate("perf_cgroup_%s_total" % above, where), rate("perf_cgroup_%s_total" % below, where), CGROUP)


def cgroup_total(event, where=WHERE):
    return total("perf_cgroup_%s_total" % event, CGROUP, where)


def running(collector, by, where=WHERE):
    """Returns the fraction of time for which a group was counted, for the group where it is smallest."""
    times = [rate("perf_%s_group_%s_seconds_total" % (collector, time), where) for time in ("running", "enabled")]
    return "min by (%s) (%s / (%s > 0))" % (by, *times)


def memory(direction, by=BOARD, where=WHERE):
    """Returns bytes per second, from events that count bytes, otherwise from series that rules.yml records."""
    names = "{0}|cas_count_{0}|data_{0}|data_{0}s".format(direction)
    counted = "sum by (%s) (%s)" % (by, rate('{__name__=~"perf_pmu_(%s)_bytes_total"}' % names, where))
    if by != BOARD:
        return counted
    recorded = "instance:perf_pmu_memory_%s_bytes_per_second:rate5m" % direction
    return "%s or max by (%s) (%s{%s})" % (counted, by, recorded, where)


def watts(part, by=BOARD, where=WHERE):
    return "sum by (%s) (%s)" % (by, rate("perf_pmu_energy_%s_joules_total" % part, where))


def of_services(expression):
    """Adds the labels of systemd units. The counts of a unit's cgroup include those of the cgroups below it."""
    return '(%s) * on (%s) group_left (unit) max by (%s, unit) (perf_cgroup_info{%s, unit=~".+[.](service|scope)"})' % (
        expression, CGROUP, CGROUP, WHERE)


def of_containers(expression):
    """Adds container labels. Cgroups inside a container's cgroup are included in its counts, so `max` selects it."""
    return ('max by (%s) (label_replace((%s) * on (%s) group_left (container_id, %s) perf_cgroup_info{%s, '
            'container=~"$container"}, "id", "$1", "container_id", "(.{12}).*"))' % (
                CONTAINER, expression, CGROUP, NAMES, WHERE))


def container_ratio(above, below):
    above, below = (rate("perf_cgroup_%s_total" % event) for event in (above, below))
    return "%s / (%s > 0)" % (of_containers("sum by (%s) (%s and %s)" % (CGROUP, above, below)),
                              of_containers("sum by (%s) (%s and %s)" % (CGROUP, below, above)))


FRONTEND = ["stall_frontend", "stalled_cycles_frontend"]
BACKEND = ["stall_backend", "stalled_cycles_backend"]
BRANCHES = ["br_mis_pred_retired", "branch_misses"]
LAST_LEVEL = ["ll_cache_miss_rd", "cache_misses"]

# --- panels


def target(expression, legend, ref="A", instant=False):
    made = {"datasource": SOURCE, "editorMode": "code", "expr": expression, "legendFormat": legend, "refId": ref,
            "range": not instant, "instant": bool(instant)}
    return made | {"format": "table"} if instant == "table" else made


def targets_of(expressions, legend, instant):
    if isinstance(expressions, str):
        expressions = {legend: expressions}
    return [target(expression, name, chr(ord("A") + i), instant)
            for i, (name, expression) in enumerate(expressions.items())]


def panel(kind, title, description, unit, targets, options, size, **defaults):
    """A panel. SIZE is (width, height) in Grafana's grid, which is 24 units wide."""
    return {"type": kind, "title": title, "description": description, "datasource": SOURCE, "targets": targets,
            "options": options, "size": size,
            "fieldConfig": {"defaults": {"unit": unit, "color": {"mode": "palette-classic"}, **defaults},
                            "overrides": []}}


def lines(title, unit, expressions, description, legend="{{instance}}", width=8, most=None, decimals=None, stack=False):
    """A time series panel. EXPRESSIONS is one expression, or a map from legends to expressions."""
    limits = {"min": 0} | ({"max": most} if most else {}) | ({"decimals": decimals} if decimals is not None else {})
    custom = {"drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1, "fillOpacity": 30 if stack else 8,
              "showPoints": "never", "spanNulls": False, "axisPlacement": "auto",
              "stacking": {"mode": "normal" if stack else "none", "group": "A"}}
    options = {"legend": {"displayMode": "table", "placement": "bottom", "showLegend": True,
                          "calcs": ["mean", "lastNotNull"]},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    return panel("timeseries", title, description, unit, targets_of(expressions, legend, False), options, (width, 9),
                 custom=custom, **limits)


def reduced(values=False):
    return {"calcs": ["lastNotNull"], "fields": "", "values": values}


def number(title, unit, expression, description, steps=None, width=3, decimals=None):
    """A stat panel: one number, or one per instance with its name. STEPS are colours and their lowest values."""
    steps = [{"color": colour, "value": value} for colour, value in steps or [("text", None)]]
    made = panel("stat", title, description, unit, targets_of(expression, "{{instance}}", False),
                 {"reduceOptions": reduced(), "orientation": "auto", "textMode": "auto", "colorMode": "value",
                  "graphMode": "area", "justifyMode": "auto"}, (width, 4),
                 thresholds={"mode": "absolute", "steps": steps})
    made["fieldConfig"]["defaults"]["color"] = {"mode": "thresholds"}
    if decimals is not None:
        made["fieldConfig"]["defaults"]["decimals"] = decimals
    return made


FAULTS = [("green", None), ("red", 1)]
WARNINGS = [("green", None), ("orange", 1)]


def bars(title, unit, expression, description, width=6, decimals=None):
    """A bar panel of ten services, in the order of the query."""
    made = panel("bargauge", title, description, unit, targets_of(expression, "{{unit}} on {{instance}}", True),
                 {"reduceOptions": reduced(), "orientation": "horizontal", "displayMode": "basic", "showUnfilled": True,
                  "minVizWidth": 0, "minVizHeight": 10}, (width, 10), min=0,
                 thresholds={"mode": "absolute", "steps": [{"color": "blue", "value": None}]})
    made["fieldConfig"]["defaults"]["color"] = {"mode": "thresholds"}
    if decimals is not None:
        made["fieldConfig"]["defaults"]["decimals"] = decimals
    return made


def column(name, unit, decimals=2):
    return {"matcher": {"id": "byName", "options": name},
            "properties": [{"id": "unit", "value": unit}, {"id": "decimals", "value": decimals}]}


def table(title, columns, description, order, height=9, width=24, links=()):
    """A table. COLUMNS: heading, unit, expression. Rows with equal labels are merged; labels in ORDER come first."""
    targets = [target(expression, "", chr(ord("A") + i), "table") for i, (_, _, expression) in enumerate(columns)]
    values = ["Value #%s" % made["refId"] for made in targets] if len(targets) > 1 else ["Value"]
    hidden = {"Time": True} | {value: True for value, (name, _, _) in zip(values, columns) if name is None}
    names = {value: name for value, (name, _, _) in zip(values, columns) if name is not None}
    made = panel("table", title, description, "none", targets,
                 {"showHeader": True, "cellHeight": "sm", "footer": {"show": False, "reducer": ["sum"], "fields": ""}},
                 (width, height))
    made["fieldConfig"]["overrides"] = [column(name, unit) for name, unit, _ in columns if name and unit != "none"]
    made["fieldConfig"]["overrides"] += [
        {"matcher": {"id": "byName", "options": name}, "properties": [{"id": "links", "value": [link]}]}
        for name, link in links]
    indices = {label: i for i, label in enumerate(order)} | {
        value: len(order) + i for i, value in enumerate(values)}
    made["transformations"] = [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": hidden, "indexByName": indices, "renameByName": names}}]
    return made


def text(content, height=3):
    return {"type": "text", "title": "", "description": "", "size": (24, height),
            "options": {"mode": "markdown", "content": content}}


def row(title):
    return {"type": "row", "title": title, "collapsed": False, "panels": [], "size": (24, 1)}


# --- dashboards


def variable(name, query, label=None):
    return {"name": name, "label": label or name.title(), "type": "query", "datasource": SOURCE, "definition": query,
            "query": {"query": query, "refId": "StandardVariableQuery"}, "refresh": 2, "regex": "", "sort": 1,
            "hide": 0, "multi": True, "includeAll": True, "allValue": ".+", "skipUrlSync": False, "options": [],
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]}}


def placed(panels):
    """Places the panels from left to right, in rows, and numbers them."""
    x = y = height = 0
    for i, made in enumerate(panels):
        width, tall = made["size"]
        if x + width > 24:
            x, y, height = 0, y + height, 0
        yield {"id": i + 1, "gridPos": {"x": x, "y": y, "w": width, "h": tall}} | {
            key: value for key, value in made.items() if key != "size"}
        x, height = x + width, max(height, tall)


def dashboard(uid, title, description, variables, panels):
    return {"uid": uid, "title": title, "description": description, "tags": ["perfcountd"], "schemaVersion": 36,
            "version": 1, "editable": False, "graphTooltip": 1, "refresh": "1m", "style": "dark", "timezone": "browser",
            "fiscalYearStartMonth": 0, "liveNow": False, "weekStart": "", "time": {"from": "now-1h", "to": "now"},
            "timepicker": {}, "annotations": {"list": []}, "templating": {"list": variables},
            "links": [{"type": "dashboards", "title": "perfcountd", "tags": ["perfcountd"], "asDropdown": False,
                       "icon": "external link", "includeVars": True, "keepTime": True, "targetBlank": False,
                       "tooltip": "", "url": ""}],
            "panels": list(placed(panels))}
