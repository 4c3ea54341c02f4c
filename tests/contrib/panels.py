#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Inserts the queries of a dashboard into a test for promtool: replaces `[[TITLE]]` by the first query of that panel.

usage: panels.py DASHBOARD TEST
"""
import json
import re
import sys

from promql import replaced


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        dashboard = json.load(file)
    values = {variable["name"]: ".+" for variable in dashboard["templating"]["list"]} | {"__rate_interval": "5m"}
    queries = {panel["title"]: replaced(panel["targets"][0]["expr"], values)
               for panel in dashboard["panels"] if panel.get("targets")}
    with open(sys.argv[2], encoding="utf-8") as file:
        print(re.sub(r"\[\[(.+?)\]\]", lambda match: queries[match.group(1)], file.read()))


if __name__ == "__main__":
    main()
