# SPDX-License-Identifier: Apache-2.0
"""The line of least squares, by which memory is judged here and in tests/vm/soak.py."""


def slope(points):
    """
    Of (x, y): the line of least squares: how y rises for 1 of x, and the standard error of that, which says how far the
    readings are from a line.
    """
    n = len(points)
    mean_x, mean_y = (sum(values) / n for values in zip(*points))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if n < 3 or spread == 0:
        return 0.0, float("inf")
    rise = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - rise * (x - mean_x)) ** 2 for x, y in points)
    return rise, (rest / (n - 2) / spread) ** 0.5
