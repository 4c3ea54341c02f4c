#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the configurations of contrib/fleet/profiles against the schemas of Parca and Grafana Alloy.

usage: profilers.py parca JSON | alloy FILE     prints complaints; exits with 1 if there are any

Parca's schema is from pkg/config/config.go, where Load() rejects unknown fields, from HTTPClientConfig in
github.com/prometheus/common/config and from Prometheus' model/relabel. Alloy's schema is from the tables of arguments
and blocks in discovery/discovery.file.md, discovery/discovery.relabel.md, pyroscope/pyroscope.scrape.md and
pyroscope/pyroscope.write.md below docs/sources/reference/components/.
"""
import json
import re
import sys

TLS = {"ca_file": str, "cert_file": str, "key_file": str, "server_name": str, "insecure_skip_verify": bool}
PASSWORD = {"username": str, "password": str, "password_file": str}
GO = ("memory", "block", "goroutine", "mutex")  # Parca and Alloy request these and process_cpu by default
PATH = "/debug/pprof/profile"

# --- Parca

RELABEL = {"source_labels": [str], "separator": str, "regex": str, "modulus": int, "target_label": str,
           "replacement": str, "action": str}
PPROF = {"enabled": bool, "path": str, "delta": bool, "keep_sample_type": [{"type": str, "unit": str}]}
PARCA = {
    "object_storage": {"bucket": {"type": str, "config": dict, "prefix": str}},
    "scrape_configs": [{
        "job_name": str, "params": dict, "scrape_interval": str, "scrape_timeout": str, "scheme": str,
        "normalized_addresses": bool, "relabel_configs": [RELABEL], "tls_config": TLS, "basic_auth": PASSWORD,
        "file_sd_configs": [{"files": [str], "refresh_interval": str}],
        "static_configs": [{"targets": [str], "labels": dict}],
        "profiling_config": {"path_prefix": str, "pprof_config": {"*": PPROF}},
    }],
}


def unlike(value, schema, where):
    """Yields a message for each place at which the document does not match the schema."""
    if isinstance(schema, type):
        if not isinstance(value, schema):
            yield "%s: %r is not of type %s" % (where, value, schema.__name__)
    elif not isinstance(value, type(schema)):
        yield "%s: not of type %s" % (where, type(schema).__name__)
    elif isinstance(schema, list):
        for i, item in enumerate(value):
            yield from unlike(item, schema[0], "%s[%d]" % (where, i))
    else:
        for key, item in value.items():
            if key not in schema and "*" not in schema:
                yield "%s: unknown field %s" % (where, key)
            else:
                yield from unlike(item, schema.get(key, schema.get("*")), "%s.%s" % (where, key))


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


def check_parca(document):
    yield from unlike(document, PARCA, "parca")
    if "object_storage" not in document:
        yield "object_storage is required"
    for job in document["scrape_configs"]:
        if seconds(job["scrape_timeout"]) <= seconds(job["scrape_interval"]):
            yield "scrape_timeout must be greater than the interval"
        profiles = job["profiling_config"]["pprof_config"]
        for name in GO:
            if profiles.get(name, {}).get("enabled", True):
                yield "%s is requested, which perfcountd does not serve" % name
        if profiles.get("process_cpu") != {"enabled": True, "path": PATH, "delta": True}:
            yield "process_cpu is not requested as perfcountd serves it"
        if "params" in job:  # targetsFromGroup() in pkg/scrape/target.go adds `seconds` to the job's own map
            yield "params would collect a `seconds` from each target"


# --- Alloy: a block is a tuple (name, label, {attribute: text of its value}, [blocks])

PROFILE = ({"enabled", "path", "delta"}, {})
TLS_BLOCK = (set(TLS), {})
PASSWORD_BLOCK = (set(PASSWORD), {})
ALLOY = {
    "discovery.file": ({"files", "refresh_interval"}, {}),
    "discovery.relabel": ({"targets"}, {"rule": (set(RELABEL), {})}),
    "pyroscope.scrape": (
        {"targets", "forward_to", "job_name", "params", "scheme", "scrape_interval", "scrape_timeout",
         "delta_profiling_duration", "bearer_token_file", "enable_http2", "follow_redirects", "proxy_url"},
        {"tls_config": TLS_BLOCK, "basic_auth": PASSWORD_BLOCK, "clustering": ({"enabled"}, {}),
         "profiling_config": ({"path_prefix"}, {"profile." + name: PROFILE for name in GO + ("process_cpu", "custom")})}),
    "pyroscope.write": (
        {"external_labels"},
        {"endpoint": ({"url", "name", "headers", "remote_timeout", "bearer_token_file", "max_backoff_period"},
                      {"tls_config": TLS_BLOCK, "basic_auth": PASSWORD_BLOCK})}),
}
EXPORTS = {"discovery.file": "targets", "discovery.relabel": "output", "pyroscope.write": "receiver"}
REQUIRED = {"discovery.file": {"files"}, "discovery.relabel": {"targets"}, "pyroscope.scrape": {"targets", "forward_to"},
            "endpoint": {"url"}}


def blocks_of(text):
    """Returns the blocks of a file in which each attribute, block start and block end is on a line of its own."""
    root = ("", "", {}, [])
    stack = [root]
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        block = re.fullmatch(r'([\w.]+)(?: "(\w+)")? \{', line)
        attribute = re.fullmatch(r'(\w+) *= (".*"|true|false|[0-9]+|\[.*\]|[\w.]+)', line)
        if block:
            stack.append((block.group(1), block.group(2) or "", {}, []))
            stack[-2][3].append(stack[-1])
        elif attribute and len(stack) > 1:
            stack[-1][2][attribute.group(1)] = attribute.group(2)
        elif line == "}" and len(stack) > 1:
            stack.pop()
        elif line and not line.startswith("//"):
            raise SystemExit("line %d: %s" % (number, line))
    if len(stack) > 1:
        raise SystemExit("a block is not closed")
    return root[3]


def check_block(block, schema, where):
    name, _, attributes, blocks = block
    known, inner = schema
    for attribute in set(attributes) - known:
        yield "%s: unknown argument %s" % (where, attribute)
    for attribute in REQUIRED.get(name, set()) - set(attributes):
        yield "%s: %s is required" % (where, attribute)
    for child in blocks:
        if child[0] not in inner:
            yield "%s: unknown block %s" % (where, child[0])
        else:
            yield from check_block(child, inner[child[0]], "%s.%s" % (where, child[0]))


def check_alloy(text):
    components = blocks_of(text)
    exports = {"%s.%s.%s" % (name, label, EXPORTS[name]) for name, label, _, _ in components if name in EXPORTS}
    for component in components:
        name, label, attributes, blocks = component
        if name not in ALLOY or not label:
            yield "unknown component %s, or it has no label" % name
            continue
        yield from check_block(component, ALLOY[name], name)
        for value in attributes.values():
            for reference in re.findall(r"\b(?:discovery|pyroscope)\.[\w.]+", re.sub('"[^"]*"', "", value)):
                if reference not in exports:
                    yield "%s: nothing exports %s" % (name, reference)
        if name == "pyroscope.scrape":
            profiles = {child[0]: child[2] for block in blocks if block[0] == "profiling_config" for child in block[3]}
            for kind in GO:
                if profiles.get("profile." + kind, {}).get("enabled") != "false":
                    yield "%s is requested, which perfcountd does not serve" % kind
            if profiles.get("profile.process_cpu") != {"enabled": "true", "path": '"%s"' % PATH, "delta": "true"}:
                yield "process_cpu is not requested as perfcountd serves it"
            # Arguments.Validate() in internal/component/pyroscope/scrape/scrape.go requires this
            if seconds(attributes.get("delta_profiling_duration", '"14s"').strip('"')) > \
                    seconds(attributes.get("scrape_interval", '"15s"').strip('"')) - 1:
                yield "delta_profiling_duration must be at least a second shorter than scrape_interval"


def main():
    kind, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        complaints = list(check_parca(json.load(file)) if kind == "parca" else check_alloy(file.read()))
    for complaint in complaints:
        print(complaint)
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
