# SPDX-License-Identifier: Apache-2.0
"""
Generates the recording rules (rules.yml) for all derived metrics from the daemon's table; ../generate.py writes them.

A rule sums each part of the formula that is linear in its events over the CPUs that count all events of the formula in
one group.
"""
import re

WIDTH = 112
WINDOW = "5m"
# The base units that the daemon appends to names: for the kernel's clocks, and for events whose driver declares a unit.
UNITS = (
    (re.compile(r"(task|cpu)_clock"), "seconds"),
    (re.compile(r"energy_[a-z]+"), "joules"),
    (re.compile(r"(read|write)_bytes|bytes|total_rw_bytes|data_(reads?|writes?|total)|cas_count_(read|write)|read|write"),
     "bytes"),
)
SOFTWARE = set(("task_clock cpu_clock page_faults minor_faults major_faults context_switches cgroup_switches "
                "cpu_migrations alignment_faults emulation_faults").split())
TIMES = {"running_time": "group_running_seconds", "enabled_time": "group_enabled_seconds"}
SLOTS = "slots"
HAS_SLOTS = "and on (job, instance, pmu) perfcountd_pmu_slots"
BUSY = "busy_time"
BUSY_METRIC = "perfcountd_cpu_busy_seconds_total"
ON_CPU = "on (job, instance, cpu)"
TIMES_SLOTS = "* on (job, instance, pmu) group_left () perfcountd_pmu_slots"

# For each collector, the levels of aggregation and the labels that each level sums over.
LEVELS = {
    "cpu": (("instance", "cpu, pmu"), ("instance_pmu", "cpu")),
    "pmu": (("instance", "cpu, pmu"),),
    "cgroup": (("cgroup", "cpu, pmu"),),
}
UNIT_JOIN = "* on (job, instance, cgroup) group_left (unit, slice) perf_cgroup_info{unit!=\"\"}"
HEADER = """\
# SPDX-License-Identifier: Apache-2.0
# Recording rules for perfcountd: the derived metrics of each node, each kind of core, each cgroup and each unit.
# contrib/generate.py wrote this file: change the table of derived metrics (`perfcountd list-metrics`), or rules.py.
#
# A rule uses events of one group, which were counted at the same time, so the label `group` is kept. `and` selects the
# CPUs that count all of these events. There is no value if a divisor did not increase. If a metric has several formulas
# (`or`), the first one whose events are all in one group is used; kinds of core with different formulas have separate
# series in the instance_pmu rules. Each window must contain several scrapes; make it longer if the scrape interval
# exceeds a minute.
groups:
"""
# Recording rules for the rates of single events, which are not derived metrics.
RATES = {
    "cpu": (("instance:perf_cpu_context_switches:rate5m", "context_switches"),
            ("instance:perf_cpu_major_faults:rate5m", "major_faults")),
    "pmu": (),
    "cgroup": (("cgroup:perf_cgroup_context_switches:rate5m", "context_switches"),),
}
GROUPS = (("perfcountd_node", "cpu", ""), ("perfcountd_pmu", "pmu", ""),
          ("perfcountd_cgroup", "cgroup",
           "  # A cgroup's counts include those of the cgroups below it: never sum nested cgroups.\n"))


class Mistake(Exception):
    """A formula that cannot be converted to a rule."""


# --- formulas

def parse(text):
    """Parses a formula into a tree: a float, a name, or (sign, left, right)."""
    tokens = re.findall(r"[a-z][a-z0-9_]*|[0-9.]+|[-+*/()]|\S", text)

    def operand():
        token = tokens.pop(0)
        if token == "(":
            tree = chain("+-")
            if tokens.pop(0) != ")":
                raise Mistake("%s: a ) is missing" % text)
            return tree
        if token[0].isdigit():
            return float(token)
        if not token[0].isalpha():
            raise Mistake("%s: unexpected %s" % (text, token))
        return token

    def chain(signs):
        deeper = operand if signs == "*/" else lambda: chain("*/")
        tree = deeper()
        while tokens and tokens[0] in signs:
            tree = (tokens.pop(0), tree, deeper())
        return tree

    tree = chain("+-")
    if tokens:
        raise Mistake("%s: unexpected %s" % (text, tokens[0]))
    return tree


def names_of(tree):
    """Returns the distinct names in a tree, in order of appearance."""
    if isinstance(tree, tuple):
        left = names_of(tree[1])
        return left + [name for name in names_of(tree[2]) if name not in left]
    return [tree] if isinstance(tree, str) else []


def events_of(tree):
    return [name for name in names_of(tree) if name != SLOTS]


def is_factor(tree):
    """Returns whether a tree contains only numbers and `slots`."""
    return not events_of(tree)


def is_linear(tree):
    """Returns whether a tree is a sum of scaled rates, so that it can be summed over CPUs."""
    if not isinstance(tree, tuple):
        return isinstance(tree, str) and tree != SLOTS
    sign, left, right = tree
    if sign in "+-":
        return is_linear(left) and is_linear(right)
    return is_linear(left) and is_factor(right) or sign == "*" and is_factor(left) and is_linear(right)


def binds_weaker(sign, above):
    """Returns whether an operation needs parentheses as an operand of `above`, which ends with ")" for the right
    operand."""
    return above.endswith(")") or bool(above) and sign in "+-" and above in "*/"


def kind_of(name):
    """Returns the kind of an event: software and hardware events have different values of the label `pmu`."""
    return "software" if name in SOFTWARE else "hardware"


# --- layout: a document is a string; ("chain", [documents], [words between them]); or ("call", text before "(",
# document)

def flat(document):
    if isinstance(document, str):
        return document
    if document[0] == "call":
        return "%s(%s)" % (document[1], flat(document[2]))
    _, parts, words = document
    return flat(parts[0]) + "".join(" %s %s" % (word, flat(part)) for word, part in zip(words, parts[1:]))


def layout(document, indent):
    """Returns the lines of a document, wrapped if it is too wide."""
    line = flat(document)
    if len(line) + indent <= WIDTH or isinstance(document, str):
        return [" " * indent + line]
    if document[0] == "call":
        return [" " * indent + document[1] + "("] + layout(document[2], indent + 2) + [" " * indent + ")"]
    _, parts, words = document
    lines = layout(parts[0], indent)
    for word, part in zip(words, parts[1:]):
        more = layout(part, indent)
        lines += [" " * indent + word + " " + more[0].lstrip()] + more[1:]
    return lines


def chain_of(parts, words):
    return ("chain", parts, words) if len(parts) > 1 else parts[0]


# --- rules

def metric_of(collector, event):
    if event in TIMES:
        return "perf_%s_%s_total" % (collector, TIMES[event])
    unit = next((unit for pattern, unit in UNITS if pattern.fullmatch(event)), "")
    if event == unit or event.endswith("_" + unit):
        unit = ""
    return "perf_%s_%s%s_total" % (collector, event, "_" + unit if unit else "")


def regex_of(pattern):
    """Converts a glob to a Prometheus regular expression, which is anchored."""
    return re.sub(r"[.+()|^$]", lambda match: "\\\\" + match.group(), pattern).replace("*", ".*").replace("?", ".")


class Writer:
    """Writes the rules for one formula of one collector at one level."""

    def __init__(self, table, collector, formula, summed):
        self.collector = collector
        self.summed = summed
        self.spellings = table["spellings"]
        self.pmu = formula["pmu"]
        self.tree = parse(formula["formula"])
        self.names = names_of(self.tree)

    def rate(self, name):
        """Returns the expression for the rates of an event, under any of its names."""
        if name == BUSY:
            return "rate(%s[%s])" % (BUSY_METRIC, WINDOW)
        selector = "{pmu=~\"%s\"}" % regex_of(self.pmu) if self.pmu and kind_of(name) != "software" else ""
        rates = ["rate(%s%s[%s])" % (metric_of(self.collector, spelling), selector, WINDOW)
                 for spelling in [name] + self.spellings.get(name, [])]
        return ("call", "", chain_of(rates, ["or"] * (len(rates) - 1))) if len(rates) > 1 else rates[0]

    def row(self, tree, above=""):
        """Renders a linear tree or a factor for one group on one CPU; `above` is the operator that contains it."""
        if isinstance(tree, float):
            return "%g" % tree
        if isinstance(tree, str):
            return self.rate(tree)
        sign, left, right = tree
        if SLOTS in (left, right) and sign == "*":
            document = chain_of([self.row(right if left == SLOTS else left, "*"), ""], [TIMES_SLOTS])
        elif SLOTS in names_of(left) + names_of(right) and is_factor(tree):
            raise Mistake("slots must be a factor of an event: \"slots * cycles\"")
        else:
            document = chain_of([self.row(left, sign), self.row(right, sign + ")")], [sign])
        return ("call", "", document) if binds_weaker(sign, above) else document

    def present(self, tree, name):
        """Returns an `and` and its operand, which select the series of groups that also count this event."""
        if name == SLOTS:
            return HAS_SLOTS.split(" perfcountd")[0], "perfcountd_pmu_slots"
        if name == BUSY:
            return "and " + ON_CPU, self.rate(name)
        same = {kind_of(other) for other in events_of(tree)} == {kind_of(name)}
        return "and" if same else "and ignoring (pmu)", self.rate(name)

    def sum_busy(self):
        """Returns the expression for the busy time of the CPUs that count the event in a group."""
        others = [name for name in self.names if name != BUSY]
        if len(others) != 1 or self.collector != "cpu":
            raise Mistake("busy_time must divide a single event that CPUs count: \"cycles / busy_time\"")
        one = ("call", "", chain_of([self.rate(others[0]), "0"], [">= bool"]))
        row = chain_of([one, self.rate(BUSY)], ["* %s group_left ()" % ON_CPU])
        return ("call", "sum without (%s) " % self.summed, row)

    def sum(self, tree):
        """Returns the expression that sums a linear tree over CPUs; see is_linear()."""
        if tree == BUSY:
            return self.sum_busy()
        own = names_of(tree)
        # Every group has both running_time and enabled_time.
        rest = [self.present(tree, name) for name in self.names
                if name not in own and not (name in TIMES and set(own) & set(TIMES))]
        row = chain_of([self.row(tree)] + [rate for _, rate in rest], [word for word, _ in rest])
        return ("call", "sum without (%s) " % self.summed, row)

    def expression(self, tree, above=""):
        if isinstance(tree, float):
            return "%g" % tree
        if is_linear(tree) and len({kind_of(name) for name in events_of(tree)}) == 1:
            return self.sum(tree)
        if is_factor(tree) and SLOTS in names_of(tree):
            raise Mistake("slots must be a factor of an event: \"slots * cycles\"")
        if isinstance(tree, str):
            raise Mistake("%s cannot be summed over CPUs" % tree)
        sign, left, right = tree
        right_part = self.expression(right, sign + ")")
        if sign == "/" and not is_factor(right):
            right_part = ("call", "", chain_of([self.expression(right, "*"), "0"], [">"]))
        document = chain_of([self.expression(left, sign), right_part], [sign])
        return ("call", "", document) if binds_weaker(sign, above) else document

    def mixes(self):
        return len({kind_of(name) for name in events_of(self.tree)}) > 1

    def document(self):
        return self.expression(self.tree)


def rule_name(level, collector, metric):
    """Returns the name of a rule: LEVEL:METRIC:OPERATION."""
    name = metric["name"]
    if metric["unit"] != "ratio":
        return "%s:perf_%s_%s:rate5m" % (level, collector, name)
    return "%s:perf_%s_%s:ratio_rate5m" % (level, collector, re.sub("_ratio$", "", name))


def write_rule(name, document):
    line = flat(document)
    if len(line) + 14 <= WIDTH and not line.startswith(("{", "[", "\"")) and ": " not in line and " #" not in line:
        return "      - record: %s\n        expr: %s\n" % (name, line)
    lines = "\n".join(re.sub(" +$", "", line) for line in layout(document, 10))
    return "      - record: %s\n        expr: |\n%s\n" % (name, lines)


def metric_rules(table, collector, metric):
    rules = []
    for level, summed in LEVELS[collector]:
        writers = [Writer(table, collector, formula, summed) for formula in metric["formulas"]]
        # A formula with software events has no value for a kind of core.
        writers = [writer for writer in writers if level != "instance_pmu" or not writer.mixes()]
        documents = [writer.document() for writer in writers]
        if documents:
            rules.append(write_rule(rule_name(level, collector, metric),
                                    chain_of(documents, ["or"] * (len(documents) - 1))))
    if collector == "cgroup":
        rules.append(write_rule(rule_name("unit", collector, metric),
                                chain_of([rule_name("cgroup", collector, metric), ""], [UNIT_JOIN])))
    return rules


def comment_of(metric):
    return "      # %s Unit: %s.\n" % (metric["help"], metric["unit"]) if metric["unit"] != "ratio" else \
        "      # %s\n" % metric["help"]


def write_rules(table):
    parts = []
    for group, collector, comment in GROUPS:
        rules = []
        for metric in table["metrics"]:
            if collector in metric["collectors"]:
                rules += [comment_of(metric)] + metric_rules(table, collector, metric)
        for name, event in RATES[collector]:
            rules.append(write_rule(name, ("call", "sum without (cpu, pmu) ",
                                           "rate(%s[%s])" % (metric_of(collector, event), WINDOW))))
        if rules:
            parts.append("%s  - name: %s\n    rules:\n%s" % (comment, group, "".join(rules)))
    return HEADER + "\n".join(parts)


def read_rules(text):
    """Parses the output of write_rules() into the data structure that Prometheus reads from YAML."""
    groups = []
    for line in text.splitlines():
        word, _, rest = line.strip().partition(": ")
        if word == "- name":
            groups.append({"name": rest, "rules": []})
        elif word == "- record":
            groups[-1]["rules"].append({"record": rest, "expr": ""})
        elif word == "expr" and rest != "|":
            groups[-1]["rules"][-1]["expr"] = rest
        elif line.startswith(" " * 10):
            groups[-1]["rules"][-1]["expr"] += line[10:] + "\n"
    return {"groups": groups}
