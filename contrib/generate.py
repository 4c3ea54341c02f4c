#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes all generated files of contrib/ and doc/: the Grafana dashboards from grafana/dashboards.py, the recording rules
and the metrics in doc/metrics.md from the daemon's table of derived metrics, and the kustomize files from the chart in
kubernetes/:

    perfcountd list-metrics --json | contrib/generate.py [--check]

With --check it writes nothing, prints each file that is out of date, and fails if there is one. The files are in the
tree so that they can be used without running this script.
"""
import json
import os
import sys

sys.dont_write_bytecode = True  # the source tree may be read-only
CONTRIB = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(CONTRIB, folder) for folder in ("grafana", "kubernetes", "prometheus")]
import chart  # noqa: E402
import dashboards  # noqa: E402
import rules  # noqa: E402

ROOT = os.path.dirname(CONTRIB)
PAGE = "doc/metrics.md"
START = "<!-- the table, written by contrib/generate.py -->\n"
SEEN = {True: "", False: " *Never seen on hardware.*"}


def cell(text):
    return text.replace("|", "\\|")


def formula_line(formula):
    where = " on `%s`" % formula["pmu"] if formula["pmu"] else ""
    return "- `%s`%s: %s.%s\n" % (formula["formula"], where, formula["source"].rstrip("."), SEEN[formula["seen"]])


def metrics_page(metrics):
    """Returns doc/metrics.md: its text before the table, which is kept, the table, and the formulas of each metric with
    their sources."""
    lines = ["| metric | unit | of | |\n", "| --- | --- | --- | --- |\n"]
    for metric in metrics:
        lines.append("| [`%s`](#%s) | %s | %s | %s |\n" % (metric["name"], metric["name"], metric["unit"],
                                                        ", ".join(metric["collectors"]), cell(metric["help"])))
    for metric in metrics:
        lines.append("\n### %s\n\n%s Unit: %s.\n\n" % (metric["name"], metric["help"], metric["unit"])
                     if metric["unit"] != "ratio" else "\n### %s\n\n%s\n\n" % (metric["name"], metric["help"]))
        lines += [formula_line(formula) for formula in metric["formulas"]]
    return read(PAGE).partition(START)[0] + START + "\n" + "".join(lines)


def to_json(document):
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def generated(table):
    """Returns the text of each generated file, by path."""
    recorded = rules.write_rules(table)
    return {
        **{"contrib/grafana/" + name: to_json(made) for name, made in dashboards.DASHBOARDS.items()},
        "contrib/prometheus/rules.yml": recorded,
        # JSON for the mixin, since jsonnet parses YAML slowly.
        "contrib/mixin/rules.json": to_json(rules.read_rules(recorded)),
        PAGE: metrics_page(table["metrics"]),
        **{"contrib/kubernetes/" + name: text for name, text in chart.generated().items()},
    }


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    try:
        files = generated(json.load(sys.stdin))
    except (chart.Mistake, rules.Mistake) as mistake:
        sys.exit("contrib/generate.py: %s" % mistake)
    wrong = [name for name, text in files.items() if read(name) != text]
    for name in wrong:
        if check:
            print("%s: is out of date: run perfcountd list-metrics --json | contrib/generate.py" % name)
        else:
            with open(os.path.join(ROOT, name), "w", encoding="utf-8") as file:
                file.write(files[name])
    sys.exit(1 if check and wrong else 0)


if __name__ == "__main__":
    main()
