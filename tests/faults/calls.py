#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes each system call of each process of a real daemon fail on the real kernel, with strace(1).

usage: calls.py PROGRAM TOOLS SCRATCH HIERARCHY [--seed=N] [--sample=N] [--all] [--only=REGEX] [--list] [--jobs=N]
                [POINT...]

A point is PROCESS:PHASE:CALL:ERROR:WHEN, such as daemon:serve:openat:EMFILE:10. By default, the points in
calls-known.txt, which once revealed defects, and a random sample of the others are tried; --seed determines the sample.
With --all, all points are tried. First, each process and phase is run without failures, to count its calls of each
kind.
"""
import argparse
import collections
import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from calls_daemon import (EVENT_SECONDS, Missed, Service, Steps, Strace, catch_child, digits_away, let_go, seize,
                          wait_for)

# --- the errors of each call, from its manual page, and the processes that may exit on a failure

# If a call is made on several kinds of descriptors, the errors of all of them are listed.
ERRORS = {
    "accept4": "EMFILE ENFILE ENOMEM ECONNABORTED EINTR",
    "access": "EACCES", "faccessat2": "EACCES ENOSYS",
    "bind": "EADDRINUSE EACCES", "listen": "EADDRINUSE",
    "bpf": "EPERM ENOMEM E2BIG",
    "brk": "retval=0",
    "capget": "EPERM", "capset": "EPERM",
    "clone": "EAGAIN ENOMEM", "clone3": "EAGAIN ENOSYS", "vfork": "EAGAIN",
    "close": "EINTR EIO", "close_range": "ENOSYS EMFILE",
    "connect": "ECONNREFUSED",
    "dup": "EMFILE", "dup2": "EMFILE EBUSY",
    "epoll_create1": "EMFILE ENOMEM", "epoll_ctl": "ENOMEM ENOSPC", "epoll_wait": "EINTR EINVAL",
    "epoll_pwait": "EINTR", "epoll_pwait2": "EINTR ENOSYS",
    "eventfd2": "EMFILE ENFILE", "execve": "ENOMEM EACCES",
    "fadvise64": "EINVAL", "fcntl": "EMFILE EPERM", "flock": "EINTR", "fstatfs": "EIO ENOSYS",
    "ftruncate": "EIO EPERM",
    "getdents64": "EIO ENOENT", "getpeername": "ENOBUFS", "getsockname": "ENOBUFS", "getsockopt": "ENOMEM",
    "getrandom": "EINTR", "getrusage": "EINVAL",
    "inotify_add_watch": "ENOSPC ENOMEM", "inotify_init1": "EMFILE ENOMEM", "inotify_rm_watch": "EINVAL",
    "ioctl": "EINVAL ENOMEM",
    "kill": "EPERM ESRCH", "lseek": "EINVAL", "madvise": "EINVAL ENOMEM", "memfd_create": "EMFILE ENOMEM",
    "mmap": "ENOMEM", "mprotect": "ENOMEM", "mremap": "ENOMEM", "munmap": "ENOMEM",
    "name_to_handle_at": "EOPNOTSUPP ENOMEM", "newfstatat": "EACCES ENOMEM", "fstat": "ENOMEM", "statx": "ENOMEM",
    "openat": "EMFILE ENFILE ENOMEM EACCES", "open": "EMFILE EACCES",
    "perf_event_open": "EMFILE ENOMEM EACCES EBUSY", "pidfd_open": "EMFILE ENOSYS",
    "poll": "EINTR ENOMEM", "ppoll": "EINTR ENOMEM",
    "prctl": "EINVAL EPERM", "pread64": "EIO", "prlimit64": "EPERM", "setrlimit": "EPERM",
    "read": "EINTR EIO EAGAIN", "readv": "EIO", "readlink": "EACCES ENOMEM", "readlinkat": "ENOMEM",
    "recvfrom": "EINTR EAGAIN ENOMEM", "recvmsg": "EINTR EAGAIN ENOMEM",
    "rt_sigaction": "EINVAL", "rt_sigprocmask": "EINVAL", "sched_getaffinity": "EINVAL",
    "sched_setscheduler": "EPERM", "sched_setattr": "EPERM", "setpriority": "EPERM",
    "seccomp": "EINVAL ENOMEM EACCES",
    "sendfile": "EAGAIN EIO", "sendmsg": "EINTR ENOBUFS ENOMEM", "sendto": "EINTR EAGAIN ENOBUFS EPIPE",
    "sendmmsg": "ENOMEM", "writev": "EPIPE EAGAIN",
    "setgroups": "EPERM ENOMEM", "setresgid": "EPERM", "setresuid": "EPERM EAGAIN",
    "setsockopt": "ENOMEM EINVAL", "shutdown": "ENOTCONN",
    "signalfd4": "EMFILE ENOMEM", "socket": "EMFILE EAFNOSUPPORT ENOBUFS", "socketpair": "EMFILE ENFILE",
    "statfs": "EIO", "sysinfo": "EFAULT", "times": "EFAULT",
    "timerfd_create": "EMFILE ENOMEM", "timerfd_settime": "EINVAL", "uname": "EFAULT",
    "unlink": "EACCES", "wait4": "EINTR ECHILD", "waitid": "EINTR ECHILD",
    "write": "EINTR EAGAIN ENOSPC EIO", "clock_nanosleep": "EINTR",
}
# Calls that cannot fail as used here. futex(2) is one of them because libc ends the process on undocumented errors.
NEVER = {
    "clock_gettime", "futex",
    "alarm", "exit", "exit_group", "getegid", "geteuid", "getgid", "getpid", "getppid", "getresgid", "getresuid",
    "gettid", "getuid", "restart_syscall", "rt_sigreturn", "sched_yield", "set_tid_address", "arch_prctl",
    "set_robust_list", "rseq", "umask", "sigaltstack",
}
# Temporary errors, after which a program retries the call. The kernel never returns them for every call.
NOT_EVERY = {"EINTR", "EAGAIN"}
# Errors that do not occur at every call: recv(2) runs out of memory only for a moment, and the daemon polls the socket
# until the call succeeds; if munmap(2) always failed, mappings would fill the address space.
NOT_EVERY_OF = {("recvfrom", "ENOMEM"), ("munmap", "ENOMEM")}
# Calls of the event loop itself, which exits with a message if it cannot continue. The kernel returns such an error for
# every call or never.
ONLY_EVERY = {("epoll_wait", "EINVAL"), ("timerfd_settime", "EINVAL")}
# Errors that cannot occur on the descriptors of a process, and that libc does not expect.
IMPOSSIBLE = {
    ("worker", "write"): {"ENOSPC", "EIO", "EAGAIN"},  # these processes write only to an eventfd
    ("daemon", "write"): {"ENOSPC", "EIO", "EAGAIN"},
    # The opener has the capabilities to read any program's files.
    ("opener", "openat"): {"EACCES"},
    ("opener", "recvmsg"): {"EAGAIN"}, ("reader", "recvmsg"): {"EAGAIN"}, ("symboliser", "recvmsg"): {"EAGAIN"},
    # these processes list only /proc/self/fd, which always exists
    ("opener", "getdents64"): {"ENOENT"}, ("reader", "getdents64"): {"ENOENT"},
    ("symboliser", "getdents64"): {"ENOENT"},
    # these processes read and write only when epoll(7) reports the descriptor as ready
    ("daemon", "recvfrom"): {"EAGAIN"}, ("daemon", "sendto"): {"EAGAIN"},
    ("daemon", "read"): {"EAGAIN"}, ("opener", "read"): {"EAGAIN"}, ("symboliser", "read"): {"EAGAIN"},
    ("reader", "read"): {"EAGAIN"},
}
# Most of these calls are EPOLL_CTL_DEL, which needs no memory, and strace cannot select EPOLL_CTL_ADD.
REMOVES = {("daemon", "serve", "epoll_ctl"), ("daemon", "end", "epoll_ctl")}
# While these calls fail, the daemon cannot answer any client, which is not a defect.
UNNOTICED = {"accept4", "recvfrom", "sendto", "sendmsg", "epoll_ctl", "epoll_wait", "setsockopt", "shutdown"}
# If a failure is injected into one of these calls, the kernel does not run it, so the descriptor stays open or the
# mapping stays in place.
LEAVES_OPEN = {"close", "munmap", "close_range", "inotify_rm_watch"}

# Calls that a process needs to serve requests: if they always fail, it may exit with a message.
ESSENTIAL = {
    ("daemon", "epoll_wait"), ("daemon", "read"), ("daemon", "timerfd_settime"),
    ("opener", "recvmsg"), ("opener", "sendmsg"), ("reader", "recvmsg"), ("reader", "sendmsg"),
}


def injections(process, call):
    """Returns the errors to inject, as strace names them."""
    return [error for error in ERRORS[call].split() if error not in IMPOSSIBLE.get((process, call), ())]


def error_text(name):
    """Returns the error's text as it appears in messages."""
    number = getattr(errno, name, None)
    return os.strerror(number) if number else None


# --- a point

PROCESSES = ("daemon", "opener", "reader", "symboliser", "worker")
PHASES = {"daemon": ("start", "serve", "end"), "opener": ("start", "serve"), "reader": ("start", "serve"),
          "symboliser": ("start", "serve"), "worker": ("serve",)}
FAULT_SECONDS = 5  # if a call fails every time, the awaited event may never occur
CRASH = re.compile(r"SIG(SEGV|ABRT|BUS|ILL|FPE|SYS|TRAP|PIPE|XCPU)|AddressSanitizer|LeakSanitizer|runtime error:")
# Limit on the daemon's CPU time per second under the scenario's load. A daemon that spins exceeds it.
CPU_SHARE = 0.75


class Point:
    def __init__(self, name):
        self.name = name
        self.process, self.phase, self.call, self.error, self.when = name.split(":")

    def injection(self, skipped):
        """Returns the injection in strace's syntax. It skips `skipped` calls, which the dynamic linker makes."""
        kind = self.error if "=" in self.error else "error=" + self.error
        if self.when == "every":
            return "%s:when=%d+" % (kind, skipped + 1)
        return "%s:when=%d" % (kind, skipped + int(self.when))

    def may_end(self, ended):
        """Returns whether the process may end because of the failure."""
        if self.phase in ("start", "end"):
            return True
        return ended != "daemon" or (self.when == "every" and (self.process, self.call) in ESSENTIAL)


class Run:
    """One run of the scenario; `counts` has the results of the run without failures."""

    def __init__(self, point, service, counts):
        self.point, self.service, self.counts = point, service, counts
        self.defects = []
        self.steps = Steps(service)
        self.strace = None
        self.cpu = 0
        self.ended = False

    def defect(self, text):
        self.defects.append(text)

    # --- aim

    def trace(self, threads):
        point, key = self.point, "%s:%s" % (self.point.process, self.point.phase)
        call = point.call if point.call != "*" else None
        skipped = self.counts.get(key, {}).get("skipped", {}).get(call, 0) if call else 0
        self.strace = Strace(threads, self.service.scratch + "/strace", call,
                             point.injection(skipped) if call else None)

    def start(self):
        """Starts the daemon, with strace attached if the point is in a start phase."""
        service, point = self.service, self.point
        service.spawn()
        if point.phase != "start" or point.process == "symboliser":
            let_go(service.pid)
            return
        if point.process == "daemon":
            let_go(service.pid, stopped=True)
            stopped = service.pid
        else:
            stopped = catch_child(service.pid, 1 if point.process == "reader" else 2, False)
            service.caught[point.process] = stopped
        self.trace([stopped])
        os.kill(stopped, signal.SIGCONT)

    def warm(self):
        """Runs the scenario without a fault."""
        self.steps.exact()
        self.steps.all(lambda: False)
        if self.steps.wrong:
            raise Missed("before the fault: %s; log: %s" % (self.steps.wrong, self.service.messages()[-3:]))

    def aim(self):
        """Attaches strace to a process that serves."""
        service, point = self.service, self.point
        if point.process == "worker":
            threads = [int(t) for t in os.listdir("/proc/%d/task" % service.pid) if int(t) != service.pid]
        elif point.process == "symboliser" and point.phase == "start":
            old = service.process("symboliser")
            if old:
                os.kill(old, signal.SIGKILL)
                wait_for(lambda: service.process("symboliser") is None)
            seize(service.pid)
            service.start_hot()
            client = threading.Thread(target=lambda: service.answers_to("/api/v1/folded?seconds=0.2&frequency=200"))
            client.start()
            child = catch_child(service.pid, 1, True)
            self.trace([child])
            os.kill(child, signal.SIGCONT)
            client.join()
            service.end_hot()
            return
        else:
            threads = [service.process(point.process)]
        if not threads or not all(threads):
            raise Missed("the %s is not running" % point.process)
        self.trace(threads)
        time.sleep(0.03)

    # --- judge

    def new_messages(self, first):
        return [m for m in self.service.messages()[first:] if m[0] in ("warning", "error", "raw")]

    def check_log(self, messages, seconds):
        bare = {}
        for _, text, _ in messages:
            bare[digits_away(text)] = bare.get(digits_away(text), 0) + 1
        for text, n in bare.items():
            if n > 3 + 2 * seconds:
                self.defect("logged %d times: %s" % (n, text))

    def check_end_sentence(self):
        """Checks that a daemon that exited has logged why."""
        status, messages = self.service.status, self.service.messages()
        errors = [text for level, text, _ in messages if level in ("error", "raw")]
        if status < 0:
            self.defect("the daemon was killed by signal %d" % -status)
        elif status == 0:
            self.defect("the daemon exited with status 0")
        elif not errors:
            self.defect("the daemon exited with status %d without an explanation" % status)
        else:
            said = (error_text(self.point.error) or "").lower()
            if said and not any(said in text.lower() or self.point.error in text or ";" in text or
                                text == "out of memory" for text in errors):
                self.defect("the daemon exited without giving the reason: %s" % errors[-1])

    def check_crash(self):
        with open(self.service.log, encoding="utf-8", errors="replace") as log:
            match = CRASH.search(log.read())
        if match:
            self.defect("the log has %s" % match.group(0))
        for line in self.strace.lines() if self.strace else []:
            if line.startswith("+++ killed") or " +++ killed" in line:
                if CRASH.search(line):
                    self.defect("the process was %s" % line.strip("+ "))

    def check_descriptors(self, before):
        if self.point.call in LEAVES_OPEN:
            return
        # Without inotify(7), the counters of a removed cgroup are closed at the next rescan.
        if any("only by rescans" in text for _, text, _ in self.service.messages()):
            return

        def more():
            after = self.service.descriptors()
            return {k: (before.get(k, 0), n) for k, n in after.items() if before and n > before.get(k, 0)}
        left = wait_for(lambda: not more(), step=0.05)
        if not left:
            self.defect("more open descriptors after the fault (before, after): %s" % more())

    def injected(self):
        return sum("(INJECTED)" in line for line in self.strace.lines()) if self.strace else 0

    # --- phases

    def under_fault(self, first):
        """Runs the scenario while the call fails."""
        began, cpu = time.monotonic(), self.service.cpu_seconds()
        every = self.point.when == "every"
        self.service.patience = FAULT_SECONDS if every else EVENT_SECONDS
        self.steps.all(lambda: every and len(self.steps.wrong) > 4 and time.monotonic() - began > 2)
        if every and not self.steps.wrong:
            time.sleep(0.2)
        elapsed = time.monotonic() - began
        self.cpu = self.service.cpu_seconds() - cpu
        if self.cpu > CPU_SHARE * elapsed + 0.2:
            self.defect("%.2f s of CPU time in %.2f s" % (self.cpu, elapsed))
        return began

    def says_lost(self, first):
        return any("is gone" in text or "cannot be read from state files" in text
                   for _, text, _ in self.new_messages(first))

    def after_fault(self, first, began):
        service = self.service
        service.patience = EVENT_SECONDS
        messages = self.new_messages(first)
        unsaid = self.steps.unsaid
        degraded = self.steps.wrong
        if unsaid and not messages and self.point.call not in UNNOTICED:
            self.defect("no message mentions: %s" % "; ".join(unsaid[:3]))
        self.check_log(messages, time.monotonic() - began)
        if not service.alive():
            return degraded
        lost = {r for r in ("opener", "reader") if not service.process(r)}
        for role in lost:
            # The process has already ended; the daemon notices a moment later.
            if not wait_for(lambda: self.says_lost(first), step=0.02):
                self.defect("no message says that the %s has exited" % role)
            if self.point.when != "every" and self.point.phase == "serve":
                self.defect("a single failure ended the %s" % role)
        steps = Steps(service)
        self.steps = steps
        deadline = time.monotonic() + EVENT_SECONDS
        while True:
            steps.wrong, steps.unsaid = [], []
            if lost:
                steps.totals()
            else:
                steps.strict()
            if not steps.wrong or time.monotonic() > deadline or not service.alive():
                break
            time.sleep(0.3)
        if not service.alive():
            return degraded
        for wrong in steps.wrong:
            self.defect("after the fault: " + wrong)
        return degraded

    def outcome(self, degraded):
        service = self.service
        if self.defects:
            return "DEFECT"
        if self.ended:
            return "exited with a message"
        if self.strace and not self.injected():
            return "not reached"
        return "degraded, then recovered" if degraded else "absorbed"

    def run(self):
        service, point = self.service, self.point
        self.start()
        if point.phase == "start" and point.process != "symboliser":
            why = service.ready(FAULT_SECONDS if point.call in UNNOTICED else EVENT_SECONDS)
            if why and service.alive() and point.call in UNNOTICED:
                self.strace.end()
                why = service.ready()
            before, first, degraded = self.counts.get("descriptors", {}), 0, []
            if not service.alive():
                self.check_end_sentence()
            elif why:
                self.defect(why)
            began = time.monotonic()
            if point.call != "*" and service.alive():
                self.strace.end()
                degraded = self.after_fault(first, began)
        else:
            if service.ready():
                raise Missed("the daemon does not start: %s" % service.messages()[-3:])
            self.warm()
            before, first = self.rest(), len(service.messages())
            if point.phase == "end":
                return self.sim_end()
            self.aim()
            began = self.under_fault(first)
            if not service.alive():
                self.check_end_sentence()
                if not point.may_end("daemon"):
                    self.defect("the daemon ended: %s" % self.last_words())
            if point.call != "*":
                self.strace.end()
            degraded = self.after_fault(first, began)
        self.ended = not service.alive()
        if not self.ended:
            self.check_descriptors(before)
            self.finish()
        return self.result(degraded, before)

    def rest(self):
        """Returns the open descriptors once they have stopped changing."""
        last = None
        for _ in range(20):
            now = self.service.descriptors()
            if now == last:
                break
            last = now
            time.sleep(0.03)
        return last

    def sim_end(self):
        self.trace([self.service.pid])
        time.sleep(0.03)
        why = self.service.stop()
        if why:
            self.defect(why)
        elif self.service.status < 0:
            self.defect("the daemon was killed by signal %d" % -self.service.status)
        elif self.service.status > 0:
            self.check_end_sentence()
        return self.result([], {})

    def finish(self):
        why = self.service.stop()
        if why:
            self.defect(why)
        elif self.service.status != 0:
            self.defect("the daemon exited with status %s after SIGTERM: %s" % (self.service.status, self.last_words()))

    def last_words(self):
        return "; ".join(text for _, text, _ in self.service.messages()[-2:])

    def result(self, degraded, before):
        if self.strace:
            self.strace.end()
        self.check_crash()
        self.defects += self.service.truth.wrong
        lines = self.strace.lines() if self.strace and self.point.call == "*" else []
        return {"name": self.point.name, "outcome": self.outcome(degraded), "defects": self.defects,
                "injected": self.injected(), "degraded": degraded[:4], "cpu": round(self.cpu, 2), "lines": lines,
                "descriptors": before, "said": [m[1] for m in self.new_messages(0)][-6:],
                "status": self.service.status}


def run_one_point(name, program, tools, scratch, hierarchy, counts):
    """Runs a point; returns its result as a dict."""
    began = time.monotonic()
    point = Point(name)
    service = Service(program, tools, scratch, hierarchy)
    run = Run(point, service, counts)
    try:
        result = run.run()
    except Missed as error:
        result = {"name": name, "outcome": "MISSED", "defects": [str(error)], "injected": 0, "degraded": [], "said": []}
    finally:
        if run.strace:
            run.strace.end()
        service.cleanup()
    result["seconds"] = round(time.monotonic() - began, 1)
    return result


# --- all points

WHENS = ("1", "2", "10", "every")
SECONDS_MAX = 600  # limit for one point; longer than any wait within it
CALL = re.compile(r"^(?:\[pid\s+\d+\] |\d+ +)?(\w+)\(")


def calls_in(lines):
    return [match.group(1) for match in map(CALL.match, lines) if match]


def split_linker(lines):
    """Splits a program's calls into those of the dynamic linker and all others."""
    end = next((i for i, line in enumerate(lines) if "munmap(" in line), -1)
    return lines[:end + 1], lines[end + 1:]


def run_points(arguments, names, counts):
    """Runs each point in its own process; yields the results as they arrive."""
    waiting, running = collections.deque(names), {}
    own = os.path.abspath(__file__)
    with open(arguments.scratch + "/counts", "w", encoding="utf-8") as file:
        json.dump(counts, file)
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            name = waiting.popleft()
            scratch = "%s/%d" % (arguments.scratch, time.monotonic_ns())
            os.mkdir(scratch)
            os.chmod(scratch, 0o755)
            process = subprocess.Popen([sys.executable, own, arguments.program, arguments.tools, scratch,
                                        arguments.hierarchy, "--counts=" + arguments.scratch + "/counts",
                                        "--one=" + name], stdout=open(scratch + "/result", "w", encoding="utf-8"))
            running[process] = (name, scratch, time.monotonic())
        for process, (name, scratch, began) in list(running.items()):
            late = time.monotonic() - began > SECONDS_MAX
            if process.poll() is None and not late:
                continue
            process.kill() if late else None
            process.wait()
            del running[process]
            try:
                with open(scratch + "/result", encoding="utf-8") as file:
                    result = json.load(file)
            except ValueError:
                result = {"name": name, "outcome": "DEFECT", "defects": ["the point hangs"] if late else
                          ["point gave no result"], "injected": 0, "degraded": [], "said": [], "seconds": SECONDS_MAX}
            shutil.rmtree(scratch)
            yield result
        time.sleep(0.01)


def measure(arguments, pairs):
    """Counts the calls of each process in each phase."""
    counts = {}
    for result in run_points(arguments, ["%s:%s:*:none:1" % pair for pair in pairs], {}):
        if result["defects"]:
            sys.exit("without a failure, %s: %s" % (result["name"], "; ".join(result["defects"])))
        process, phase = result["name"].split(":")[:2]
        lines, skipped = result["lines"], []
        if phase == "start" and process in ("daemon", "symboliser"):
            skipped, lines = split_linker(lines)
        counts["%s:%s" % (process, phase)] = {"skipped": dict(collections.Counter(calls_in(skipped))),
                                              "calls": dict(collections.Counter(calls_in(lines)))}
        if (process, phase) == ("daemon", "serve"):
            counts["descriptors"] = result["descriptors"]
    return counts


def is_brief(call, error):
    return error in NOT_EVERY or (call, error) in NOT_EVERY_OF


def points_of(process, phase, calls):
    for call, n in sorted(calls.items()):
        if call in NEVER or (process, phase, call) in REMOVES:
            continue
        for error in injections(process, call):
            for when in WHENS:
                if when.isdigit() and (int(when) > n or (call, error) in ONLY_EVERY):
                    continue
                if when == "every" and is_brief(call, error) or phase == "end" and when == "10":
                    continue
                yield "%s:%s:%s:%s:%s" % (process, phase, call, error, when)


def all_points(counts):
    unknown = {call for key, known in counts.items() if ":" in key for call in known["calls"]
               if call not in ERRORS and call not in NEVER}
    if unknown:
        sys.exit("no errors are known for: %s; add them to ERRORS in calls.py" % ", ".join(sorted(unknown)))
    return [name for process, phases in PHASES.items() for phase in phases
            for name in points_of(process, phase, counts["%s:%s" % (process, phase)]["calls"])]


def sample(names, seed, n):
    """Chooses n names by their hashes, so that the choice of a name hardly depends on the other names."""
    return sorted(names, key=lambda name: hashlib.sha256(b"%d%s" % (seed, name.encode())).digest())[:n]


def known_points(names):
    """Returns the points of calls-known.txt that exist on this machine."""
    with open(os.path.dirname(os.path.abspath(__file__)) + "/calls-known.txt", encoding="utf-8") as file:
        known = [line.strip() for line in file if line[0] not in "#\n"]
    return [name for name in known if name in names]


def try_points(arguments, names, counts):
    began, results = time.monotonic(), []
    for result in run_points(arguments, names, counts):
        results.append(result)
        good = result["outcome"] not in ("DEFECT", "MISSED")
        if arguments.verbose or not good:
            print("%s %s (%.1f s): %s" % ("ok:" if good else "NOT OK:", result["name"], result["seconds"],
                                          result["outcome"]))
            for line in [] if good and not arguments.verbose else result["defects"] + [
                    "then: " + wrong for wrong in result["degraded"]] + ["log: " + said for said in result["said"]]:
                print("    " + line[:300])
            sys.stdout.flush()
    outcomes = collections.Counter(result["outcome"] for result in results)
    print("%d points of %d tried in %d s, %d calls failed: %s" % (
        len(results), len(names), time.monotonic() - began, sum(result["injected"] for result in results),
        ", ".join("%s %d" % pair for pair in sorted(outcomes.items()))))
    return outcomes["DEFECT"] + outcomes["MISSED"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "tools", "scratch", "hierarchy"):
        parser.add_argument(name)
    for name in ("--only", "--one", "--counts"):
        parser.add_argument(name)
    for name in ("--seed", "--sample"):
        parser.add_argument(name, type=int, default={"--seed": 1, "--sample": 50}[name])
    for name in ("--all", "--list", "--verbose"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count())
    parser.add_argument("points", nargs="*")
    arguments = parser.parse_intermixed_args()
    counts = {}
    if arguments.counts:
        with open(arguments.counts, encoding="utf-8") as file:
            counts = json.load(file)
    if arguments.one:
        print(json.dumps(run_one_point(arguments.one, arguments.program, arguments.tools, arguments.scratch,
                              arguments.hierarchy, counts)))
        return
    if not counts:
        counts = measure(arguments, [(p, phase) for p, phases in PHASES.items() for phase in phases])
    names = arguments.points or all_points(counts)
    print("%d points, --seed=%d" % (len(names), arguments.seed))
    if arguments.only:
        names = [name for name in names if re.search(arguments.only, name)]
    elif not arguments.all and not arguments.points:
        names = list(dict.fromkeys(known_points(names) + sample(names, arguments.seed, arguments.sample)))
    if arguments.list:
        print("\n".join(names))
        return
    sys.exit(1 if try_points(arguments, names, counts) else 0)


if __name__ == "__main__":
    main()
