# SPDX-License-Identifier: Apache-2.0
"""Helpers for the benchmarks: a keep-alive HTTP client, the resource usage of processes, and cgroups for workloads."""
import contextlib
import glob
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

GZIP = b"Accept-Encoding: gzip\r\n"


class Closed(RuntimeError):
    """The server closed the connection."""


class Client:
    """A client with a keep-alive connection."""

    def __init__(self, port, path="/metrics"):
        self.path = path.encode()
        self.port = port
        self.buffer = bytearray(1 << 22)
        self.connect()

    def connect(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get(self, headers=b"", path=None):
        """Returns the size of the body as sent. Retries if the server has closed the idle connection, which it may (RFC
        9112, 9.5)."""
        try:
            return self.ask(headers, path)
        except (Closed, ConnectionResetError, BrokenPipeError) as reason:
            print("port %d: %s; connecting again" % (self.port, reason), file=sys.stderr)
            self.socket.close()
            self.connect()
            return self.ask(headers, path)

    def ask(self, headers, path):
        self.send(headers, path)
        while not self.take():
            pass
        return self.filled - self.start

    def send(self, headers=b"", path=None):
        """Sends a request; take() receives the answer."""
        self.socket.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n%s\r\n" %
                            (path or self.path, headers))
        self.filled, self.start, self.length = 0, None, None

    def take(self):
        """Receives available data; returns whether the answer is complete."""
        received = self.socket.recv_into(memoryview(self.buffer)[self.filled:])
        if not received:
            raise Closed("the server closed the connection")
        self.filled += received
        if self.start is None:
            end = self.buffer.find(b"\r\n\r\n", 0, self.filled)
            if end < 0:
                return False
            self.head = bytes(self.buffer[:end + 4])
            self.start, self.length = end + 4, self.length_of(self.head)
        if self.length is None:  # chunked
            return self.buffer[max(self.start, self.filled - 5):self.filled] == b"0\r\n\r\n"
        return self.filled - self.start >= self.length

    @staticmethod
    def length_of(head):
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError("unexpected answer: %r" % head[:200])
        length = re.search(rb"content-length: *(\d+)", head, re.I)
        return int(length[1]) if length else None

    def text(self):
        """The body of the last answer."""
        return bytes(self.buffer[self.start:self.filled]).decode()

    def page(self):
        self.get()
        return self.text()

    def compresses(self):
        self.get(GZIP)
        return re.search(rb"content-encoding: *gzip", self.head, re.I) is not None


class Processes:
    """The resource usage of one or more processes and all their children."""

    def __init__(self, *roots):
        self.roots = [root.pid for root in roots]

    def pids(self):
        found = list(self.roots)
        for pid in found:
            for tasks in glob.glob("/proc/%d/task/*/children" % pid):
                with contextlib.suppress(OSError), open(tasks) as children:
                    found += [int(child) for child in children.read().split() if int(child) not in found]
        return found

    def cpu(self):
        """CPU time in seconds, by the CPU-time clock of each process (clock_getcpuclockid(3))."""
        total = 0.0
        for pid in self.pids():
            with contextlib.suppress(OSError):  # the child has just ended
                total += time.clock_gettime((~pid << 3) | 2)
        return total

    def memory(self, key):
        """Memory of each process in MB, from the line `key` of smaps_rollup."""
        figures = []
        for pid in self.pids():
            with contextlib.suppress(OSError), open("/proc/%d/smaps_rollup" % pid) as rollup:  # process may have ended
                figures.append(int(re.search(r"^%s: *(\d+) kB" % key, rollup.read(), re.M)[1]) / 1024)
        return figures

    def descriptors(self):
        return sum(len(os.listdir("/proc/%d/fd" % pid)) for pid in self.pids())

    def perf_events(self):
        return sum(perf_events(pid) for pid in self.pids())

    def wakeups(self):
        """Returns the number of voluntary context switches of all threads."""
        total = 0
        for pid in self.pids():
            for task in os.listdir("/proc/%d/task" % pid):
                with contextlib.suppress(OSError), open("/proc/%d/task/%s/status" % (pid, task)) as status:
                    total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read(), re.M)[1])
        return total

    def system_calls(self, action):
        """Returns the number of system calls that the processes make during the action, counted by strace."""
        with tempfile.NamedTemporaryFile("r") as trace:
            strace = subprocess.Popen(["strace", "-f", "-c", "-U", "calls,name", "-o", trace.name] +
                                      [word for pid in self.pids() for word in ("-p", str(pid))],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in self.pids():
                strace.stderr.readline()  # waits for strace's messages "Process N attached"
            time.sleep(0.3)
            action()
            strace.send_signal(signal.SIGTERM)
            strace.wait(10)
            return sum(int(calls) for calls, name in re.findall(r"^ *(\d+) (\w+)$", trace.read(), re.M)
                       if name not in ("total", "restart_syscall"))


class Skipped(Exception):
    """Raised with the reason why something cannot be measured on this machine."""


def skip(reason):
    raise Skipped(reason)


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


def wait_for_end(pids):
    """Waits until all processes of a contestant have exited, so that none counts during the next contestant's turn."""
    deadline = time.monotonic() + 10
    while any(os.path.exists("/proc/%d" % pid) for pid in pids):
        if time.monotonic() > deadline:
            sys.exit("processes are still running after their parent has exited: %s" % " ".join(map(str, pids)))
        time.sleep(0.01)


def perf_events(pid):
    """The number of open perf events of a process."""
    count = 0
    for link in glob.iglob("/proc/%s/fd/*" % pid):
        with contextlib.suppress(OSError):
            count += os.readlink(link) == "anon_inode:[perf_event]"
    return count


def counting():
    """The processes with open perf events, as PID and name."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if perf_events(pid):
                with open("/proc/%s/comm" % pid) as name:
                    found.append("%s (%s)" % (name.read().strip(), pid))
    return found


class Cgroups:
    """Creates this number of cgroups below one parent, and removes them on exit."""

    def __init__(self, number, name="b%03d", below="/perfcountd-bench-%d" % os.getpid()):
        self.root = hierarchy()
        self.below = below
        self.names = ["%s/%s" % (self.below, name % n) for n in range(number)]
        try:
            os.mkdir(self.root + self.below)
        except OSError as error:
            skip("cannot create cgroups: %s" % error)
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
                except OSError:  # the process has just ended
                    time.sleep(0.02)


def hierarchy():
    """The hierarchy whose cgroups perf counts: the v1 hierarchy with perf_event if mounted, else v2."""
    v1 = v2 = None
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            left, right = line.split(" - ", 1)
            kind, _, options = right.split()[:3]
            if kind == "cgroup" and "perf_event" in options.split(","):
                v1 = left.split()[4]
            elif kind == "cgroup2":
                v2 = left.split()[4]
    return v1 or v2 or skip("perf cannot use any mounted cgroup hierarchy")


def work(cgroups, command, cpu=None, second_for_child=False):
    """
    Runs a command in the first cgroup, and its first child in the second one if that is given. Returns the CPU time of
    the command and its children in seconds, and the output.
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
    Runs `perf bench sched pipe` with its two processes in two cgroups on one CPU. Returns the elapsed time and the CPU
    time per operation, in microseconds.
    """
    seconds, output = work(cgroups, ["perf", "bench", "sched", "pipe", "-l", str(loops)], cpu, second_for_child=True)
    return float(re.search(r"([\d.]+) usecs/op", output)[1]), seconds / loops * 1e6
