# SPDX-License-Identifier: Apache-2.0
"""Measures a fleet on this machine: many daemons on simulated boards (simulated-board.c), and one VictoriaMetrics that
scrapes them. Measures the cost of scrapes and daemons, the size of the stored samples, and the time of the queries of
the Fleet dashboard, and checks that the rules find the slow board and that an upgrade loses no scrape.
"""
import glob
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import lib

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "contrib"))
from promql import panels_of, replaced  # noqa: E402

INTERVAL = 5  # seconds between scrapes
SLOW = 7  # the deliberately slow board
IPC, SLOW_IPC = 110, 60  # instructions per 100 cycles
PER_USER = 60  # daemons per user, who may have 128 inotify instances (fs.inotify.max_user_instances)
FIRST_USER = 40000
UPGRADED = 20

class Board:
    """A simulated board. This program keeps the listening socket, as systemd does for a socket unit, so that a new
    daemon takes over the connections that wait in it."""

    def __init__(self, number, program):
        self.name = "board%03d" % number
        self.ipc = SLOW_IPC if number == SLOW else IPC + number % 5
        self.user = FIRST_USER + number // PER_USER
        self.program = program
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.start()

    def start(self):
        script = 'exec 3<&$1; shift; exec env LISTEN_PID=$$ "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", str(self.listener.fileno()), self.program, "--log.level=error"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=self.user,
            env={**os.environ, "LISTEN_FDS": "1", "SIMULATED_IPC": str(self.ipc)}, pass_fds=(self.listener.fileno(),))

    def upgrade(self):
        """Restarts the daemon as systemd does: the old process ends before the new one starts."""
        self.process.terminate()
        self.process.wait()
        self.start()

    def cpu_seconds(self):
        with open("/proc/%d/stat" % self.process.pid) as stat:
            return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        with open("/proc/%d/smaps_rollup" % self.process.pid) as file:
            return int(re.search(r"^Pss_Anon: *(\d+) kB", file.read(), re.M)[1]) * 1024

    def stop(self):
        lib.end(self.process)
        self.listener.close()


class Engine:
    """VictoriaMetrics, and vmalert with the rules of contrib/prometheus."""

    def __init__(self, directory, boards):
        scrape = os.path.join(directory, "scrape.yml")
        with open(scrape, "w") as file:
            json.dump({"global": {"scrape_interval": "%ds" % INTERVAL}, "scrape_configs": [
                {"job_name": "perfcountd", "static_configs": [
                    {"targets": [board.address], "labels": {"instance": board.name}} for board in boards]}]}, file)
        self.port, self.alert_port = lib.free_port(), lib.free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        self.data = os.path.join(directory, "data")
        self.started = [self.run(["victoria-metrics", "-httpListenAddr=127.0.0.1:%d" % self.port, "-retentionPeriod=1d",
                                  "-storageDataPath=" + self.data, "-promscrape.config=" + scrape,
                                  "-search.latencyOffset=1s"])]
        self.wait_for(self.url + "/health")
        rules = ["-rule=" + path for path in glob.glob(os.path.join(ROOT, "contrib", "prometheus", "*.yml"))
                 if os.path.basename(path) in ("rules.yml", "alerts.yml")]
        self.started.append(self.run(
            ["vmalert", "-httpListenAddr=127.0.0.1:%d" % self.alert_port, "-datasource.url=" + self.url,
             "-remoteWrite.url=" + self.url, "-remoteRead.url=" + self.url, "-evaluationInterval=15s",
             "-notifier.url=" + self.url, *rules]))
        self.wait_for("http://127.0.0.1:%d/health" % self.alert_port)

    def run(self, command):
        with open(os.path.join(os.path.dirname(self.data), os.path.basename(command[0]) + ".log"), "w") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_for(self, url):
        for _ in range(600):
            try:
                urllib.request.urlopen(url)
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("%s does not answer" % url)

    def ask(self, path, **parameters):
        with urllib.request.urlopen("%s/api/v1/%s?%s" % (self.url, path, urllib.parse.urlencode(parameters))) as reply:
            return json.load(reply)["data"]["result"]

    def number(self, expression, at=None):
        found = self.ask("query", query=expression, nocache=1, **({"time": at} if at else {}))
        return float(found[0]["value"][1]) if found else float("nan")

    def own(self, metric):
        with urllib.request.urlopen(self.url + "/metrics") as reply:
            text = reply.read().decode()
        return sum(float(value) for value in re.findall(r"^%s(?:\{[^}]*\})? (\S+)$" % metric, text, re.M))

    def stop(self):
        for process in reversed(self.started):
            lib.end(process)


def measure_panels(table, engine, seconds):
    """Runs each query of the dashboard over the whole measurement, as Grafana does if all variables are set to All."""
    with open(os.path.join(ROOT, "contrib", "grafana", "fleet.json")) as file:
        dashboard = json.load(file)
    values = {variable["name"]: variable.get("allValue") or ".+" for variable in dashboard["templating"]["list"]}
    values.update({"__rate_interval": "%ds" % (4 * INTERVAL), "__interval": "%ds" % INTERVAL, "__range": "%ds" % seconds})
    took = []
    end = time.time()
    for panel in panels_of(dashboard):
        for target in panel.get("targets", []):
            expression = replaced(target["expr"], values)
            begin = time.monotonic()
            if target.get("instant"):
                engine.ask("query", query=expression, time=end, nocache=1)
            else:
                engine.ask("query_range", query=expression, start=end - seconds, end=end, step=INTERVAL, nocache=1)
            took.append((time.monotonic() - begin, panel["title"]))
    print("%d queries of the Fleet dashboard over %d s; the slowest is in \"%s\"" % (len(took), seconds, max(took)[1]))
    table.row("slowest query of the Fleet dashboard", 1000 * max(took)[0], "ms")


def lost_scrapes(engine, seconds):
    return engine.number("sum(count_over_time(up[%ds])) - sum(sum_over_time(up[%ds]))" % (seconds, seconds))


def measure_upgrade(table, engine, boards):
    begin = time.time()
    for board in boards[:UPGRADED]:
        board.upgrade()
    print("%d boards were upgraded in %.1f s" % (UPGRADED, time.time() - begin))
    time.sleep(3 * INTERVAL)
    table.row("scrapes lost while 20 boards are upgraded", lost_scrapes(engine, int(time.time() - begin) + INTERVAL))


def add_options(parser):
    parser.add_argument("--boards", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=600)


def measure(arguments, table):
    if os.geteuid() != 0:
        lib.skip("only root can start daemons as several users")
    os.environ["PATH"] += ":" + os.path.join(ROOT, "build", "tools", "usr", "bin")
    for program in ("victoria-metrics", "vmalert"):
        if not shutil.which(program):
            lib.skip("%s is not installed: ./quickstart test --only=e2e/fleet-push unpacks it" % program)
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        program = shutil.copy(os.path.join(arguments.build, "bench", "simulated-board"), directory)
        boards, engine = [], None
        try:
            for number in range(arguments.boards):
                boards.append(Board(number, program))
            engine = Engine(directory, boards)
            measure_fleet(table, engine, boards, arguments.seconds)
        finally:
            if engine:
                engine.stop()
            for board in boards:
                board.stop()


def measure_fleet(table, engine, boards, seconds):
    time.sleep(4 * INTERVAL)
    before = [board.cpu_seconds() for board in boards]
    engine_before = lib.Processes(engine.started[0]).cpu()
    time.sleep(seconds)
    used = [1000 * (board.cpu_seconds() - start) / seconds * INTERVAL for board, start in zip(boards, before)]
    table.row("scraped boards", engine.number("count(up == 1)"))
    table.row("scrapes lost", lost_scrapes(engine, seconds))
    table.row("scrape duration, 99th percentile", 1000 * engine.number(
        "quantile(0.99, quantile_over_time(0.99, scrape_duration_seconds[%ds]))" % seconds), "ms")
    print("series per board: %.0f" % engine.number("avg(scrape_samples_scraped)"))
    table.row("CPU time per scrape, simulated board included", statistics.median(used), "ms")
    table.row("memory per daemon, simulated board included",
              statistics.median(board.memory() for board in boards) / 1e6, "MB")
    samples = engine.own("vm_rows_inserted_total")
    print("VictoriaMetrics: %.2f of a core, %.0f MB, %.0f samples a second" % (
        (lib.Processes(engine.started[0]).cpu() - engine_before) / seconds,
        engine.own("process_resident_memory_bytes") / 1e6, samples / (seconds + 4 * INTERVAL)))
    table.row("bytes per sample on disk", engine.own("vm_data_size_bytes") / max(engine.own("vm_rows"), 1), "B")
    measure_panels(table, engine, seconds)
    named = {series["metric"]["instance"] for series in engine.ask("query", query="instance:perfcountd_board:unlike")}
    print("boards named by the rules: %s" % " ".join(sorted(named)))
    table.row("boards named without cause", len(named - {boards[SLOW].name}))
    table.row("the slow board is named", len(named & {boards[SLOW].name}))
    measure_upgrade(table, engine, boards)
