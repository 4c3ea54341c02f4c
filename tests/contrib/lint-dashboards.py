#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks expressions, units, texts and links of Grafana dashboards by the rules of grafana/dashboard-linter. Rules
about data sources, ids and positions are left out, since contrib/grafana/panels.py generates these.

usage: lint-dashboards.py FILE...   prints complaints, each with the dashboard, the rule and the panel; exits with 1
                                    if there are any

Rules that dashboard-linter also has are named as there (lint/rules.go). promtool checks the syntax of the expressions.
"""
import json
import re
import subprocess
import sys
import tempfile

from promql import panels_of, replaced, selectors

WITH_QUERIES = {"timeseries", "stat", "table", "bargauge"}
# The units that counters can have, from Grafana's packages/grafana-data/src/valueFormats/categories.ts.
UNITS = {"none", "short", "percent", "percentunit", "bytes", "decbytes", "Bps", "binBps", "hertz", "watt", "joule", "s",
         "ms", "ns", "cps", "ops", "celsius", "volt"}
GLOBALS = {"__rate_interval": "4m", "__interval": "1m", "__range": "1h"}


def variables_of(dashboard):
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


def queries_of(dashboard):
    return [variable for variable in dashboard["templating"]["list"] if variable["type"] == "query"]


def targets_of(dashboard):
    return [(panel, target) for panel in panels_of(dashboard) for target in panel.get("targets", [])]


def name_of(panel):
    return "panel %s %r" % (panel.get("id"), panel.get("title"))


# --- rules of dashboard-linter


def template_label_promql(dashboard):
    for variable in queries_of(dashboard):
        match = re.fullmatch(r"label_values\((.+), *\w+\)", variable["query"]["query"])
        if not match or not list(selectors(match.group(1))):
            yield "the variable `%s` does not query label values: %s" % (variable["name"], variable["query"]["query"])


def panel_title_description(dashboard):
    for panel in panels_of(dashboard):
        if panel["type"] in WITH_QUERIES and not (panel.get("title") and panel.get("description")):
            yield "%s: no title or no description" % name_of(panel)


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
            yield "%s: no unit, or one unknown to Grafana" % name_of(panel)


def target_promql(dashboard):
    """Checks all expressions at once, as a file of rules; promtool names the invalid ones."""
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


def legends(dashboard):
    for panel, target in targets_of(dashboard):
        if panel["type"] in ("timeseries", "bargauge") and "{{" not in target["legendFormat"]:
            yield "%s: a legend does not identify the series: %r" % (name_of(panel), target["legendFormat"])


def links(dashboard):
    """Dashboards link to each other by their tag, and by their fixed uid."""
    if not any(link["type"] == "dashboards" and link["tags"] == ["perfcountd"] and link["includeVars"]
               for link in dashboard["links"]) or "perfcountd" not in dashboard["tags"]:
        yield "the tag perfcountd, or the link to the other dashboards with this tag, is missing"
    if not re.fullmatch("perfcountd-[a-z]{1,29}", dashboard["uid"]):
        yield "the uid is not perfcountd-NAME"
    for uid in re.findall(r'"/d/([^/"]*)', json.dumps(dashboard)):
        if uid not in ("perfcountd-fleet", "perfcountd-board", "perfcountd-containers"):
            yield "a link leads to %s, which is not one of these dashboards" % uid


def variables_used(dashboard):
    everything = json.dumps([dashboard["panels"], [variable["query"] for variable in queries_of(dashboard)]])
    for name in variables_of(dashboard):
        if not re.search(r"\$\{?%s\b" % name, everything):
            yield "the variable `%s` is not used" % name


RULES = (template_label_promql, panel_title_description, panel_units, target_promql, target_rate_interval, target_job,
         target_instance, target_counter_agg, legends, links, variables_used)


def main():
    complaints = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            dashboard = json.load(file)
        for rule in RULES:
            for complaint in rule(dashboard):
                print("%s: %s: %s" % (path, rule.__name__.replace("_", "-"), complaint))
                complaints += 1
        print("%s: %d panels, %d queries" % (path, len(list(panels_of(dashboard))), len(targets_of(dashboard))))
    sys.exit(complaints > 0 or not sys.argv[1:])


if __name__ == "__main__":
    main()
