#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Exposes daemons, which run.sh has started, to a random mix of actions by clients (requests, reloads) and on the
machine (containers, cgroups, programs).

usage: soak.py ROUNDS SEED MACHINE TARGET...

MACHINE is HIERARCHY:BELOW:SCRATCH:LOAD:PROGRAM:DOCKER, and TARGET is ENGINE:PID:PORT:CONFIG:CA.

A round consists of actions of each kind, twelve at a time; the seed determines their order and parameters. After the
round every daemon gets its first configuration again, and must return to the cgroups, descriptors and watches that it
had after the first round. The first round is a warm-up, in which libraries are loaded and helpers are started.
"""
import concurrent.futures
import contextlib
import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

from clients import BAD, Complaint, Scraper, Target, check_judge, eventually, reset

AT_ONCE = 12
STREAMS = 4  # simultaneous streams per daemon, which accepts up to 8
# Kinds of actions, and how many of each a round has: per daemon, and for the machine.
OF_DAEMON = {"document": 4, "rates": 2, "stream": 4, "abort": 2, "slow_reader": 1, "bad_requests": 1, "garbage": 1,
             "half_open": 1, "reload": 2, "broken_reload": 1, "pause": 1}
OF_MACHINE = {"cgroups": 3, "container": 2, "programs": 2}
DOCUMENTS = ["/", "/api/v1/status", "/api/v1/config", "/api/v1/cgroups", "/api/v1/counters?container=*", "/api/v1/pmus",
             "/api/v1/metrics", "/api/v1/events", "/-/healthy", "/-/ready", "/metrics?collect[]=cgroup",
             "/api/v1/counters?cgroup=%2Fperf*&collector=cgroup"]
EXACT = ("perf_event", "bpf", "watches")  # the number of these descriptors must not increase at all
ONCE = 2
ENDS = {"seconds", "max", "reload", "the process has ended", "the cgroup has been removed"}
# The path of each kind of stream, and a check of its body.
STREAM_KINDS = {
    "/api/v1/samples": lambda body: json.loads(body.splitlines()[-1])["reason"] in ENDS,
    "/api/v1/perf.data": lambda body: body.startswith(b"PERFILE2"),
    "/api/v1/folded": lambda body: all(line.startswith(b"#") or line.rpartition(b" ")[2].isdigit()
                                       for line in body.splitlines()),
    "/debug/pprof/profile": lambda body: b"samples" in gzip.decompress(body),
}
HOST = b" HTTP/1.1\r\nHost: localhost\r\n"
BAD_REQUESTS = [
    (b"GET /nothing" + HOST + b"\r\n", {404}),
    (b"BREW /" + HOST + b"\r\n", {405}),
    (b"GET /api/v1/rates?seconds=-1" + HOST + b"\r\n", {400}),
    (b"GET /api/v1/status" + HOST + b"Accept: text/html\r\n\r\n", {406}),
    (b"GET /" + b"a" * 70000 + HOST + b"\r\n", {414, 431}),
    (b"GET /" + HOST + b"X: y\r\n" * 9000 + b"\r\n", {431}),
]
BROKEN = ['{"collectors": {"cpu": {"groups": [{"name": "a", "events": "nonsense-event"}]}}}', '{"colectors": {}}',
          '{"collectors": [', '\t- a: b: c', '{"collectors": {"cgroup": {"groups": [{"name": "x", "events": "{a"}]}}}']


class Machine:
    """The actions of the machine: creates cgroups with programs below one directory, containers with state files, and
    programs."""

    def __init__(self, hierarchy, below, scratch, load, program, docker):
        self.hierarchy, self.below, self.scratch = hierarchy, below, scratch
        self.load, self.program, self.docker = load, program, docker
        self.lock, self.serial, self.live, self.pids = threading.Lock(), 0, [], [os.getpid()]

    def next(self):
        with self.lock:
            self.serial += 1
            return self.serial

    @contextlib.contextmanager
    def cgroup(self, name, choice):
        directory = self.hierarchy + name
        os.mkdir(directory)
        self.live.append(name)
        try:
            subprocess.run([self.load, directory] + choice.choice([["faults", "300"], ["spin", "5"]]), check=True)
            yield
        finally:
            self.live.remove(name)
            eventually("%s can be removed" % directory, lambda: remove(directory))

    def cgroups(self, choice):
        """Creates several cgroups for a while, some of them nested; some reuse the name of a removed cgroup that the
        daemon still serves."""
        wave = choice.choice(["again%d" % choice.randrange(4), "wave%d" % self.next()])
        with contextlib.ExitStack() as stack:
            for number in range(choice.choice([1, 5, 15])):
                name = "%s/%s-%d" % (self.below, wave, number)
                with contextlib.suppress(FileExistsError):  # a reused name may still exist
                    stack.enter_context(self.cgroup(name, choice))
                    if choice.random() < 0.2:
                        stack.enter_context(self.cgroup(name + "/inner", choice))
            time.sleep(choice.choice([0, 0.1, 0.5]))

    def container(self, choice):
        """Creates a container as Docker does: a scope with an ID, and a state file with the container's name."""
        number = self.next()
        identity = hashlib.sha256(b"soak %d" % number).hexdigest()
        state = "%s/%s" % (self.docker, identity)
        os.mkdir(state)
        with open(state + "/config.v2.json", "w") as file:
            json.dump({"ID": identity, "Name": "/soak-%d" % number, "Config": {"Image": "example/app"}}, file)
        with self.cgroup("%s/docker-%s.scope" % (self.below, identity), choice):
            time.sleep(choice.choice([0.1, 0.5]))
        shutil.rmtree(state)

    def programs(self, choice):
        """Runs a program in a new file, with functions that are compiled at run time; some of these programs are
        killed."""
        path = "%s/p%d" % (self.scratch, self.next())
        shutil.copy(self.program, path)
        with open(path, "ab") as file:
            file.write(choice.randbytes(16))  # so that the symboliser does not know the file yet
        process = subprocess.Popen([path, "%g" % choice.choice([0.1, 0.5, 1.5])], stdout=subprocess.DEVNULL)
        self.pids.append(process.pid)
        if choice.random() < 0.3:
            time.sleep(0.2)
            process.kill()
        process.wait()
        self.pids.remove(process.pid)
        for name in path, "/tmp/perf-%d.map" % process.pid:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)


def remove(directory):
    with contextlib.suppress(OSError):  # fails while a process that has just ended is still in it
        os.rmdir(directory)
    return not os.path.isdir(directory)


class Loads:
    """The actions on one daemon. Each kind has a function, which raises a Complaint if the response is wrong."""

    def __init__(self, target, machine, complain):
        self.target, self.machine, self.scraper = target, machine, Scraper(target, complain)
        self.operating, self.streams = threading.Lock(), threading.Semaphore(STREAMS)
        self.samples, self.restarts, self.refused_until = True, "", 0.0
        self.before = None

    # --- configurations

    def base(self):
        """Returns the configuration as JSON, which is also YAML."""
        return {
            "web": {"local_operators": True, "min_interval": "0s"},
            "collectors": {
                "cpu": {"groups": [{"name": "software", "events": "{context-switches,cpu-migrations,minor-faults}"}]},
                "cgroup": {"engine": self.target.engine, "linger": "500ms", "max_cgroups": 500,
                           "include": [self.machine.below, self.machine.below + "/**"],
                           "groups": [{"name": "core", "events": "{task-clock,context-switches,minor-faults}"}]},
            },
            "sampler": {"enabled": True, "event": "cpu-clock", "max_clients": 8, "max_seconds": 60},
        }

    def other(self, choice):
        """Returns a modified configuration, and a pattern for the series without _created that it restarts."""
        document = self.base()
        cpu, cgroup = document["collectors"]["cpu"], document["collectors"]["cgroup"]
        restarts = ['group="extra']
        for number in range(choice.randrange(3)):
            cpu["groups"].append({"name": "extra%d" % number, "events": choice.choice(
                ["{context-switches,minor-faults}", "alignment-faults", "cpu-clock"])})
        if choice.random() < 0.2:
            cpu["enabled"] = False
            restarts.append("^perf_cpu_")
        elif choice.random() < 0.2:
            cpu["cpus"] = "0"
            restarts.append('^perf_cpu_.*cpu="[1-9]')
        if choice.random() < 0.5:
            cgroup.update(engine=choice.choice(["auto", "bpf", "perf"]), per_cpu=choice.random() < 0.5,
                          max_cgroups=choice.choice([3, 500]), linger=choice.choice(["0s", "1s"]),
                          enabled=choice.random() < 0.8)
        document["sampler"].update(enabled=choice.random() < 0.7, ring_pages=choice.choice([8, 64, 128]))
        return document, "|".join(restarts)

    def write_config(self, text):
        with open(self.target.config + ".new", "w") as file:
            file.write(text)
        os.replace(self.target.config + ".new", self.target.config)

    def load_config(self, by_signal, expected):
        """Reloads. SIGHUP gets no response, so the status is polled until the reload is done."""
        status = self.target.json("/api/v1/status")
        before = status["config_last_reload_success_time"]
        if not by_signal:
            status, body = self.target.ask("/-/reload", "POST")
            if status != (200 if expected else 400):
                raise Complaint("a reload: status %d: %s" % (status, body[:300]))
            return
        os.kill(self.target.pid, signal.SIGHUP)

        def is_done():
            status = self.target.json("/api/v1/status")
            return status["config_last_reload_successful"] == expected and (
                not expected or status["config_last_reload_success_time"] > before)
        eventually("the status shows the reload by SIGHUP", is_done)

    def use(self, document, restarts, by_signal):
        self.scraper.totals.announce("|".join(filter(None, (self.restarts, restarts))))
        self.write_config(json.dumps(document))
        if not (self.samples and document["sampler"]["enabled"]):
            self.refused_until = float("inf")
        self.load_config(by_signal, True)
        self.restarts, self.samples = restarts, document["sampler"]["enabled"]
        if self.samples:
            self.refused_until = min(self.refused_until, time.monotonic())
        self.current = document, restarts

    def reload(self, choice):
        with self.operating:
            self.use(*self.other(choice), choice.random() < 0.5)

    def broken_reload(self, choice):
        """Reloads a broken configuration, which must not change the current one."""
        with self.operating:
            self.write_config(choice.choice(BROKEN))
            self.load_config(choice.random() < 0.5, False)
            self.use(*self.current, choice.random() < 0.5)

    def pause(self, choice):
        with self.operating:
            self.target.get("/api/v1/pause?seconds=1", "POST")
            if choice.random() < 0.7:
                self.target.get("/api/v1/pause", "DELETE")

    def back_to_base(self):
        """Checks that nothing leaks: everything is as it was after the first round."""
        with self.operating:
            self.use(self.base(), "", False)
            self.target.get("/api/v1/pause", "DELETE")
        eventually("%s watches one cgroup again" % self.target.name, lambda: [
            entry["state"] for entry in self.target.json("/api/v1/cgroups")["cgroups"]] == ["watched"])
        eventually("%s closes its streams" % self.target.name,
                   lambda: self.target.json("/api/v1/status")["descriptors"]["sampling"] == 0)
        if self.before is None:
            self.before = self.target.kept()
        deadline = time.monotonic() + 60
        while leaked := self.leaked():
            if time.monotonic() > deadline:
                raise Complaint("%s leaked: %s" % (self.target.name, ", ".join(leaked)))
            time.sleep(0.1)

    def leaked(self):
        """Returns the kinds of descriptors and watches that have increased since the first round. A few descriptors are
        allowed to, since they are opened once, on demand."""
        return ["%d of %s" % (number, kind) for kind, number in (self.target.kept() - self.before).items()
                if number > (0 if any(name in kind for name in EXACT) else ONCE)]

    # --- documents and samples

    def document(self, choice):
        self.target.get(choice.choice(DOCUMENTS), choice.choice(["GET", "GET", "HEAD"]),
                        choice.choice([{}, {"Accept-Encoding": "gzip"}]) if choice.random() < 0.5 else {"Accept": "*/*"})

    def rates(self, choice):
        seconds = choice.choice([0.05, 0.3, 1])
        document = self.target.json("/api/v1/rates?seconds=%g%s" % (seconds, choice.choice(["", "&collector=cpu"])))
        rates = [rate for entry in document["rates"] for rate in entry["events"].values() if rate is not None]
        if document["seconds"] < seconds - 0.01 or min(rates, default=0) < 0:
            raise Complaint("rates over %g s: %s s, the lowest is %s" % (seconds, document["seconds"], min(rates)))

    def stream(self, choice):
        path = choice.choice(sorted(STREAM_KINDS))
        query = {"seconds": choice.choice(["0.2", "0.5", "1"]), "frequency": choice.choice(["19", "199", "2999"])}
        query.update(choice.choice([{}, {"cpu": "0"}, {"cgroup": choice.choice(self.machine.live + [self.machine.below])},
                                    {"pid": str(choice.choice(self.machine.pids))}]))
        with self.streams:
            begin = time.monotonic()
            status, body = self.target.ask(path + "?" + urllib.parse.urlencode(query))
        if status == 404 and ("pid" in query or "cgroup" in query) or status == 403 and self.refused_until > begin:
            return
        # The kernel opens no event for a cgroup that was removed after its directory was opened.
        if status == 400 and "cgroup" in query and not os.path.isdir(self.machine.hierarchy + query["cgroup"]):
            return
        if status != 200 or not STREAM_KINDS[path](body):
            raise Complaint("%s %s: status %d: %r" % (path, query, status, body[-300:]))

    def abort(self, choice):
        """Disconnects in the middle of a response."""
        path = choice.choice(["/metrics", "/api/v1/events", "/api/v1/rates?seconds=5"] +
                             [path + "?seconds=5&frequency=997" for path in sorted(STREAM_KINDS)])
        with self.streams:
            connected = self.target.secured(self.target.socket())
            connected.sendall(b"GET " + path.encode() + HOST + b"\r\n")
            time.sleep(choice.choice([0, 0.002, 0.1, 0.7]))
            (reset if choice.random() < 0.5 else type(connected).close)(connected)
            eventually("the place of a client that has disconnected is free", lambda: self.target.json(
                "/api/v1/status")["descriptors"]["sampling"] <= STREAMS * os.cpu_count())

    def slow_reader(self, choice):
        with self.streams:
            begin = time.monotonic()
            with self.target.response("/api/v1/samples?seconds=1&frequency=2999") as response:
                body = b""
                for _ in range(10):
                    body += response.read(choice.randrange(1, 2000))
                    time.sleep(0.1)
                body += response.read()
        if response.status == 200 and b'"type":"end"' not in body or \
                response.status != 200 and self.refused_until <= begin:
            raise Complaint("a slow client has status %d, and ends with %r" % (response.status, body[-200:]))

    # --- malicious clients

    def bad_requests(self, _choice):
        for request, statuses in BAD_REQUESTS:
            with self.target.secured(self.target.socket(BAD)) as connected:
                answer = b""
                with contextlib.suppress(OSError):  # the server may reject it before it is completely sent
                    connected.sendall(request)
                    answer = connected.recv(65536)
                if answer and int(answer[9:12]) not in statuses:
                    raise Complaint("%r has status %s" % (request[:60], answer[9:12]))

    def garbage(self, choice):
        """Sends random bytes; if the server uses TLS, also in place of a handshake."""
        for size in 1, 20, 3000:
            with contextlib.suppress(OSError), self.target.socket(BAD) as plain:  # the server should reject it
                connected = self.target.secured(plain) if choice.random() < 0.5 else plain
                connected.sendall(choice.choice([b"", b"\x16\x03\x01\x02\x00\x01"]) + choice.randbytes(size))
                (reset if choice.random() < 0.5 else type(connected).close)(connected)

    def half_open(self, choice):
        """Opens connections that send nothing or part of a request, and stay open for a while."""
        with contextlib.ExitStack() as stack:
            for _ in range(choice.choice([3, 20, 60])):
                connected = stack.enter_context(self.target.socket(BAD))
                with contextlib.suppress(OSError):  # the server may have closed it
                    connected.sendall((b"GET /metrics" + HOST)[:choice.randrange(20)])
            time.sleep(choice.choice([0.1, 0.5]))


class Soak:
    def __init__(self, machine, targets):
        self.complaints, self.done = [], 0
        self.machine = machine
        self.loads = [Loads(target, machine, self.complain) for target in targets]

    def complain(self, text):
        self.complaints.append(text)
        print("NOT OK: %s" % text, flush=True)

    def act(self, owner, kind, seed):
        self.done += 1
        try:
            getattr(owner, kind)(random.Random(seed))
        except Exception as error:  # for example, a connection is refused or ends early
            self.complain("%s of %s: %s: %s" % (
                kind, owner.target.name if isinstance(owner, Loads) else "the machine", type(error).__name__, error))

    def run(self, rounds, seed):
        choice = random.Random(seed)
        for loads in self.loads:
            loads.use(loads.base(), "", False)
            loads.scraper.start()
        for number in range(rounds):
            actions = [(loads, kind) for loads in self.loads for kind, n in OF_DAEMON.items() for _ in range(n)]
            actions += [(self.machine, kind) for kind, n in OF_MACHINE.items() for _ in range(n)]
            choice.shuffle(actions)
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                for owner, kind in actions:
                    pool.submit(self.act, owner, kind, choice.getrandbits(32))
            for loads in self.loads:
                try:
                    loads.back_to_base()
                except (Complaint, OSError) as error:
                    self.complain(str(error))
            print("round %d of %d: %d actions so far, %d complaints; %s" % (
                number + 1, rounds, self.done, len(self.complaints),
                ", ".join(loads.target.memory() for loads in self.loads)), flush=True)
        for loads in self.loads:
            loads.scraper.ends.set()
            loads.scraper.join()
            print("%s: %d scrapes, %d totals compared" % (
                loads.target.name, loads.scraper.count, loads.scraper.totals.compared))
            if loads.scraper.count < rounds or loads.scraper.totals.compared < 100:
                self.complain("%s: too few totals were compared" % loads.target.name)
        return bool(self.complaints)


def main():
    check_judge()
    rounds, seed, machine, *targets = sys.argv[1:]
    sys.exit(Soak(Machine(*machine.split(":")), [Target(*target.split(":")) for target in targets]).run(
        int(rounds), int(seed)))


main()
