#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks Grafana dashboards: what grafana/dashboard-linter asks for, and what Grafana 9 to 12 need to load them.

usage: lint-dashboards.py FILE...            complaints, each with the dashboard, the panel and the rule; exit 1
       lint-dashboards.py --self-test FILE   breaks the dashboard once for each rule, which must find that

The rules of dashboard-linter have the same names here (its lint/rules.go, and the files that this names).
promtool says whether expressions are PromQL.
"""
import copy
import json
import re
import subprocess
import sys
import tempfile

from promql import replaced, selectors

# Plugins that every Grafana 9 to 12 has, and the options without which version 9 falls back to others.
OPTIONS = {"timeseries": {"legend", "tooltip"}, "stat": {"reduceOptions", "textMode", "colorMode", "graphMode"},
           "table": {"showHeader"}, "bargauge": {"reduceOptions", "orientation", "displayMode"},
           "text": {"mode", "content"}, "row": set()}
WITH_QUERIES = {"timeseries", "stat", "table", "bargauge"}
TRANSFORMATIONS = {"merge", "organize"}
# Of Grafana's packages/grafana-data/src/valueFormats/categories.ts, those that counters can have.
UNITS = {"none", "short", "percent", "percentunit", "bytes", "decbytes", "Bps", "binBps", "hertz", "watt", "joule", "s",
         "ms", "ns", "cps", "ops", "celsius", "volt"}
SCHEMA = 36  # of Grafana 9.0; newer ones convert it
FIELDS = {"uid": str, "title": str, "description": str, "tags": list, "schemaVersion": int, "editable": bool,
          "refresh": str, "timezone": str, "time": dict, "templating": dict, "annotations": dict, "links": list,
          "panels": list}
GLOBALS = {"__rate_interval": "4m", "__interval": "1m", "__range": "1h"}


def panels_of(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def variables_of(dashboard):
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


def queries_of(dashboard):
    return [variable for variable in dashboard["templating"]["list"] if variable["type"] == "query"]


def targets_of(dashboard):
    return [(panel, target) for panel in panels_of(dashboard) for target in panel.get("targets", [])]


def name_of(panel):
    return "panel %s %r" % (panel.get("id"), panel.get("title"))


# --- rules of dashboard-linter


def template_datasource(dashboard):
    sources = [variable for variable in dashboard["templating"]["list"] if variable["type"] == "datasource"]
    if [(source["name"], source["label"], source["query"]) for source in sources] != [
            ("datasource", "Data source", "prometheus")]:
        yield "there is not one variable `datasource`, labelled `Data source`, of type prometheus"


def template_label(dashboard, name):
    variable = variables_of(dashboard).get(name)
    if not variable:
        yield "there is no variable `%s`" % name
    elif (variable["type"], variable["label"], variable["multi"], variable["allValue"]) != (
            "query", name.title(), True, ".+"):
        yield "the variable `%s` is not a query, labelled `%s`, for several values, with allValue `.+`" % (
            name, name.title())


def template_job(dashboard):
    return template_label(dashboard, "job")


def template_instance(dashboard):
    return template_label(dashboard, "instance")


def template_label_promql(dashboard):
    for variable in queries_of(dashboard):
        match = re.fullmatch(r"label_values\((.+), *\w+\)", variable["query"]["query"])
        if not match or not list(selectors(match.group(1))):
            yield "the variable `%s` asks for no values of a label: %s" % (variable["name"], variable["query"]["query"])


def template_on_time_change_reload(dashboard):
    for variable in queries_of(dashboard):
        if variable["refresh"] != 2:
            yield "the variable `%s` is not asked for again when the time changes" % variable["name"]


def uneditable_dashboard(dashboard):
    if dashboard["editable"]:
        yield "it is editable"


def panel_datasource(dashboard):
    wanted = {"type": "prometheus", "uid": "${datasource}"}
    for panel in panels_of(dashboard):
        if panel["type"] in WITH_QUERIES and panel.get("datasource") != wanted:
            yield "%s: its data source is not ${datasource}" % name_of(panel)
    for thing in [target for _, target in targets_of(dashboard)] + queries_of(dashboard):
        if thing.get("datasource") != wanted:
            yield "%s: its data source is not ${datasource}" % thing.get("expr", thing.get("name"))


def panel_title_description(dashboard):
    for panel in panels_of(dashboard):
        if panel["type"] in WITH_QUERIES and not (panel.get("title") and panel.get("description")):
            yield "%s: it has no title or no description" % name_of(panel)


def units_of(panel):
    config = panel.get("fieldConfig", {})
    yield config.get("defaults", {}).get("unit")
    for override in config.get("overrides", []):
        for item in override["properties"]:
            if item["id"] == "unit":
                yield item["value"]


def panel_units(dashboard):
    for panel in panels_of(dashboard):
        if panel["type"] in WITH_QUERIES and not set(units_of(panel)) <= UNITS:
            yield "%s: it has no unit, or one that Grafana does not have" % name_of(panel)


def panel_no_targets(dashboard):
    for panel in panels_of(dashboard):
        if panel["type"] in WITH_QUERIES and not panel.get("targets"):
            yield "%s: it asks for nothing" % name_of(panel)


def target_promql(dashboard):
    """All in one file of rules. promtool names the wrong ones."""
    values = {name: ".+" for name in variables_of(dashboard)} | GLOBALS
    rules = [{"record": "n:%d" % i, "expr": replaced(target["expr"], values)}
             for i, (_, target) in enumerate(targets_of(dashboard))]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", file.name], stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        yield "promtool: %s" % done.stdout


def target_rate_interval(dashboard):
    for panel, target in targets_of(dashboard):
        for metric, _, of_range, function in selectors(target["expr"]):
            if (of_range or function in ("rate", "irate", "increase")) and of_range != "[$__rate_interval]":
                yield "%s: %s has the range %s" % (name_of(panel), metric, of_range)


def target_matcher(dashboard, label):
    for panel, target in targets_of(dashboard):
        for metric, matchers, _, _ in selectors(target["expr"]):
            if matchers.get(label) != ("=~", "$" + label):
                yield "%s: %s is not limited by %s=~\"$%s\"" % (name_of(panel), metric, label, label)


def target_job(dashboard):
    return target_matcher(dashboard, "job")


def target_instance(dashboard):
    return target_matcher(dashboard, "instance")


def target_counter_agg(dashboard):
    for panel, target in targets_of(dashboard):
        for metric, matchers, _, function in selectors(target["expr"]):
            name = metric or matchers.get("__name__", ("", ""))[1]
            if name.endswith("_total") and function not in ("rate", "irate", "increase"):
                yield "%s: the counter %s is not in rate()" % (name_of(panel), name)


# --- rules of this project


def grafana_9_fields(dashboard):
    for field, kind in FIELDS.items():
        if not isinstance(dashboard.get(field), kind):
            yield "there is no `%s`, or of another type" % field
    if dashboard["schemaVersion"] != SCHEMA:
        yield "its schemaVersion is not %d, that of Grafana 9.0" % SCHEMA
    if "id" in dashboard:
        yield "it has an `id` of one Grafana"
    for panel in panels_of(dashboard):
        if not OPTIONS.get(panel["type"], {"none"}) <= set(panel.get("options", {})):
            yield "%s: its type %s is not one of all Grafanas, or lacks options" % (name_of(panel), panel["type"])
        for target in panel.get("targets", []):
            if target["range"] is target["instant"] or not isinstance(target["instant"], bool):
                yield "%s: a query is not either for a range or for an instant" % name_of(panel)
        for change in panel.get("transformations", []):
            if change["id"] not in TRANSFORMATIONS:
                yield "%s: the transformation %s is not known" % (name_of(panel), change["id"])


def unique_ids(dashboard):
    ids = [panel["id"] for panel in panels_of(dashboard)]
    if len(set(ids)) != len(ids):
        yield "two panels have the same id"
    for panel in panels_of(dashboard):
        references = [target["refId"] for target in panel.get("targets", [])]
        if len(set(references)) != len(references):
            yield "%s: two queries have the same refId" % name_of(panel)


def grid(dashboard):
    """24 wide; no two panels in one place."""
    taken = {}
    for panel in panels_of(dashboard):
        place = panel["gridPos"]
        if place["x"] < 0 or place["x"] + place["w"] > 24 or place["w"] < 1 or place["h"] < 1:
            yield "%s: it is not within the 24 columns" % name_of(panel)
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        for cell in cells:
            if cell in taken:
                yield "%s: it is on top of %s" % (name_of(panel), taken[cell])
                break
            taken[cell] = name_of(panel)


def legends(dashboard):
    for panel, target in targets_of(dashboard):
        if panel["type"] in ("timeseries", "bargauge") and "{{" not in target["legendFormat"]:
            yield "%s: a legend does not name what it is about: %r" % (name_of(panel), target["legendFormat"])


def links(dashboard):
    """Between dashboards: by tag, and by the fixed uid of one of them."""
    if not any(link["type"] == "dashboards" and link["tags"] == ["perfcountd"] and link["includeVars"]
               for link in dashboard["links"]) or "perfcountd" not in dashboard["tags"]:
        yield "there is no link to the other dashboards of perfcountd, or not its tag"
    if not re.fullmatch("perfcountd-[a-z]{1,29}", dashboard["uid"]):
        yield "its uid is not perfcountd-NAME"
    for uid in re.findall(r'"/d/([^/"]*)', json.dumps(dashboard)):
        if uid not in ("perfcountd-fleet", "perfcountd-board", "perfcountd-containers"):
            yield "a link leads to %s, which is none of ours" % uid


def variables_used(dashboard):
    everything = json.dumps([dashboard["panels"], [variable["query"] for variable in queries_of(dashboard)]])
    for name in variables_of(dashboard):
        if not re.search(r"\$\{?%s\b" % name, everything):
            yield "the variable `%s` is used nowhere" % name


# Each rule, and a change to a good dashboard that it must find.
def first(dashboard, kind):
    return next(panel for panel in panels_of(dashboard) if panel["type"] == kind)


def first_target(dashboard):
    return first(dashboard, "timeseries")["targets"][0]


def edit(dashboard, old, new):
    target = first_target(dashboard)
    assert old in target["expr"]
    target["expr"] = target["expr"].replace(old, new, 1)


RULES = {
    template_datasource: lambda d: variables_of(d)["datasource"].update(label="Source"),
    template_job: lambda d: variables_of(d)["job"].update(multi=False),
    template_instance: lambda d: variables_of(d)["instance"].update(allValue=".*"),
    template_label_promql: lambda d: variables_of(d)["job"]["query"].update(query="labels(up)"),
    template_on_time_change_reload: lambda d: variables_of(d)["job"].update(refresh=1),
    uneditable_dashboard: lambda d: d.update(editable=True),
    panel_datasource: lambda d: first_target(d).update(datasource={"type": "prometheus", "uid": "P1"}),
    panel_title_description: lambda d: first(d, "stat").update(description=""),
    panel_units: lambda d: first(d, "stat")["fieldConfig"]["defaults"].update(unit="parsecs"),
    panel_no_targets: lambda d: first(d, "stat").update(targets=[]),
    target_promql: lambda d: edit(d, "sum by", "sum sum by"),
    target_rate_interval: lambda d: edit(d, "[$__rate_interval]", "[5m]"),
    target_job: lambda d: edit(d, 'job=~"$job", ', ""),
    target_instance: lambda d: edit(d, 'instance=~"$instance"', 'instance="$instance"'),
    target_counter_agg: lambda d: edit(d, "rate(", "delta("),
    grafana_9_fields: lambda d: first(d, "stat").update(type="flowchart"),
    unique_ids: lambda d: first(d, "stat").update(id=1),
    grid: lambda d: first(d, "stat")["gridPos"].update(h=30),
    legends: lambda d: first_target(d).update(legendFormat=""),
    links: lambda d: d.update(uid="aBcD12"),
    variables_used: lambda d: d["templating"]["list"].append(dict(variables_of(d)["job"], name="unused")),
}


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def self_test(path):
    """The number of rules that do not find what they are for."""
    missed = 0
    good = load(path)
    for rule, change in RULES.items():
        broken = copy.deepcopy(good)
        change(broken)
        if list(rule(good)) or not list(rule(broken)):
            print("%s finds nothing in a dashboard that was broken for it" % rule.__name__)
            missed += 1
    return missed


def main():
    if sys.argv[1:2] == ["--self-test"]:
        missed = self_test(sys.argv[2])
        print("%d rules find what they are for" % (len(RULES) - missed))
        sys.exit(missed > 0)
    complaints = 0
    for path in sys.argv[1:]:
        dashboard = load(path)
        for rule in RULES:
            for complaint in rule(dashboard):
                print("%s: %s: %s" % (path, rule.__name__.replace("_", "-"), complaint))
                complaints += 1
        print("%s: %d panels, %d queries" % (path, len(list(panels_of(dashboard))), len(targets_of(dashboard))))
    sys.exit(complaints > 0 or not sys.argv[1:])


if __name__ == "__main__":
    main()
