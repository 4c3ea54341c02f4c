# SPDX-License-Identifier: Apache-2.0
"""Measures how long these take: the daemon's shutdown, scrapes during expensive requests and floods, scrapes with
passwords, the start of counting in new cgroups, and opening events through the opener."""
import base64
import contextlib
import json
import os
import re
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import lib

HERE = os.path.dirname(os.path.realpath(__file__))
SAMPLER = "sampler: {enabled: true, allow: local, event: cpu-clock}\n"
CGROUPS = """
web: {min_interval: 0s}
collectors:
  cpu: {enabled: false}
  cgroup: {engine: perf, include: ["%s"], groups: [{name: f, events: "{minor-faults,context-switches}"}]}
"""
# bcrypt of "secret", with the cost that the Prometheus exporters' manual recommends
PASSWORD = "basic_auth_users: {alice: $2y$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u}\n"
FLOODS = ("events", "silent", "drip", "refused", "wrong")
TAKES_CPU = ("events", "wrong")  # floods that use CPU: a scrape may wait for a kernel tick, see doc/comparison.md


class Daemon:
    def __init__(self, build, directory, config, web):
        self.port = lib.free_port()
        file = os.path.join(directory, "perfcountd-%d.yaml" % self.port)
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(config)
        self.process = subprocess.Popen(
            [os.path.join(build, "perfcountd"), "--config.file=" + file, "--log.level=error",
             "--web.listen-address=127.0.0.1:%d" % self.port] + (["--web.config.file=" + web] if web else []))
        self.processes = lib.Processes(self.process)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        sys.exit("the daemon did not start")

    def url(self, path):
        return "http://127.0.0.1:%d%s" % (self.port, path)

    def stop(self):
        lib.end(self.process)


def request(path, headers=""):
    return ("GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (path, headers)).encode()


def open_client(port, path):
    """Opens a connection and sends a request, but does not read the answer."""
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(request(path))
    return client


def latencies(client, count, pause=0.0):
    """Returns the time of each scrape in milliseconds, in ascending order."""
    found = []
    for _ in range(count):
        begin = time.monotonic()
        client.get()
        found.append((time.monotonic() - begin) * 1e3)
        time.sleep(pause)
    return sorted(found)


def seconds_to_end(daemon):
    begin = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)
    daemon.process.wait(60)
    return time.monotonic() - begin


def measure_end(table, start):
    daemon = start()
    waiting = open_client(daemon.port, "/api/v1/rates?seconds=60")
    time.sleep(0.5)
    table.row("shutdown with a waiting client", seconds_to_end(daemon), "s")
    waiting.close()
    daemon = start(SAMPLER)
    stuck = open_client(daemon.port, "/api/v1/samples?frequency=4000")
    time.sleep(3)
    table.row("shutdown with a stream that nobody reads", seconds_to_end(daemon), "s")
    stuck.close()
    daemon = start(SAMPLER)
    stuck = open_client(daemon.port, "/api/v1/samples?frequency=4000")
    time.sleep(3)
    daemon.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    table.row("shutdown by a second signal in this case", seconds_to_end(daemon), "s")
    stuck.close()


def measure_scrapes(table, start):
    daemon = start(SAMPLER)
    client = lib.Client(daemon.port)
    quiet = latencies(client, 300, 0.005)
    table.row("scrape, 99th percentile of 300", quiet[296], "ms")
    waiting = [open_client(daemon.port, "/api/v1/rates?seconds=3") for _ in range(10)]
    table.row("scrape while ten clients wait for rates, slowest of 50", latencies(client, 50)[-1], "ms")
    for one in waiting:
        one.close()
    stuck = open_client(daemon.port, "/api/v1/samples?frequency=4000&seconds=60")
    read = subprocess.Popen(["curl", "-sN", "-o", "/dev/null", daemon.url("/api/v1/samples?frequency=4000&seconds=60")])
    table.row("scrape during two streams, 99th percentile of 300", latencies(client, 300, 0.02)[296], "ms")
    read.kill()
    read.wait()
    stuck.close()


def measure_new_cgroups(table, start, count):
    """Measures how long it takes until the daemon has descriptors for the counters of a new cgroup, without a
    scrape."""
    cgroups = lib.Cgroups(0)
    daemon = start(CGROUPS % (cgroups.below + "/*"))
    each = 2 * os.cpu_count()
    delays = []
    try:
        for number in range(count):
            before = lib.perf_events(daemon.process.pid)
            name = "%s/new-%d" % (cgroups.below, number)
            begin = time.monotonic()
            os.mkdir(cgroups.root + name)
            cgroups.names.append(name)
            while lib.perf_events(daemon.process.pid) < before + each and time.monotonic() < begin + 5:
                pass
            delays.append((time.monotonic() - begin) * 1e3)
    finally:
        daemon.stop()
        cgroups.remove()
    table.row("time until a new cgroup is counted, slowest of %d" % count, max(delays), "ms")


def measure_first_work(table, start, directory, count):
    """Measures how much of the work of new cgroups is counted if it begins at once, compared with a program that only
    opens counters; see cgroup-start.c."""
    program, figures = os.path.join(directory, "cgroup-start"), os.path.join(directory, "figures")
    subprocess.run(["cc", "-O2", "-o", program, os.path.join(HERE, "cgroup-start.c")], check=True)
    cgroups = lib.Cgroups(0)
    own = cgroups.below + "/daemon"
    cgroups.names = [own, cgroups.below + "/bare"]
    for made in cgroups.directories():
        os.mkdir(made)
    daemon = start("web: {min_interval: 0s}\ncollectors:\n  cpu: {enabled: false}\n  cgroup: {engine: perf, "
                   "include: ['%s', '%s/*'], linger: 1h, max_cgroups: 2000}\n" % (own, own))
    try:
        subprocess.run([sys.executable, os.path.join(HERE, "cgroup-start.py"), "--program", program, "--hierarchy",
                        cgroups.root, "--below", cgroups.below, "--url", daemon.url(""), "--cgroups", str(count),
                        "--file", figures], check=True)
    finally:
        daemon.stop()
        cgroups.remove()
    with open(figures, encoding="utf-8") as file:
        found = json.load(file)
    table.compare("time to first counted event if work starts at once", found["rows"]["0 ms"]["first"][1],
                  found["rows"]["0 ms, bare program"]["first"][1], "ms")
    table.row("cgroups counted in full if work starts after 5 ms", found["rows"]["5 ms"]["full"] / count)
    table.row("events of the children missing from the parent", abs(1 - found["parent"] / found["caused"]))


def tls_times(port, ca, count, user):
    """Returns the times of scrapes over one TLS connection, in milliseconds."""
    context = ssl.create_default_context(cafile=ca)
    headers = "Authorization: Basic %s\r\n" % base64.b64encode(("%s:secret" % user).encode()).decode()
    found = []
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost") as client:
        for _ in range(count):
            begin = time.monotonic()
            client.sendall(request("/metrics", headers))
            data = b""
            while b"\r\n\r\n" not in data:
                data += client.recv(65536)
            head, body = data.split(b"\r\n\r\n", 1)
            left = int(re.search(rb"content-length: *(\d+)", head, re.I)[1]) - len(body)
            while left > 0:
                left -= len(client.recv(65536))
            found.append((time.monotonic() - begin) * 1e3)
    return found


def make_certificate(directory):
    name = os.path.join(directory, "server")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                    name + ".key", "-out", name + ".pem"], check=True, stderr=subprocess.DEVNULL)
    return name


def measure_passwords(table, start, directory):
    name = make_certificate(directory)
    web = os.path.join(directory, "web.yml")
    with open(web, "w", encoding="utf-8") as file:
        file.write(PASSWORD + "auth_excluded_paths: [/-/ready]\n"
                   "tls_server_config: {cert_file: %s.pem, key_file: %s.key}\n" % (name, name))
    daemon = start(web=web)
    known = statistics.median(tls_times(daemon.port, name + ".pem", 21, "alice")[1:])
    # Each attempt uses another user name, since wrong passwords are cached too.
    unknown = min(tls_times(daemon.port, name + ".pem", 1, "carol%d" % n)[0] for n in range(5))
    table.row("scrape over TLS with a known password", known, "ms")
    table.compare("scrape over TLS, known vs. unknown password", known, unknown, "ms")


def flood_figures(daemon, kind, rounds):
    password = "secret" if kind in ("refused", "wrong") else ""
    output = subprocess.run([sys.executable, os.path.join(HERE, "flood.py"), "127.0.0.1", str(daemon.port), kind,
                             password, str(rounds), "1"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: float(value) for name, value in map(str.split, output.splitlines())}


def most_memory(daemon, ends):
    most = 0
    while not ends.wait(0.05):
        most = max(most, sum(daemon.processes.memory("Rss")))
    daemon.most = most


def measure_floods(table, start, directory, rounds):
    """Compares the 99th percentile of scrape times during a flood with that without one. Half a millisecond is
    subtracted, since virtual machines occasionally lose that much; for floods that use CPU, a kernel tick."""
    web = os.path.join(directory, "flood.yml")
    with open(web, "w", encoding="utf-8") as file:
        file.write(PASSWORD + "auth_excluded_paths: [/-/ready]\n")
    tick = 1e6 * time.clock_getres(6)  # CLOCK_MONOTONIC_COARSE
    for kind in FLOODS:
        daemon = start(web=web if kind in ("refused", "wrong") else None)
        before, ends = sum(daemon.processes.memory("Rss")), threading.Event()
        watcher = threading.Thread(target=most_memory, args=(daemon, ends))
        watcher.start()
        figures = flood_figures(daemon, kind, rounds)
        ends.set()
        watcher.join()
        daemon.stop()
        lost = tick if kind in TAKES_CPU else 500
        for name in "new", "kept":
            flooded = max(figures["%s_flooded_p99_us" % name] - lost, 1)
            table.compare("scrape over a %s connection, %s flood" % (name, kind), flooded / 1e3,
                          figures["%s_quiet_p99_us" % name] / 1e3, "ms")
        if kind == "wrong":
            table.row("memory used by the connections of this flood", daemon.most - before, "MB")


def measure(arguments, table):
    if os.geteuid() != 0:
        lib.skip("only root can count cgroups and sample")
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        os.chmod(directory, 0o755)

        def start(config="", web=None):
            daemon = Daemon(arguments.build, directory, config, web)
            stack.callback(daemon.stop)
            return daemon

        measure_end(table, start)
        measure_scrapes(table, start)
        measure_new_cgroups(table, start, 50)
        measure_first_work(table, start, directory, 300)
        measure_passwords(table, start, directory)
        measure_floods(table, start, directory, 5)
        output = subprocess.run([os.path.join(arguments.build, "bench", "bench-opener"), "2000", "5"], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        direct, split = (float(value) for value in re.findall(r"([\d.]+) us", output))
        table.compare("opening an event through the opener", split, direct, "us")
