# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of the live page: its bytes, the work until its first number is shown, the daemon's CPU time while
it is open, the requests while it is hidden, and how fast the flame graph is drawn during zooming.
"""
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import lib
import peers

METHOD = """\
A headless Chromium without a graphics processor draws the page of a daemon with its default configuration and the
sampler enabled. "Work" is CPU time: of all processes of the daemon, and of the page's main thread in the browser
(scripts, layout, painting), whose cache is empty. Each view is open for %g s; the daemon's CPU time meanwhile is
compared with that of one compressed scrape per second over one connection. The frames of the flame graph are measured
in %d zooms. The load average of the machine before the measurement was %.2g.
"""
SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
CONFIG = "sampler: {enabled: true, allow: everybody}\nweb: {local_operators: true}\n"
VIEWS = ("overview", "services", "profile", "health")


def asset_names():
    listed = subprocess.run([os.path.join(SOURCES, "web", "compile.sh"), "--list"], check=True, capture_output=True,
                            text=True).stdout.split()
    return ["/"] + ["/page/" + name for name in listed if name != "index.html"]


def bytes_on_the_wire(port):
    """Returns the bytes of all files that the page can load, and of their response headers."""
    bodies = heads = 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for path in asset_names():
        connection.request("GET", path, headers={"Accept-Encoding": "gzip", "Accept": "text/html, */*"})
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            sys.exit("%s: status %d" % (path, response.status))
        bodies += len(body)
        heads += len("HTTP/1.1 200 OK\r\n") + sum(len(name + value) + 4 for name, value in response.getheaders()) + 2
    connection.close()
    return bodies, heads


def scrape_each_second(daemon, seconds):
    """Scrapes the daemon once a second. Returns its CPU time per second, in seconds."""
    client = lib.Client(daemon.port)
    client.get(lib.GZIP)
    cpu, begin = daemon.processes.cpu(), time.monotonic()
    for n in range(int(seconds)):
        time.sleep(max(0.0, begin + n + 0.5 - time.monotonic()))
        client.get(lib.GZIP)
    time.sleep(max(0.0, begin + seconds - time.monotonic()))
    return (daemon.processes.cpu() - cpu) / seconds


def rest(daemon, seconds):
    cpu = daemon.processes.cpu()
    time.sleep(seconds)
    return (daemon.processes.cpu() - cpu) / seconds


class Browser:
    """Runs page.mjs and measures the daemon's CPU seconds between the marks that page.mjs writes."""

    def __init__(self, daemon, seconds, rounds):
        self.cpu, self.figures, self.firsts = {}, {}, {"first": [], "empty": []}
        command = ["node", os.path.join(SOURCES, "bench", "page.mjs"), "http://127.0.0.1:%d" % daemon.port,
                   str(seconds), str(rounds), *VIEWS]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                self.take(json.loads(line), daemon)
        if process.returncode:
            sys.exit("bench/page.mjs failed, see above")

    def take(self, line, daemon):
        now = daemon.processes.cpu()
        if "begin" in line:
            self.began = now
        elif "end" in line:
            self.cpu[line["end"]] = now - self.began
            if line["end"] in self.firsts:
                self.firsts[line["end"]].append({**line, "daemon": (now - self.began) * 1000})
        self.figures[line.get("figure") or line.get("end")] = line


    def first(self, name, figure):
        """Returns the median time until the first number is shown, in milliseconds. `figure` is "wall" for the elapsed
        time, "main" for the CPU time of the browser's main thread, "daemon" for that of the daemon."""
        return statistics.median(one[figure] for one in self.firsts[name])


def report_overview(table, point):
    table.heading("the overview with 64 CPUs, 500 cgroups and one hour")
    table.row("frames per second while the pointer moves", point["drawn"] / point["seconds"])
    table.row("main thread work per frame while the pointer moves", point["work"], "ms")


def report_graph(table, zoom):
    table.heading("the flame graph")
    table.row("frames drawn", zoom["frames"])
    # Other programs lower the frame rate, but do not change the work per frame.
    table.row("frames per second while zooming", zoom["drawn"] / zoom["seconds"])
    table.row("main thread work per frame while zooming", zoom["work"], "ms")
    table.row("layout and drawing, median", statistics.median(zoom["spent"]), "ms")
    table.row("layout and drawing, 95th percentile", sorted(zoom["spent"])[int(len(zoom["spent"]) * 0.95)], "ms")
    table.row("work for the first layout of %d nodes" % zoom["nodes"], zoom["layout"], "ms")


def report(table, wire, idle, scrape, browser, seconds):
    table.heading("the page")
    table.row("bytes of all files, compressed", wire[0])
    table.row("bytes of the response headers", wire[1])
    daemon, main = browser.first("first", "daemon"), browser.first("first", "main")
    table.row("work until the first number", daemon + main, "ms")
    table.row("    of the daemon", daemon, "ms")
    table.row("    of the browser", main, "ms")
    table.row("    of which a page with one number and no script",
              browser.first("empty", "main"), "ms")
    table.row("time until the first number", browser.first("first", "wall"), "ms")
    table.heading("the daemon's CPU time per second")
    table.row("no requests", idle * 1e6, "us")
    table.row("one scrape per second", scrape * 1e6, "us")
    for view in VIEWS:
        table.compare("%s view vs. one scrape per second" % view, browser.cpu[view] / seconds * 1e6,
                      scrape * 1e6, "us")
    table.row("requests by %d hidden views in %g s" % (len(VIEWS), seconds), browser.figures["hidden"]["value"])


def measure(arguments, table):
    if not shutil.which("node") or not (shutil.which("chromium") or shutil.which("google-chrome")):
        lib.skip("node or chromium is not installed; ./quickstart test installs them on Debian")
    installed = subprocess.run([os.path.join(SOURCES, "tests", "page", "install.sh")], stdout=sys.stderr)
    if installed.returncode:
        lib.skip("the packages of tests/page/package.json cannot be installed, see above")
    seconds, rounds = (10, 10)
    print(METHOD % (seconds, 2 * rounds, os.getloadavg()[0]))
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        daemon = peers.Perfcountd(arguments.build, directory, CONFIG)
        try:
            wire = bytes_on_the_wire(daemon.port)
            idle, scrape = rest(daemon, seconds), scrape_each_second(daemon, seconds)
            browser = Browser(daemon, seconds, rounds)
        finally:
            daemon.stop()
    report(table, wire, idle, scrape, browser, seconds)
    report_overview(table, browser.figures["point"])
    report_graph(table, browser.figures["zoom"])
