# SPDX-License-Identifier: Apache-2.0
"""No total falls: what earlier scrapes of a daemon had of each series, by its labels, in whatever format."""
import re

LINE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
FORGET = 120  # seconds after which a series that is not there any more is forgotten
SLACK = 2  # seconds between the announcement of a reload and its effect


def series_key(name, labels):
    return name + "{" + ",".join('%s="%s"' % item for item in sorted(labels)) + "}"


class Page:
    """The totals of a scrape, and when its series were created."""

    def __init__(self):
        self.totals, self.created, self.failed, self.series = {}, {}, [], 0


class Reader:
    """Turns pages into totals; it remembers the keys of the lines that it has seen."""

    def __init__(self):
        self.keys = {}

    def key(self, name, labels):
        text = name, labels
        if text not in self.keys:
            if len(self.keys) > 20000:
                self.keys.clear()
            self.keys[text] = series_key(name, LABEL.findall(labels or ""))
        return self.keys[text]

    def read_text(self, text):
        page = Page()
        for line in text.splitlines():
            match = LINE.match(line)
            if not match:
                continue
            page.series += 1
            name, labels, value = match.groups()
            if name.endswith("_total"):
                page.totals[self.key(name, labels)] = float(value)
            elif name.endswith("_created"):
                page.created[self.key(name[:-len("_created")] + "_total", labels)] = float(value)
            elif name == "perfcountd_process_start_time_seconds":  # a process of the daemon's that began again
                page.created[self.key("perfcountd_process_cpu_seconds_total", labels)] = float(value)
            elif name == "perfcountd_collector_success" and value != "1":
                page.failed.append(labels)
        return page

    def read_counters(self, document):
        page = Page()
        for counter in document["counters"]:
            page.series += 1
            if counter["collector"] == "self" or counter["value"] is None:
                continue
            unit = "_" + counter["unit"] if counter["unit"] else ""
            labels = [(name, str(counter[name])) for name in ("cgroup", "cpu", "pmu", "group") if name in counter]
            page.totals[series_key("perf_%s_%s%s_total" % (counter["collector"], counter["event"], unit), labels)] = \
                float(counter["value"])
        return page


class Totals:
    """
    The last value of each series, and when it was seen. A series falls unless its _created is later than that, or a
    reload meanwhile may have removed it. Where a format has no _created, the next OpenMetrics scrape decides.
    """

    def __init__(self):
        self.last = {}  # by key: value, the time its scrape began
        self.reloads = []  # time, pattern
        self.doubtful = {}  # by key: what they were, when that was seen, what they became
        self.falls, self.restarts, self.undecided, self.compared = [], 0, 0, 0

    def announce(self, now, pattern):
        """From now on, series that match may be removed by a reload, and begin again."""
        self.reloads = [(when, known) for when, known in self.reloads if when > now - FORGET]
        self.reloads.append((now, re.compile(pattern)))

    def may_restart(self, key, seen):
        # Keys have their labels sorted; the patterns name one label at most, or two in that order.
        return any(when > seen - SLACK and pattern.search(key) for when, pattern in self.reloads)

    def take(self, page, now, decides):
        """`now` is when the scrape began; `decides`: it has _created."""
        if decides:
            self.decide(page)
        for key, value in page.totals.items():
            before, seen = self.last.get(key, (0.0, now))
            self.compared += 1
            if value < before:
                self.fell(key, before, seen, value, page if decides else None)
            self.last[key] = value, now
        for key in [key for key, (_, seen) in self.last.items() if seen < now - FORGET]:
            del self.last[key]

    def fell(self, key, before, seen, value, page):
        if self.may_restart(key, seen):
            self.restarts += 1
        elif page is None:
            self.doubtful.setdefault(key, (before, seen, value))
        else:
            self.judge(key, before, seen, value, page)

    def decide(self, page):
        for key, (before, seen, value) in self.doubtful.items():
            if key in page.totals:
                self.judge(key, before, seen, value, page)
            else:
                self.undecided += 1
        self.doubtful = {}

    def judge(self, key, before, seen, value, page):
        created = page.created.get(key)
        if created is not None and created > seen - 0.002:  # it is written in milliseconds
            self.restarts += 1
        else:
            self.falls.append("%s fell from %.9g to %.9g%s" % (
                key, before, value, "" if created is None else ", created %.3f s before it was seen last" %
                (seen - created)))
