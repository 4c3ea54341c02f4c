# SPDX-License-Identifier: Apache-2.0
"""A daemon with its processes, its clients and its cgroups, as a point of injection needs them."""
import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time

from calls_aim import Missed, spawn, status_field, wait_for
from calls_truth import Truth

BUNDLES = "/run/containerd/io.containerd.runtime.v2.task/default"
PASSWORD = base64.b64encode(b"alice:right").decode()
CLOCK = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


class Service:
    """One daemon, from its start to its end."""

    def __init__(self, program, tools, scratch, hierarchy, engine="perf"):
        self.program, self.tools, self.scratch = program, tools, scratch
        self.below = "/perfcountd-calls-%d" % os.getpid()
        self.parent = hierarchy + self.below
        self.engine = engine
        self.port = free_port()
        self.tls = False
        self.generation = 0
        self.config, self.log = scratch + "/perfcountd.yaml", scratch + "/log"
        self.truth = Truth()
        self.pid = 0
        self.status = None
        self.timeout = 5
        self.hot = None
        self.caught = {}  # processes that were stopped before they had a name
        os.makedirs(self.parent)
        os.mkdir(self.parent + "/known")
        os.makedirs(BUNDLES, exist_ok=True)

    def put_container(self, identity, name):
        """Its state file, and its cgroup, whose directory is returned."""
        os.mkdir(BUNDLES + "/" + identity)
        write(BUNDLES + "/%s/config.json" % identity, json.dumps(
            {"ociVersion": "1.0.2", "annotations": {"nerdctl/name": name, "nerdctl/namespace": "default"}}))
        path = "%s/nerdctl-%s.scope" % (self.parent, identity)
        os.mkdir(path)
        return path

    @contextlib.contextmanager
    def occupied(self, path):
        """With a process in the cgroup, which has no faults there."""
        self.truth.add_load(path[len(self.parent) - len(self.below):], 100)  # of its wake-ups and its end
        with subprocess.Popen(["/bin/sleep", "60"]) as process:
            try:
                time.sleep(0.02)  # until it sleeps
                with open(path + "/cgroup.procs", "w", encoding="ascii") as members:
                    members.write(str(process.pid))
                yield
            finally:
                process.kill()

    def write_config(self, tls=False):
        """A group of its own in each generation, beside one that stays."""
        self.generation += 1
        write(self.config, """
web: {local_operators: true, min_interval: 0s%s}
collectors:
  cpu:
    groups:
      - {name: soft, events: "{context-switches,minor-faults}"}
      - {name: g%d, events: "{cpu-migrations,major-faults}"}
  cgroup:
    include: ["%s/*"]
    engine: %s
    groups: [{name: f, events: "{minor-faults,task-clock}"}, {name: g%d, events: "{context-switches}"}]
sampler: {enabled: true, event: cpu-clock}
""" % (", config_file: %s/web.yaml" % self.tools if tls else "", self.generation, self.below, self.engine,
            self.generation))

    def spawn(self):
        """Stopped before its first instruction, and traced by this process."""
        self.write_config()
        # Of a build with sanitizers: the search for leaks traces the process itself, which strace does already.
        environment = {"ASAN_OPTIONS": "detect_leaks=0"} | os.environ | {"HOME": "/root"}
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.pid = spawn([self.program, "--config.file=" + self.config, "--log.format=json",
                          "--web.listen-address=127.0.0.1:%d" % self.port], log, environment)
        os.close(log)

    # --- processes

    def alive(self):
        if self.status is None and self.pid:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is None

    def child(self, name):
        """The child with that name."""
        for pid in os.listdir("/proc"):
            if pid.isdigit() and status_field(int(pid), "PPid") == str(self.pid) and \
                    status_field(int(pid), "Name") == name and status_field(int(pid), "State") != "Z":
                return int(pid)
        return None

    def process(self, role):
        names = {"opener": "perfcountd-open", "reader": "perfcountd-name", "symboliser": "perfcountd-symb"}
        if role in self.caught and status_field(self.caught[role], "State") not in ("Z", None):
            return self.caught[role]
        return self.pid if role == "daemon" else self.child(names[role])

    def session(self):
        """All processes that came of the daemon: those of its session."""
        found = []
        for pid in os.listdir("/proc"):
            try:
                if pid.isdigit() and os.getsid(int(pid)) == self.pid and status_field(int(pid), "State") != "Z":
                    found.append(int(pid))
            except OSError:
                pass
        return found

    def cpu_seconds(self):
        total = 0
        for pid in self.session():
            try:
                with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stat:
                    total += sum(int(n) for n in stat.read().rsplit(") ", 1)[1].split()[11:15])
            except OSError:
                pass
        return total / CLOCK

    def descriptors(self):
        """How many each process has open, its inotify watches, and its rings."""
        found = {}
        for role in ("daemon", "opener", "reader"):
            pid = self.process(role)
            if not pid:
                continue
            try:
                for fd in os.listdir("/proc/%d/fd" % pid):
                    kind = re.sub(r":\[\d+\]|\d+", "", os.readlink("/proc/%d/fd/%s" % (pid, fd)))
                    if kind.startswith(("socket", "anon_inode", "/proc", "/sys", "/memfd")):
                        kind = role + "'s " + kind
                        found[kind] = found.get(kind, 0) + 1
                with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as maps:
                    found[role + "'s rings"] = sum("perf_event" in line for line in maps)
            except OSError:
                pass
        if not self.alive():
            return {}
        watches = 0
        for name in os.listdir("/proc/%d/fdinfo" % self.pid):
            try:
                with open("/proc/%d/fdinfo/%s" % (self.pid, name), encoding="utf-8") as info:
                    watches += sum(line.startswith("inotify ") for line in info)
            except OSError:
                pass
        found["watches"] = watches
        return found

    # --- its log

    def messages(self):
        """(level, text, time) of each line; a line that is not of its log has the level "raw"."""
        found = []
        with open(self.log, encoding="utf-8", errors="replace") as log:
            for line in log:
                try:
                    entry = json.loads(line)
                    found.append((entry["level"], entry["message"], entry.get("time", "")))
                except (ValueError, KeyError, TypeError):
                    found.append(("raw", line.rstrip(), ""))
        return found

    # --- its clients

    def ask(self, path, method="GET", headers=None, timeout=None):
        """(status, body); an OSError or HTTPException where there was no answer."""
        context = ssl._create_unverified_context() if self.tls else None
        kind = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        arguments = {"timeout": timeout or self.timeout}
        connection = kind("127.0.0.1", self.port, **arguments, **({"context": context} if self.tls else {}))
        headers = dict(headers or {})
        if self.tls:
            headers.setdefault("Authorization", "Basic " + PASSWORD)
        try:
            connection.request(method, path, headers=headers)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def answers(self):
        try:
            return self.ask("/-/ready", timeout=1)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def answers_to(self, path):
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.ask(path)

    def ready(self, seconds=10):
        """None, or why it is not."""
        wait_for(lambda: not self.alive() or self.answers(), seconds, 0.01)
        return None if self.alive() and self.answers() else "it is not ready within %d s" % seconds

    def reload(self, tls=False):
        self.write_config(tls)
        os.kill(self.pid, signal.SIGHUP)

    # --- loads

    def run_load(self, cgroup, faults):
        """In a cgroup; returns between how many faults are counted there."""
        process = subprocess.Popen([self.tools + "/cgroup-load", self.parent + "/" + cgroup, "faults", str(faults)])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        self.truth.add_load(self.below + "/" + cgroup, usage.ru_minflt)
        return faults, min(usage.ru_minflt, faults + 100)

    def start_hot(self):
        """A program that nobody has read the symbols of."""
        program = self.scratch + "/hot%d" % time.monotonic_ns()
        shutil.copy(self.tools + "/hot", program)
        self.hot = subprocess.Popen([program, "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.hot.pid

    def end_hot(self):
        if self.hot:
            self.hot.kill()
            self.hot.wait()
            self.hot = None

    # --- the end

    def stop(self, seconds):
        """By SIGTERM. None, or what did not end in time."""
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
        if not wait_for(lambda: not self.alive(), seconds):
            return "it does not end within %d s of SIGTERM" % seconds
        if not wait_for(lambda: not self.session(), 3):
            return "of its processes, %s are there after its end" % self.session()
        return None

    def cleanup(self):
        self.end_hot()
        for pid in self.session() if self.pid else []:
            os.kill(pid, signal.SIGKILL)
        if self.pid:
            wait_for(lambda: not self.alive())
        for name in os.listdir(self.parent):
            if os.path.isdir(self.parent + "/" + name):
                wait_for(lambda path=self.parent + "/" + name: removed(path), 3)
        removed(self.parent)


def removed(path):
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def digits_away(text):
    """So that messages which differ in a number alone are the same."""
    return re.sub(r"\d+", "N", text)
