# SPDX-License-Identifier: Apache-2.0
"""Right clients ask for more than scrapes: a function for each kind, which raises a Complaint at a wrong reply."""
import gzip
import json
import os
import signal
import threading
import time
import urllib.parse

from clients import Complaint, reset
from plan import BROKEN

STREAMS = 4  # at once of a daemon, which takes 8
DOCUMENTS = ["/", "/api/v1/status", "/api/v1/config", "/api/v1/cgroups", "/api/v1/counters?container=*", "/api/v1/pmus",
             "/api/v1/metrics", "/api/v1/counters?collector=cgroup", "/-/healthy", "/-/ready",
             "/api/v1/counters?cgroup=%2Fperf*&collector=cgroup", "/metrics?collect[]=cgroup"]
RATES = ["", "&collector=cpu", "&cpu=0", "&cgroup=**&collector=cgroup"]
ENDS = {"seconds", "max", "reload", "the process has ended", "the cgroup has been removed"}


class Loads:
    """The actions on one daemon."""

    def __init__(self, target, watcher, configurations, machine):
        self.target, self.watcher, self.configurations, self.machine = target, watcher, configurations, machine
        self.reloading = threading.Lock()
        self.streams = threading.Semaphore(STREAMS)
        self.variant = configurations.base()
        self.reloads, self.refusing = 0, 0.0

    # --- documents

    def document(self, choice):
        self.ask_document(choice.choice(DOCUMENTS), choice)

    def catalogue(self, choice):
        self.ask_document("/api/v1/events", choice)

    def ask_document(self, path, choice):
        headers = choice.choice([{}, {"Accept-Encoding": "gzip"}, {"Accept": "*/*"}])
        status, body = self.target.ask(path, choice.choice(["GET", "GET", "GET", "HEAD"]), headers)
        if status != 200:
            raise Complaint("%s: status %d: %s" % (path, status, body[:200]))

    def rates(self, choice):
        seconds = choice.choice([0.05, 0.3, 1, 2])
        document = json.loads(self.target.get("/api/v1/rates?seconds=%g%s" % (seconds, choice.choice(RATES))))
        if not seconds - 0.01 <= document["seconds"] < seconds + 10:
            raise Complaint("rates over %g seconds took %s" % (seconds, document["seconds"]))
        for entry in document["rates"]:
            for event, rate in entry["events"].items():
                if rate is not None and rate < 0:
                    raise Complaint("a rate below zero: %s %s" % (event, entry))

    # --- samples

    def stream_query(self, choice):
        query = {"seconds": choice.choice(["0.2", "0.5", "1", "3"])}
        if choice.random() < 0.5:
            query["frequency"] = str(choice.choice([19, 199, 997, 2999]))
        if choice.random() < 0.3:
            query["event"] = choice.choice(["cpu-clock", "context-switches", "page-faults", "cpu-clock:u"])
        scope = choice.random()
        if scope < 0.15:
            query["cpu"] = "0"
        elif scope < 0.3:
            query["cgroup"] = self.machine.a_cgroup(choice)
        elif scope < 0.5:
            query["pid"] = str(self.machine.a_process(choice))
        return query

    def stream(self, path, query):
        """The body, or None for a refusal that has its reason."""
        path += "?" + urllib.parse.urlencode(query)
        with self.streams:
            begin = time.monotonic()
            status, body = self.target.ask(path)
        if status == 404 and ("pid" in query or "cgroup" in query):
            return None
        if status == 403 and (not self.variant.samples or self.refusing > begin):
            return None
        if status != 200:
            raise Complaint("%s: status %d: %s" % (path, status, body[:300]))
        return body

    def samples(self, choice):
        query = self.stream_query(choice)
        if choice.random() < 0.3:
            query["max"] = str(choice.choice([1, 10, 1000]))
        body = self.stream("/api/v1/samples", query)
        if body is None:
            return
        lines = [json.loads(line) for line in body.splitlines()]
        if lines[0]["type"] != "header" or lines[-1]["type"] != "end" or lines[-1]["reason"] not in ENDS:
            raise Complaint("a stream of samples (%s) begins %s and ends %s" % (query, lines[0]["type"], lines[-1]))

    def perf_data(self, choice):
        body = self.stream("/api/v1/perf.data", self.stream_query(choice))
        if body is not None and not body.startswith(b"PERFILE2"):
            raise Complaint("perf.data begins %r" % body[:16])

    def folded(self, choice):
        body = self.stream("/api/v1/folded", self.stream_query(choice))
        for line in (body or b"").decode().splitlines():
            if not line.startswith("#") and not line.rpartition(" ")[2].isdigit():
                raise Complaint("a line of folded stacks: %r" % line)

    def profile(self, choice):
        body = self.stream("/debug/pprof/profile", self.stream_query(choice))
        if body is not None and b"samples" not in gzip.decompress(body):
            raise Complaint("a profile without its type of values")

    # --- clients that go, and slow ones

    def abort(self, choice):
        """In the middle of a reply or a stream."""
        path = choice.choice(["/api/v1/samples?seconds=5&frequency=997", "/api/v1/perf.data?seconds=5", "/metrics",
                              "/debug/pprof/profile?seconds=5", "/api/v1/folded?seconds=5", "/api/v1/rates?seconds=5",
                              "/api/v1/counters", "/api/v1/events"])
        with self.streams:
            connected = self.target.secured(self.target.socket())
            connected.sendall(("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path).encode())
            time.sleep(choice.choice([0, 0.002, 0.1, 0.7]))
            if choice.random() < 0.5:
                connected.settimeout(0.3)
                try:
                    connected.recv(choice.choice([1, 100, 10000]))
                except OSError:
                    pass
            (reset if choice.random() < 0.5 else type(connected).close)(connected)
            time.sleep(0.2)  # until its place is free again

    def slow_reader(self, choice):
        """Some bytes at a time, for as long as it likes; then the rest."""
        query = {"seconds": "1.5", "frequency": "2999"}
        with self.streams, self.target.response("/api/v1/samples?" + urllib.parse.urlencode(query)) as response:
            for _ in range(15):
                response.read(choice.randrange(1, 2000))
                time.sleep(0.1)
            rest = response.read()
        if response.status == 200 and b'"type":"end"' not in rest:
            raise Complaint("the stream of a slow client has no end: %r" % rest[-200:])

    # --- operators

    def pause(self, choice):
        with self.reloading:  # what a pause and a reload say of each other would be two things at once
            self.ask_operator("POST", "/api/v1/pause?seconds=%d" % choice.choice([1, 2]))
            time.sleep(choice.choice([0, 0.3, 0.8]))
            if choice.random() < 0.7:
                self.ask_operator("DELETE", "/api/v1/pause")

    def ask_operator(self, method, path):
        status, body = self.target.ask(path, method)
        if status != 200:
            raise Complaint("%s %s: status %d: %s" % (method, path, status, body[:200]))

    def write_config(self, text):
        with open(self.target.config + ".new", "w") as file:
            file.write(text)
        os.chmod(self.target.config + ".new", 0o644)
        os.replace(self.target.config + ".new", self.target.config)

    def load_config(self, by_signal, expected):
        """By a signal there is no reply: the status then says that it is done."""
        self.reloads += 1
        before = self.last_reload()
        if not by_signal:
            status, body = self.target.ask("/-/reload", "POST")
            if (status == 200) != expected or status not in (200, 400):
                raise Complaint("a reload that is %s: status %d: %s" % (
                    "right" if expected else "wrong", status, body[:300]))
            return
        os.kill(self.target.pid, signal.SIGHUP)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            successful, when = self.last_reload()
            if successful == expected and (not expected or when > before[1]):
                return
            time.sleep(0.02)
        raise Complaint("SIGHUP: the status has no %s reload" % ("successful" if expected else "failed"))

    def last_reload(self):
        status = json.loads(self.target.get("/api/v1/status"))
        return status["config_last_reload_successful"], status["config_last_reload_success_time"]

    def use(self, variant, by_signal):
        self.watcher.order("announce", time.time(), "|".join(
            pattern for pattern in (self.variant.restarts, variant.restarts) if pattern) or r"(?!)")
        self.write_config(variant.text)
        was, self.variant = self.variant, variant
        self.load_config(by_signal, True)
        if not was.samples:
            self.refusing = time.monotonic()

    def reload(self, choice):
        with self.reloading:
            self.use(self.configurations.other(choice), choice.random() < 0.5)

    def broken_reload(self, choice):
        """The configuration in force stays, whatever the file says."""
        with self.reloading:
            self.write_config(choice.choice(BROKEN))
            self.load_config(choice.random() < 0.5, False)
            self.use(self.variant, choice.random() < 0.5)

    def back_to_base(self, _):
        with self.reloading:
            self.use(self.configurations.base(), False)
            self.ask_operator("DELETE", "/api/v1/pause")
