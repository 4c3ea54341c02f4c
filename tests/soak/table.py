# SPDX-License-Identifier: Apache-2.0
"""Figures over time: a table that is printed as it grows, and how they rise in the second half."""
import statistics

from line import slope

PROCESSES = ["daemon", "opener", "symboliser", "reader"]
HEAD = "%8s %-5s %28s %5s %7s %8s %6s %8s %7s %7s  %s" % (
    "seconds", "", "anonymous kB: " + " ".join(name[:6] for name in PROCESSES), "files", "watches", "wakes/s", "quiet",
    "CPU ms/s", "scrapes", "series", "slowest")


class Column:
    """The readings of one daemon, one for each round."""

    def __init__(self, name):
        self.name, self.readings, self.quiet = name, [], []
        self.printed = 0

    def add(self, reading, quiet):
        self.readings.append(reading)
        self.quiet.append(quiet)

    def row(self, begin, scrapes, slowest):
        """Since the last row: medians of what there is, rates of what is used."""
        part = self.readings[self.printed:]
        first = self.readings[max(0, self.printed - 1)]
        seconds = max(part[-1].time - first.time, 1e-9)
        memory = " ".join("%6s" % middle(r.anonymous[name] for r in part if name in r.anonymous)
                          for name in PROCESSES)
        text = "%8.0f %-5s %28s %5s %7s %8.1f %6.1f %8.2f %7d %7d  %s" % (
            part[-1].time - begin, self.name, memory, middle(r.descriptors for r in part),
            middle(r.watches for r in part), (part[-1].wakeups - first.wakeups) / seconds,
            statistics.median(self.quiet[self.printed:]), (part[-1].cpu - first.cpu) * 1e3 / seconds,
            scrapes["count"], scrapes["series"], slowest)
        self.printed = len(self.readings)
        return text

    def last_half(self):
        middle_time = (self.readings[0].time + self.readings[-1].time) / 2
        return [reading for reading in self.readings if reading.time >= middle_time]

    def memory(self):
        """
        Of each process the most kB, and how they rise in the last half, at rest: kB an hour, with the standard error,
        and the rise by that line. A sampler that works has tables of what there is to sample.
        """
        half = self.last_half()
        hours = (half[-1].time - half[0].time) / 3600
        found = {}
        for name in PROCESSES:
            everything = [r.anonymous[name] for r in self.readings if name in r.anonymous]
            if not everything:
                continue
            found[name] = {"most": max(everything)}
            points = [(r.time / 3600, r.anonymous[name]) for r in half if r.at_rest and name in r.anonymous]
            if len(points) >= 3:
                rise, error = slope(points)
                found[name].update({"kB_an_hour": round(rise, 1), "error": round(error, 1),
                                    "rise_kB": round(rise * hours, 1), "least": min(y for _, y in points),
                                    "readings": [y for _, y in points]})
        return found

    def growth(self, what):
        """Of descriptors or watches: the median of the last quarter, less that of the second one."""
        quarter = len(self.readings) // 4
        values = [getattr(reading, what) for reading in self.readings]
        return statistics.median(values[-quarter or -1:]) - statistics.median(values[quarter:2 * quarter] or values[:1])

    def more_descriptors(self):
        """The descriptors at the end that were not there after a quarter of the time, by kind."""
        return dict(self.readings[-1].kinds - self.readings[len(self.readings) // 4].kinds)


def middle(values):
    values = list(values)
    return "%d" % statistics.median(values) if values else "-"
