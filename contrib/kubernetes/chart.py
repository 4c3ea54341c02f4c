#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Renders the chart like `helm template perfcountd chart --set KEY=VALUE`. Supports only the actions that the chart uses:
values, the release name, `if` and `if eq`. ../generate.py uses it to write the kustomize files with default values.

usage: chart.py [KEY=VALUE...]
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RELEASE = "perfcountd"
# For each kustomize file: its template, and the values that differ from the defaults.
FILES = {
    "base/daemonset.yaml": ("daemonset.yaml", {}),
    "base/podmonitor.yaml": ("podmonitor.yaml", {"monitor": "pod"}),
    "base/servicemonitor.yaml": ("servicemonitor.yaml", {"monitor": "service"}),
}
GENERATED = "# Generated from ../chart by contrib/generate.py: edit the chart instead.\n"
SPDX = "# SPDX-License-Identifier: Apache-2.0\n"


class Mistake(Exception):
    """A template or a values file uses something that this script does not support."""


def read(*path):
    with open(os.path.join(HERE, "chart", *path), encoding="utf-8") as file:
        return file.read()


def parse_values(text):
    """Parses values into {"image.tag": text}; supports scalars and maps of scalars."""
    values, above = {}, ""
    for line in text.splitlines():
        match = re.fullmatch(r'( {2}|)(\w+):(?: "?([^"#]*?)"?)?', line)
        if not match:
            if line.strip() and not line.lstrip().startswith("#"):
                raise Mistake("values.yaml: %s" % line)
        elif match.group(3) is None:
            above = match.group(2) + "."
        else:
            above = above if match.group(1) else ""
            values[above + match.group(2)] = match.group(3)
    return values


def holds(condition, values):
    match = re.fullmatch(r'(eq )?\.Values\.([\w.]+)(?: "(\w+)")?', condition)
    if not match or bool(match.group(1)) != bool(match.group(3)):
        raise Mistake("if %s" % condition)
    value = value_of(match.group(2), values)
    return value == match.group(3) if match.group(1) else value not in ("false", "")


def value_of(name, values):
    if name not in values:
        raise Mistake("no such value: %s" % name)
    return values[name]


def rendered(template, values):
    lines, shown = [], [True]
    for line in read("templates", template).splitlines():
        condition = re.fullmatch(r"\{\{- if (.*) \}\}", line)
        if condition:
            shown.append(shown[-1] and holds(condition.group(1), values))
        elif line == "{{- end }}":
            shown.pop()
        elif shown[-1]:
            line = line.replace("{{ .Release.Name }}", RELEASE)
            line = re.sub(r"\{\{ \.Values\.([\w.]+) \}\}", lambda match: value_of(match.group(1), values), line)
            if "{{" in line:
                raise Mistake("%s: %s" % (template, line))
            lines.append(line + "\n")
    return "".join(lines)


def generated():
    """Returns {file below contrib/kubernetes: text}."""
    values = parse_values(read("values.yaml"))
    return {name: rendered(template, {**values, **changed}).replace(SPDX, SPDX + GENERATED, 1)
            for name, (template, changed) in FILES.items()}


def main():
    values = parse_values(read("values.yaml"))
    for pair in sys.argv[1:]:
        name, _, value = pair.partition("=")
        value_of(name, values)
        values[name] = value
    for template in sorted(os.listdir(os.path.join(HERE, "chart", "templates"))):
        text = rendered(template, values)
        if text:
            print("---\n" + text, end="")


if __name__ == "__main__":
    main()
