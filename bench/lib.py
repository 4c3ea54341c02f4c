# SPDX-License-Identifier: Apache-2.0
"""How the benchmarks measure: a client that keeps its connection, what a process has used, cgroups to put work in, and
the table."""
import contextlib
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

GZIP = b"Accept-Encoding: gzip\r\n"


class Client:
    """A keep-alive connection that asks again and again."""

    def __init__(self, port, path="/metrics"):
        self.path = path.encode()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray(1 << 22)

    def get(self, headers=b"", path=None):
        """The size of the body as it was sent."""
        self.socket.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (path or self.path, headers))
        filled = 0
        body = length = None
        while body is None or not self.complete(body, length, filled):
            received = self.socket.recv_into(memoryview(self.buffer)[filled:])
            if not received:
                raise RuntimeError("the connection was closed, so it is no keep-alive")
            filled += received
            if body is None:
                end = self.buffer.find(b"\r\n\r\n", 0, filled)
                if end >= 0:
                    body, length = end + 4, self.length_of(bytes(self.buffer[:end]))
        self.head, self.body = bytes(self.buffer[:body]), (body, filled)
        return filled - body

    def complete(self, body, length, filled):
        if length is None:  # chunked
            return self.buffer[max(body, filled - 5):filled] == b"0\r\n\r\n"
        return filled - body >= length

    @staticmethod
    def length_of(head):
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError("unexpected answer: %r" % head[:200])
        length = re.search(rb"content-length: *(\d+)", head, re.I)
        return int(length[1]) if length else None

    def page(self):
        self.get()
        return bytes(self.buffer[slice(*self.body)]).decode()

    def compresses(self):
        self.get(GZIP)
        return re.search(rb"content-encoding: *gzip", self.head, re.I) is not None


class Processes:
    """One or more processes with all their children, and what they have used."""

    def __init__(self, *roots):
        self.roots = [root.pid for root in roots]

    def pids(self):
        found = list(self.roots)
        for pid in found:
            with contextlib.suppress(OSError), open("/proc/%d/task/%d/children" % (pid, pid)) as children:
                found += [int(child) for child in children.read().split() if int(child) not in found]
        return found

    def cpu(self):
        """Seconds, by the CPU-time clock of each process, see clock_getcpuclockid(3)."""
        total = 0.0
        for pid in self.pids():
            with contextlib.suppress(OSError):  # a child that has just ended
                total += time.clock_gettime((~pid << 3) | 2)
        return total

    def memory(self, key):
        """MB of each process; the key is one of smaps_rollup."""
        figures = []
        for pid in self.pids():
            with open("/proc/%d/smaps_rollup" % pid) as rollup:
                figures.append(int(re.search(r"^%s: *(\d+) kB" % key, rollup.read(), re.M)[1]) / 1024)
        return figures

    def descriptors(self):
        return sum(len(os.listdir("/proc/%d/fd" % pid)) for pid in self.pids())

    def wakeups(self):
        """How often the threads have gone to sleep of themselves."""
        total = 0
        for pid in self.pids():
            for task in os.listdir("/proc/%d/task" % pid):
                with contextlib.suppress(OSError), open("/proc/%d/task/%s/status" % (pid, task)) as status:
                    total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read(), re.M)[1])
        return total

    def system_calls(self, action):
        """How many the action makes them do, counted by strace."""
        with tempfile.NamedTemporaryFile("r") as trace:
            strace = subprocess.Popen(["strace", "-f", "-c", "-U", "calls,name", "-o", trace.name] +
                                      [word for pid in self.pids() for word in ("-p", str(pid))],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in self.pids():
                strace.stderr.readline()  # "Process N attached"
            time.sleep(0.3)
            action()
            strace.send_signal(signal.SIGTERM)
            strace.wait(10)
            return sum(int(calls) for calls, name in re.findall(r"^ *(\d+) (\w+)$", trace.read(), re.M)
                       if name not in ("total", "restart_syscall"))


class Table:
    """
    Figures of perfcountd, each with those it is compared with, their ratio, and whether the target is met.

    Figures of several rounds are lists; the ratio is then the median of the rounds' ratios, since what else the machine
    did in a round harmed both.
    """

    def __init__(self, slack=1):
        self.slack = slack  # a figure is clearly missed where it is worse than its target by this factor
        self.missed = self.clearly_missed = 0
        print("%-52s %12s %12s %8s %9s" % ("", "perfcountd", "other", "ratio", "target"))

    def heading(self, text):
        print("\n" + text)

    def row(self, figure, own, unit="", at_most=None, at_least=None):
        own = statistics.median(listed(own))
        self.print(figure, readable(own, unit), "", "", self.judge(own, at_most, at_least))

    def of(self, name, own, other, unit="", at_most=None, at_least=None):
        """One that the figure of the row above is compared with."""
        own, other = listed(own), listed(other)
        ratio = statistics.median(a / b for a, b in zip(own, other)) if all(other) else None
        self.print("    of " + name, "", readable(statistics.median(other), unit),
                   "" if ratio is None else readable_ratio(ratio),
                   ("", "") if ratio is None else self.judge(ratio, at_most, at_least))

    def compare(self, figure, own, other, unit="", at_most=None, at_least=None):
        """Both on one row."""
        own, other = listed(own), listed(other)
        ratio = statistics.median(a / b for a, b in zip(own, other))
        self.print(figure, readable(statistics.median(own), unit), readable(statistics.median(other), unit),
                   readable_ratio(ratio), self.judge(ratio, at_most, at_least))

    def judge(self, value, at_most, at_least):
        if at_most is None and at_least is None:
            return "", ""
        if at_most is not None:
            excess = value / at_most if at_most else 1 + value
        else:
            excess = at_least / value if value else float("inf")
        self.missed += excess > 1
        self.clearly_missed += excess > self.slack
        return "<= %g" % at_most if at_most is not None else ">= %g" % at_least, "ok" if excess <= 1 else "NOT OK"

    @staticmethod
    def print(figure, own, other, ratio, judged):
        print(("%-52s %12s %12s %8s %9s  %s" % (figure, own, other, ratio, *judged)).rstrip(), flush=True)


def readable(figure, unit):
    return (("%.0f %s" if figure >= 1000 or figure == int(figure) else "%.3g %s") % (figure, unit)).rstrip()


def readable_ratio(ratio):
    return "%.4f" % ratio if ratio < 0.01 else "%.2f" % ratio if ratio < 100 else "%.0f" % ratio


def listed(figure):
    return figure if isinstance(figure, list) else [figure]


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def end(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Cgroups:
    """This number of cgroups below one parent; gone at the end."""

    def __init__(self, number):
        self.root = hierarchy()
        self.below = "/perfcountd-bench-%d" % os.getpid()
        self.names = ["%s/b%03d" % (self.below, n) for n in range(number)]
        try:
            os.mkdir(self.root + self.below)
        except OSError as error:
            skip("no cgroup can be made: %s" % error)
        for name in self.names:
            os.mkdir(self.root + name)

    def directories(self):
        return [self.root + name for name in self.names]

    def join(self, number, pid):
        with open(self.root + self.names[number] + "/cgroup.procs", "w") as procs:
            procs.write(str(pid))

    def remove(self):
        for directory in self.directories() + [self.root + self.below]:
            for _ in range(100):
                try:
                    os.rmdir(directory)
                    break
                except FileNotFoundError:
                    break
                except OSError:  # a process that has just ended
                    time.sleep(0.02)


def hierarchy():
    """Where perf counts cgroups: a v1 hierarchy with perf_event where there is one, else v2."""
    v1 = v2 = None
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            left, right = line.split(" - ", 1)
            kind, _, options = right.split()[:3]
            if kind == "cgroup" and "perf_event" in options.split(","):
                v1 = left.split()[4]
            elif kind == "cgroup2":
                v2 = left.split()[4]
    return v1 or v2 or skip("no cgroup hierarchy is mounted in which perf counts")


def work(cgroups, command, cpu=None, second_for_child=False):
    """
    Runs a command in the first cgroup, its first child in the second one where asked for. Returns the seconds of CPU
    time it took, with its children, and its output.
    """
    def prepare():
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        cgroups.join(0, os.getpid())

    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, preexec_fn=prepare)
    children = "/proc/%d/task/%d/children" % (process.pid, process.pid)
    moved = not second_for_child
    while not moved and not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        with contextlib.suppress(OSError), open(children) as file:
            for child in file.read().split()[:1]:
                cgroups.join(1, child)
                moved = True
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status or not moved:
        sys.exit("%s failed: %s" % (" ".join(command), output))
    return usage.ru_utime + usage.ru_stime, output


def sched_pipe(cgroups, loops, cpu):
    """
    Microseconds of an operation of `perf bench sched pipe`, its processes in two cgroups on one CPU: of wall time, and
    of CPU time.
    """
    seconds, output = work(cgroups, ["perf", "bench", "sched", "pipe", "-l", str(loops)], cpu, second_for_child=True)
    return float(re.search(r"([\d.]+) usecs/op", output)[1]), seconds / loops * 1e6
