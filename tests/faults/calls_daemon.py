# SPDX-License-Identifier: Apache-2.0
"""A daemon with its processes, clients and cgroups, the requests of the scenario, and strace(1) attached to one of
its processes.

strace follows either all children or none. To trace one child, it is stopped with ptrace(2) before it runs, and strace
is attached to it then.
"""
import base64
import contextlib
import ctypes
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

TRACEME, CONT, DETACH, SETOPTIONS, GETEVENTMSG, SEIZE, INTERRUPT = 0, 7, 17, 0x4200, 0x4201, 0x4206, 0x4207
TRACE_FORK, TRACE_VFORK, TRACE_EXEC = 2, 4, 0x10
EVENT_FORK, EVENT_VFORK, EVENT_EXEC = 1, 2, 4
WALL = 0x40000000  # __WALL of waitpid(2)
EVENT_SECONDS = 60  # an event that has not occurred by then never will

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Missed(Exception):
    """The process did not start, or ended before it could be traced."""


def ptrace(request, pid, data=None):
    if libc.ptrace(request, pid, None, data) < 0:
        error = ctypes.get_errno()
        raise Missed("ptrace(%#x, %d): %s" % (request, pid, os.strerror(error)))


def wait_for(condition, seconds=EVENT_SECONDS, step=0.002):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(step)
    return condition()


def status_field(pid, field):
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return line.split()[1]
    except OSError:
        pass
    return None


def spawn(arguments, log, environment):
    """Starts a program, stopped before its first instruction and traced by this process."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            libc.ptrace(TRACEME, 0, None, None)
            os.execve(arguments[0], arguments, environment)
        finally:
            os._exit(126)
    os.waitpid(pid, WALL)
    return pid


def let_go(pid, stopped=False):
    """Stops tracing the process."""
    if stopped:
        os.kill(pid, signal.SIGSTOP)
    ptrace(DETACH, pid)
    if stopped and not wait_for(lambda: status_field(pid, "State") in ("T", "Z", None)):
        raise Missed("process %d did not stop" % pid)


def event_of(status):
    return status >> 16 if os.WIFSTOPPED(status) else 0


def take_child(child, at_exec):
    """Leaves a new child stopped, either at once or after its execve(2)."""
    os.waitpid(child, WALL)
    if at_exec:
        ptrace(SETOPTIONS, child, TRACE_EXEC)
        ptrace(CONT, child)
        while True:
            _, status = os.waitpid(child, WALL)
            if not os.WIFSTOPPED(status):
                raise Missed("the child ended before its execve(2)")
            if event_of(status) == EVENT_EXEC:
                break
            ptrace(CONT, child, os.WSTOPSIG(status))
    let_go(child, stopped=True)
    return child


def catch_child(pid, nth, at_exec):
    """Lets a stopped, traced process continue, and leaves its nth child stopped."""
    ptrace(SETOPTIONS, pid, TRACE_FORK | TRACE_VFORK)
    pending = 0
    while True:
        ptrace(CONT, pid, pending)
        end = time.monotonic() + EVENT_SECONDS
        status = 0
        while time.monotonic() < end:
            found, status = os.waitpid(pid, WALL | os.WNOHANG)
            if found:
                break
            time.sleep(0.001)
        else:
            raise Missed("child number %d was not started" % nth)
        if not os.WIFSTOPPED(status):
            raise Missed("the process ended before its child number %d" % nth)
        pending = 0
        if event_of(status) not in (EVENT_FORK, EVENT_VFORK):
            pending = os.WSTOPSIG(status) if status >> 16 == 0 and os.WSTOPSIG(status) != signal.SIGTRAP else 0
            continue
        message = ctypes.c_ulong()
        ptrace(GETEVENTMSG, pid, ctypes.addressof(message))
        nth -= 1
        if nth > 0:
            os.waitpid(message.value, WALL)
            let_go(message.value)
            continue
        if event_of(status) == EVENT_VFORK:  # the parent waits in the kernel until its child calls execve(2)
            let_go(pid)
            return take_child(message.value, at_exec)
        child = take_child(message.value, at_exec)
        let_go(pid)
        return child


def seize(pid):
    """Traces and stops a running process."""
    ptrace(SEIZE, pid)
    ptrace(INTERRUPT, pid)
    os.waitpid(pid, WALL)


class Strace:
    """strace(1) attached to a process's threads; it lists their calls, or makes calls of one kind fail."""

    def __init__(self, threads, output, call=None, injection=None):
        arguments = ["strace", "-q", "-a0", "-o", output, "-e", "signal=none"]
        if call:
            arguments += ["-e", "trace=" + call, "-e", "inject=%s:%s" % (call, injection)]
        for thread in threads:
            arguments += ["-p", str(thread)]
        self.output = output
        self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, start_new_session=True)
        traced = wait_for(lambda: self.process.poll() is not None or
                          all(status_field(t, "TracerPid") == str(self.process.pid) for t in threads))
        if not traced or self.process.poll() not in (None, 0):  # strace returns 0 if the process has already ended
            raise Missed("strace: %s" % self.process.stderr.read().decode(errors="replace").strip())

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(EVENT_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def lines(self):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()


SERIES = re.compile(r"^(\w+_total)(\{[^}]*\})? (\S+)")
# The kernel updates its own totals slightly before or after the daemon reads its counters.
SLACK = 300


def kernel_count(file, key):
    with open(file, encoding="ascii") as text:
        for line in text:
            if line.startswith(key + " "):
                return int(line.split()[1])
    raise KeyError(key)


class Truth:
    """Compares each scrape with the previous one, and with the counts of the kernel and the loads."""

    def __init__(self):
        self.started = time.monotonic()
        self.faults_before = kernel_count("/proc/vmstat", "pgfault")
        self.switches_before = kernel_count("/proc/stat", "ctxt")
        self.loads = {}  # page faults of the loads, by cgroup
        self.last = {}
        self.wrong = []

    def add_load(self, cgroup, faults):
        self.loads[cgroup] = self.loads.get(cgroup, 0) + faults

    def take(self, text):
        """Checks a scrape in the text format; returns its totals by series."""
        totals = {}
        for line in text.splitlines():
            match = SERIES.match(line)
            if match:
                totals[match.group(1) + (match.group(2) or "")] = float(match.group(3))
        for series, value in totals.items():
            if value < self.last.get(series, 0):
                self.wrong.append("%s fell from %.9g to %.9g" % (series, self.last[series], value))
        self.last.update(totals)
        self.check_bounds(totals)
        return totals

    def check_bounds(self, totals):
        elapsed = time.monotonic() - self.started
        faults = kernel_count("/proc/vmstat", "pgfault") - self.faults_before
        switches = kernel_count("/proc/stat", "ctxt") - self.switches_before
        sums = {}
        for series, value in totals.items():
            name = series.split("{")[0]
            if "group=\"soft" in series and name.startswith("perf_cpu_"):
                sums[name] = sums.get(name, 0) + value
            if name.startswith("perf_cpu_group_") and name.endswith("_seconds_total"):
                self.bound(series, value, elapsed)
            if name == "perf_cgroup_task_clock_seconds_total":
                self.bound(series, value, elapsed * os.cpu_count())
            if name == "perf_cgroup_minor_faults_total":
                cgroup = re.search(r'cgroup="([^"]*)"', series).group(1)
                self.bound(series, value, self.loads.get(cgroup, 0))
        self.bound("all minor faults", sums.get("perf_cpu_minor_faults_total", 0), faults + SLACK)
        self.bound("all context switches", sums.get("perf_cpu_context_switches_total", 0), switches + SLACK)

    def bound(self, what, value, most):
        if value > most + 0.01:
            self.wrong.append("%s is %.9g, but can be %.9g at most" % (what, value, most))


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
    """One daemon, from start to end."""

    def __init__(self, program, tools, scratch, hierarchy):
        self.program, self.tools, self.scratch = program, tools, scratch
        self.below = "/perfcountd-calls-%d" % os.getpid()
        self.parent = hierarchy + self.below
        self.port = free_port()
        self.tls = False
        self.generation = 0
        self.config, self.log = scratch + "/perfcountd.yaml", scratch + "/log"
        self.truth = Truth()
        self.pid = 0
        self.status = None
        self.patience = EVENT_SECONDS
        self.hot = None
        self.caught = {}  # processes that were stopped before they set their name
        os.makedirs(self.parent)
        os.mkdir(self.parent + "/known")
        os.makedirs(BUNDLES, exist_ok=True)

    def put_container(self, identity, name):
        """Creates a container's state file and its cgroup; returns the cgroup's directory."""
        os.mkdir(BUNDLES + "/" + identity)
        write(BUNDLES + "/%s/config.json" % identity, json.dumps(
            {"ociVersion": "1.0.2", "annotations": {"nerdctl/name": name, "nerdctl/namespace": "default"}}))
        path = "%s/nerdctl-%s.scope" % (self.parent, identity)
        os.mkdir(path)
        return path

    @contextlib.contextmanager
    def occupied(self, path):
        """Keeps a process in the cgroup; it causes almost no page faults there."""
        self.truth.add_load(path[len(self.parent) - len(self.below):], 100)  # the page faults of the process itself
        with subprocess.Popen(["/bin/sleep", "60"]) as process:
            try:
                wait_for(lambda: status_field(process.pid, "State") == "S")
                with open(path + "/cgroup.procs", "w", encoding="ascii") as members:
                    members.write(str(process.pid))
                yield
            finally:
                process.kill()

    def write_config(self, tls=False):
        """Writes a configuration with one permanent group and one that changes with each call."""
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
    engine: perf
    groups: [{name: f, events: "{minor-faults,task-clock}"}, {name: g%d, events: "{context-switches}"}]
sampler: {enabled: true, event: cpu-clock}
""" % (", config_file: %s/web.yaml" % self.tools if tls else "", self.generation, self.below,
            self.generation))

    def spawn(self):
        """Starts the daemon, stopped before its first instruction and traced by this process."""
        self.write_config()
        # In a build with sanitizers, the leak check would have to trace the process, but strace already does.
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
        """Returns the PID of the child with that name."""
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
        """Returns the PIDs of the daemon and all its descendants, which are in its session."""
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
        """Counts the open descriptors and ring buffers of each process by kind, and the daemon's inotify watches."""
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
        """Returns (level, text, time) of each line; other output has the level "raw"."""
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
        """Returns (status, body); raises OSError or HTTPException if there is no response."""
        context = ssl._create_unverified_context() if self.tls else None
        kind = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        arguments = {"timeout": timeout or self.patience}
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

    def ready(self, seconds=EVENT_SECONDS):
        """Returns None once the daemon is ready, or the reason why it is not."""
        wait_for(lambda: not self.alive() or self.answers(), seconds, 0.01)
        return None if self.alive() and self.answers() else "the daemon is not ready after %d s" % seconds

    def reload(self, tls=False):
        self.write_config(tls)
        os.kill(self.pid, signal.SIGHUP)

    # --- loads

    def run_load(self, cgroup, faults):
        """Runs a load in a cgroup; returns the minimum and maximum number of page faults that may be counted for it."""
        process = subprocess.Popen([self.tools + "/cgroup-load", self.parent + "/" + cgroup, "faults", str(faults)])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        self.truth.add_load(self.below + "/" + cgroup, usage.ru_minflt)
        return faults, min(usage.ru_minflt, faults + 100)

    def start_hot(self):
        """Starts a program whose symbols have not been read."""
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

    def stop(self):
        """Stops the daemon with SIGTERM; returns None, or a message about what did not end."""
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
        if not wait_for(lambda: not self.alive()):
            return "the daemon does not exit within %d s of SIGTERM" % EVENT_SECONDS
        if not wait_for(lambda: not self.session()):
            return "the daemon has exited, but its processes %s still run" % self.session()
        return None

    def cleanup(self):
        self.end_hot()
        for pid in self.session() if self.pid else []:
            os.kill(pid, signal.SIGKILL)
        if self.pid:
            wait_for(lambda: not self.alive())
        for name in os.listdir(self.parent):
            if os.path.isdir(self.parent + "/" + name):
                wait_for(lambda path=self.parent + "/" + name: removed(path))
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
    """Replaces numbers, so that messages that differ only in numbers are equal."""
    return re.sub(r"\d+", "N", text)


FAULTS = 200


def body_says(body):
    """Returns the error in a response, since a client that is told the reason needs no log message."""
    try:
        return json.loads(body).get("error", "")
    except (ValueError, AttributeError):
        return body.decode(errors="replace").strip()[:200]


class Steps:
    """The requests of the scenario. `wrong` lists what failed, `unsaid` what failed without a reason for the client."""

    def __init__(self, service):
        self.service = service
        self.wrong, self.unsaid = [], []
        self.text = ""

    def note(self, what, reason=""):
        self.wrong.append(what + (": " + reason if reason else ""))
        if not reason:
            self.unsaid.append(what)

    def get(self, path, method="GET", wanted=200, headers=None, timeout=None):
        """Returns the body, or None."""
        try:
            status, body = self.service.ask(path, method, headers, timeout)
        except (OSError, http.client.HTTPException) as error:
            self.note("%s %s: no answer (%s)" % (method, path, error or type(error).__name__))
            return None
        if status != wanted:
            self.note("%s %s: %d" % (method, path, status), body_says(body))
            return None
        return body

    # --- counters

    def totals(self):
        body = self.get("/metrics")
        if body is None:
            return None
        self.text = body.decode()
        return self.service.truth.take(self.text)

    def scrape(self):
        totals = self.totals()
        if totals is None:
            return
        below, generation = self.service.below, "g%d" % self.service.generation
        why = "; ".join(re.findall(r'^perfcountd_groups\{.*state="(?:starved|unavailable)"\} [1-9].*', self.text, re.M))
        if not any("perf_cgroup_minor_faults" in s and below + "/known\"" in s for s in totals):
            self.note("the scrape has no counter of the cgroup \"known\"", why)
        for cpu in range(os.cpu_count()):
            # A group whose members could not be opened together is split into "soft" and "soft-2".
            for metric, group in (("minor_faults", "soft"), ("cpu_migrations", generation)):
                start = "perf_cpu_%s_total{cpu=\"%d\"" % (metric, cpu)
                if not any(s.startswith(start) and "group=\"" + group in s for s in totals):
                    self.note("the scrape has no %s of CPU %d, group %s" % (metric, cpu, group), why)

    def formats(self):
        body = self.get("/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0",
                                             "Accept-Encoding": "gzip"})
        if body is not None:
            text = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
            if not text.endswith(b"# EOF\n"):
                self.note("the OpenMetrics response is incomplete")
        for path in ("/api/v1/counters", "/api/v1/rates?seconds=0.1", "/api/v1/status", "/api/v1/cgroups",
                     "/api/v1/pmus"):
            body = self.get(path)
            if body is not None:
                json.loads(body)
        self.get("/api/v1/events")
        self.get("/")

    def cgroups(self):
        """Creates a container, runs a load in it, checks its counts, and removes it."""
        number = time.monotonic_ns()
        container, name = "nerdctl-%064x.scope" % number, "shop%d" % number
        below = "%s/%s\"" % (self.service.below, container)
        path = self.service.put_container("%064x" % number, name)

        def is_there():
            totals = self.totals()
            return totals is None or any(below in s for s in totals)

        def is_named():
            body = self.get("/api/v1/cgroups")
            return body is None or name.encode() in body
        with self.service.occupied(path):
            if not wait_for(is_there, self.service.patience, 0.05):
                self.note("the new container is not counted")
            elif not wait_for(is_named, self.service.patience, 0.05):
                self.note("the new container has no name", self.why_unnamed(container))
            self.service.run_load(container, FAULTS)
            self.totals()
        wait_for(lambda: removed(path), self.service.patience)

    def why_unnamed(self, container):
        body = self.get("/api/v1/cgroups")
        for cgroup in json.loads(body)["cgroups"] if body is not None else []:
            if cgroup["cgroup"].endswith(container):
                return cgroup.get("unnamed", "")
        return ""

    def exact(self):
        """Runs a load of known size, and checks that it is counted exactly."""
        series = [s for s in self.service.truth.last
                  if "perf_cgroup_minor_faults" in s and "%s/known\"" % self.service.below in s]
        if self.totals() is None or not series:
            return
        before = sum(self.service.truth.last[s] for s in series)
        least, most = self.service.run_load("known", FAULTS)
        if self.totals() is None:
            return
        counted = sum(self.service.truth.last[s] for s in series) - before
        if not least <= counted <= most:
            self.note("a load of %d to %d faults was counted as %.9g" % (least, most, counted))

    # --- samples

    def sample(self):
        """Samples with two clients at once. Checks that the names of the program's functions are found."""
        pid = self.service.start_hot()
        bodies = {}

        def stream():
            bodies["samples"] = self.get("/api/v1/samples?seconds=0.3&frequency=200&pid=%d" % pid)
        client = threading.Thread(target=stream)
        client.start()
        folded = None

        def has_names():
            nonlocal folded
            folded = self.get("/api/v1/folded?seconds=0.4&frequency=500&pid=%d" % pid)
            return folded is None or b"hot_seventy" in folded
        wait_for(has_names, self.service.patience)
        client.join()
        self.service.end_hot()
        samples = bodies.get("samples")
        if folded is not None and b"hot_seventy" not in folded:
            self.note("the profile does not name the program's function", notices(samples))
        if samples is not None and b'"type":"end"' not in samples[-2000:]:
            self.note("the stream has no end record: %r" % samples[-120:])

    # --- settings

    def reload(self, tls=False):
        self.service.reload(tls)
        name = "group=\"g%d\"" % self.service.generation
        was, self.service.tls = self.service.tls, tls

        def is_new():
            try:
                status, body = self.service.ask("/metrics", timeout=1)
                return status == 200 and name.encode() in body
            except (OSError, http.client.HTTPException):
                return False
        if wait_for(is_new, self.service.patience, 0.03):
            return True
        self.service.tls = was
        self.note("the new configuration is not in effect")
        return False

    def secure(self):
        """Enables TLS and a password with a reload, and disables them with the next one."""
        if self.reload(tls=True):
            self.scrape()
            self.get("/metrics", wanted=401, headers={"Authorization": "Basic YWxpY2U6d3Jvbmc="})
        self.reload()

    def pause(self):
        if self.get("/api/v1/pause?seconds=20", method="POST") is not None:
            self.totals()
        self.get("/api/v1/pause", method="DELETE")

    # --- rounds

    def all(self, stopping):
        for step in (self.scrape, self.formats, self.cgroups, self.sample, self.secure, self.pause, self.scrape):
            if not self.service.alive() or stopping():
                return
            step()

    def strict(self):
        """Reloads, scrapes, runs a load and profiles, as an operator would after a fault, and checks the results."""
        self.reload()
        self.scrape()
        self.exact()
        self.cgroups()
        self.sample()


def notices(samples):
    """Returns the notes about symbols at the end of a stream."""
    if samples is None or b'"type":"end"' not in samples:
        return ""
    end = json.loads(samples.splitlines()[-1])
    return "; ".join(note for note in end.get("notes", []) + end.get("warnings", []) if "symbol" in note)
