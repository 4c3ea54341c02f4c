#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The judges of a soak notice what they are for: a leak in the noise, and a total that falls."""
import collections
import random
import types

from plan import rounds_left
from table import Column
from totals import Reader, Totals


def slope_of(leak_kb_an_hour):
    """The slope that is found in an hour of readings with noise of 30 kB, and its error."""
    noise, column = random.Random(1), Column("made")
    for number in range(360):
        at_rest = rounds_left(number) == 1
        memory = 5000 + leak_kb_an_hour * number / 360 + noise.gauss(0, 30) + (0 if at_rest else 3 * number)
        column.add(types.SimpleNamespace(time=10.0 * number, anonymous={"daemon": memory}, descriptors=50, watches=4,
                                         kinds=collections.Counter(), at_rest=at_rest), 0)
    found = column.memory()["daemon"]
    return found["kB_an_hour"], found["error"]


def falls(*pages):
    """How many falls are found in pages that are scraped one second after the other."""
    reader, totals = Reader(), Totals()
    for second, (page, is_openmetrics) in enumerate(pages):
        totals.take(reader.read_text(page), 1000.0 + second, is_openmetrics)
    return len(totals.falls)


def main():
    slope, error = slope_of(0)
    assert slope - 2 * error <= 50 and error <= 100, (slope, error)
    slope, error = slope_of(400)
    assert slope - 2 * error > 50, (slope, error)
    assert falls(("a_total{x=\"1\"} 5", True), ("a_total{x=\"1\"} 5", True)) == 0
    assert falls(("a_total{x=\"1\"} 5", True), ("a_total{x=\"1\"} 4", True)) == 1
    # It is decided by the next page that has _created: newer than what was seen, or not.
    assert falls(("a_total 5", False), ("a_total 4", False), ("a_total 4\na_created 1000.5", True)) == 0
    assert falls(("a_total 5", False), ("a_total 4", False), ("a_total 4\na_created 900", True)) == 1
    assert falls(("a_total 5", False), ("", False), ("a_total 4", False), ("a_total 4", True)) == 1


if __name__ == "__main__":
    main()
