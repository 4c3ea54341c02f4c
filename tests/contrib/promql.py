# SPDX-License-Identifier: Apache-2.0
"""Reads Grafana dashboards: their panels, the selectors in a PromQL expression, and variables replaced by Grafana.

Prometheus checks the syntax of the expressions.
"""
import re

TOKEN = re.compile(r"""\s+ | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*') | (?P<range>\[[^\]]*\]) |
    (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*) | (?P<number>[0-9][0-9a-z.]*) |
    (?P<matchers>\{(?:"(?:\\.|[^"\\])*"|[^{}"])*\}) | (?P<sign>.)""", re.X)
MATCHER = re.compile(r"""([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:\\.|[^"\\])*)\"""")
BINARY = {"and", "or", "unless", "bool", "offset", "atan2"}
LABELS_FOLLOW = {"by", "without", "on", "ignoring", "group_left", "group_right"}


def panels_of(dashboard):
    """Yields all panels, including those inside rows."""
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def tokens_of(expression):
    return [(match.lastgroup, match.group()) for match in TOKEN.finditer(expression) if match.lastgroup]


def selectors(expression):
    """Yields each selector as (metric or "", {label: (operator, value)}, range or "", enclosing function or "")."""
    tokens = tokens_of(expression) + [("end", "")] * 3
    functions, i = [], 0
    while tokens[i][0] != "end":
        kind, text = tokens[i]
        follower = tokens[i + 1]
        if text in LABELS_FOLLOW and follower[1] == "(":
            i = next(j for j in range(i, len(tokens)) if tokens[j][1] == ")")
        elif text in BINARY or text in LABELS_FOLLOW or follower[1] in ("by", "without"):
            pass
        elif kind == "name" and follower[1] == "(":
            functions.append(text)
            i += 1
        elif text == "(":
            functions.append("")
        elif text == ")":
            functions.pop()
        elif kind in ("name", "matchers"):
            metric = text if kind == "name" else ""
            if kind == "name" and follower[0] == "matchers":
                i += 1
            matchers = {name: (operator, value) for name, operator, value in MATCHER.findall(
                tokens[i][1] if tokens[i][0] == "matchers" else "")}
            of_range = tokens[i + 1][1] if tokens[i + 1][0] == "range" else ""
            yield metric, matchers, of_range, functions[-1] if functions else ""
        i += 1


def regex_value(values):
    """Returns the regular expression with which Grafana replaces a variable with several values in PromQL."""
    escaped = [re.sub(r"[$^*{}\[\]'+?.()|]", r"\\\\\g<0>", value.replace("\\", "\\\\\\\\")) for value in values]
    return escaped[0] if len(escaped) == 1 else "(%s)" % "|".join(escaped)


def replaced(text, values):
    """Replaces `$name` and `${name}` with their values, the longest names first."""
    for name in sorted(values, key=len, reverse=True):
        text = text.replace("${%s}" % name, values[name])
        text = re.sub(r"\$%s\b" % name, lambda match, value=values[name]: value, text)
    return text
