#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sends all queries of Grafana dashboards to a Prometheus, and checks that each result has data.

usage: query-dashboards.py URL SCRAPE_SECONDS BOARD ABSENT DASHBOARD...

The query of each variable must return values, and each value must select data in some panel. The expressions of all
panels must have data, and the data must be the same whether all values of the variables are selected by `.+` or by a
list. ABSENT lists the expressions that need a PMU which the instance BOARD lacks: BOARD must not have their metric, and
if no instance has it, they must have no data.
"""
import json
import math
import os
import re
import sys
import time
import urllib.parse
import urllib.request

from promql import panels_of, regex_value, replaced, selectors

WINDOW = 20  # the panels' time range in seconds


class Prometheus:
    def __init__(self, url, scrape_seconds):
        self.url = url
        self.end = time.time()
        self.step = scrape_seconds
        self.asked = 0
        # Grafana's $__rate_interval is max($__interval + the scrape interval, 4 scrape intervals).
        self.globals = {"__rate_interval": "%ds" % max(self.step + scrape_seconds, 4 * scrape_seconds),
                        "__interval": "%ds" % self.step, "__range": "%ds" % WINDOW}

    def ask(self, path, **parameters):
        self.asked += 1
        parameters = [(key.replace("match", "match[]"), value) for key, value in parameters.items()]
        try:
            url = "%s/api/v1/%s?%s" % (self.url, path, urllib.parse.urlencode(parameters))
            with urllib.request.urlopen(url) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            sys.exit("query rejected: %s: %s" % (parameters, error.read().decode()))

    def samples(self, expression, values, instant):
        """Returns the labels of all series in the result that have at least one number."""
        expression = replaced(expression, {**values, **self.globals})
        if instant:
            found = self.ask("query", query=expression, time=self.end)["result"]
        else:
            found = self.ask("query_range", query=expression, start=self.end - WINDOW, end=self.end,
                             step=self.step)["result"]
        return [series["metric"] for series in found
                if any(not math.isnan(float(value)) for _, value in series.get("values", [series.get("value")]))]

    def label_values(self, query, values):
        """Returns the values of a label. Older versions of Grafana query series for this, newer ones label values."""
        selector, label = re.fullmatch(r"label_values\((.+), *(\w+)\)", replaced(query, values)).groups()
        window = {"start": self.end - WINDOW, "end": self.end}
        series = {item[label] for item in self.ask("series", match=selector, **window) if label in item}
        listed = self.ask("label/%s/values" % label, match=selector, **window)
        if sorted(series) != sorted(listed):
            sys.exit("%s: the series have %s, the label has %s" % (query, sorted(series), listed))
        return sorted(series)


class Check:
    def __init__(self, prometheus, board, absent):
        self.prometheus = prometheus
        self.board = board
        self.absent = absent  # (dashboard, panel, refId): (metric, machine)
        self.complaints = []
        self.without = 0

    def complain(self, *words):
        self.complaints.append(": ".join(words))

    def variables(self, name, dashboard):
        """Returns each variable's value for All, and the list of its values, queried while the others are at All."""
        queries = [variable for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
        everything = {variable["name"]: variable["allValue"] for variable in queries}
        lists = {}
        for variable in queries:
            found = self.prometheus.label_values(variable["query"]["query"], everything)
            lists[variable["name"]] = found
            if not found:
                self.complain(name, "the variable %s has no values" % variable["name"], variable["query"]["query"])
        return everything, lists

    def expected_absent(self, key, expression):
        if key not in self.absent:
            return False
        metric = self.absent.pop(key)[0]
        if not any(re.fullmatch(metric, name) or metric == matchers.get("__name__", ("", ""))[1]
                   for name, matchers, _, _ in selectors(expression)):
            self.complain(*key, "listed as absent because of %s, which it does not use" % metric)
        if self.prometheus.samples('{__name__=~"%s", instance="%s"}' % (metric, self.board), {}, True):
            self.complain(*key, "listed as absent, but %s has %s" % (self.board, metric))
        return not self.prometheus.samples('{__name__=~"%s"}' % metric, {}, True)

    def target(self, key, target, everything, lists):
        by_all = self.prometheus.samples(target["expr"], everything, target["instant"])
        each = {name: regex_value(found) for name, found in lists.items() if found}
        by_list = self.prometheus.samples(target["expr"], {**everything, **each}, target["instant"])
        if sorted(map(str, by_all)) != sorted(map(str, by_list)):
            self.complain(*key, "a list of all values does not select the same as All")
        if self.expected_absent(key, target["expr"]):
            self.without += 1
            if by_all:
                self.complain(*key, "has data, but is listed as absent")
        elif not by_all:
            self.complain(*key, "no data", target["expr"])

    def value(self, name, variable, value, targets, everything):
        """Checks that some panel has data if only this value is selected."""
        chosen = {**everything, variable: regex_value([value])}
        if not any(self.prometheus.samples(target["expr"], chosen, target["instant"]) for target in targets
                   if "$" + variable in target["expr"]):
            self.complain(name, "no panel has data for %s=%s" % (variable, value))

    def dashboard(self, path):
        with open(path, encoding="utf-8") as file:
            dashboard = json.load(file)
        name = os.path.basename(path)
        everything, lists = self.variables(name, dashboard)
        targets = []
        for panel in panels_of(dashboard):
            for target in panel.get("targets", []):
                self.target((name, panel["title"], target["refId"]), target, everything, lists)
                targets.append(target)
        for variable, found in lists.items():
            for value in found:
                self.value(name, variable, value, targets, everything)
        print("%s: %d expressions; %s" % (name, len(targets), "; ".join(
            "%s: %s" % (variable, " ".join(found)) for variable, found in lists.items())))


def load_absent(path):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    for line in rows:
        if len(line) != 5:
            sys.exit("%s: not five columns: %s" % (path, line))
    return {tuple(line[:3]): (line[3], line[4]) for line in rows}


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    check = Check(Prometheus(sys.argv[1], int(sys.argv[2])), sys.argv[3], load_absent(sys.argv[4]))
    for path in sys.argv[5:]:
        check.dashboard(path)
    for key in check.absent:
        check.complain(*key, "listed in %s, but does not exist" % sys.argv[4])
    for complaint in check.complaints:
        print(complaint)
    print("%d queries, %d expressions without data as listed, %d complaints" % (
        check.prometheus.asked, check.without, len(check.complaints)))
    sys.exit(bool(check.complaints))


if __name__ == "__main__":
    main()
