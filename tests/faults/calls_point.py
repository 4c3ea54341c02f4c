# SPDX-License-Identifier: Apache-2.0
"""One point: a call of a process fails, in one phase of a daemon's life, and what became of it."""
import os
import re
import signal
import time

import calls_errors
from calls_aim import Missed, Strace, catch_child, let_go, seize, wait_for
from calls_scenario import Steps
from calls_service import Service, digits_away

PROCESSES = ("daemon", "opener", "reader", "symboliser", "worker")
PHASES = {"daemon": ("start", "serve", "end"), "opener": ("start", "serve"), "reader": ("start", "serve"),
          "symboliser": ("start", "serve"), "worker": ("serve",)}
END_SECONDS = 6  # of a daemon by SIGTERM
CRASH = re.compile(r"SIG(SEGV|ABRT|BUS|ILL|FPE|SYS|TRAP|PIPE|XCPU)|AddressSanitizer|LeakSanitizer|runtime error:")
# A daemon that is idle but for the scenario needs much less of a CPU than one that spins.
CPU_SHARE = 0.75


class Point:
    def __init__(self, name):
        self.name = name
        self.process, self.phase, self.call, self.error, self.when = name.split(":")

    def injection(self, skipped):
        """As strace has it; `skipped` calls are of the dynamic linker."""
        kind = self.error if "=" in self.error else "error=" + self.error
        if self.when == "every":
            return "%s:when=%d+" % (kind, skipped + 1)
        return "%s:when=%d" % (kind, skipped + int(self.when))

    def may_end(self, ended):
        """Whether the process may end of this."""
        if self.phase in ("start", "end"):
            return True
        return ended != "daemon" or (self.when == "every" and (self.process, self.call) in calls_errors.ESSENTIAL)


class Run:
    """`counts` has of the run without failures what this one is compared with."""

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
        """The daemon, with the aim taken where the point is of a start."""
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
        """The scenario without a fault."""
        self.steps.exact()
        self.steps.all(lambda: False)
        if self.steps.wrong:
            raise Missed("before the fault: %s; log: %s" % (self.steps.wrong, self.service.messages()[-3:]))

    def aim(self):
        """At a process that serves."""
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
            import threading
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
            raise Missed("there is no %s" % point.process)
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
                self.defect("said %d times: %s" % (n, text))

    def check_end_sentence(self):
        """Of a daemon that ended."""
        status, messages = self.service.status, self.service.messages()
        errors = [text for level, text, _ in messages if level in ("error", "raw")]
        if status < 0:
            self.defect("it was ended by signal %d" % -status)
        elif status == 0:
            self.defect("it ended with status 0")
        elif not errors:
            self.defect("it ended with status %d and without a sentence" % status)
        else:
            said = (calls_errors.text(self.point.error) or "").lower()
            if said and not any(said in text.lower() or self.point.error in text or ";" in text or
                                text == "out of memory" for text in errors):
                self.defect("it ended without a reason: %s" % errors[-1])

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
        if self.point.call in calls_errors.LEAVES_OPEN:
            return
        # Without inotify(7), the counters of a cgroup that has gone are closed by the next rescan.
        if any("only by rescans" in text for _, text, _ in self.service.messages()):
            return

        def more():
            after = self.service.descriptors()
            return {k: (before.get(k, 0), n) for k, n in after.items() if before and n > before.get(k, 0)}
        left = wait_for(lambda: not more(), 3, 0.05)
        if not left:
            self.defect("open before and after: %s" % more())

    def injected(self):
        return sum("(INJECTED)" in line for line in self.strace.lines()) if self.strace else 0

    # --- phases

    def under_fault(self, first):
        """The scenario while the call fails."""
        began, cpu = time.monotonic(), self.service.cpu_seconds()
        self.service.timeout = 1.5
        every = self.point.when == "every"
        self.steps.all(lambda: every and len(self.steps.wrong) > 4 and time.monotonic() - began > 2)
        if every and not self.steps.wrong:
            time.sleep(0.2)
        elapsed = time.monotonic() - began
        self.cpu = self.service.cpu_seconds() - cpu
        if self.cpu > CPU_SHARE * elapsed + 0.2:
            self.defect("%.2f s of CPU time in %.2f s" % (self.cpu, elapsed))
        return began

    def says_lost(self, first):
        return any("is gone" in text or "are not named" in text for _, text, _ in self.new_messages(first))

    def after_fault(self, first, began):
        service = self.service
        service.timeout = 5
        messages = self.new_messages(first)
        unsaid = self.steps.unsaid
        degraded = self.steps.wrong
        if unsaid and not messages and self.point.call not in calls_errors.UNHEARD:
            self.defect("nothing was said of: %s" % "; ".join(unsaid[:3]))
        self.check_log(messages, time.monotonic() - began)
        if not service.alive():
            return degraded
        lost = {r for r in ("opener", "reader") if not service.process(r)}
        for role in lost:
            # The process has ended already; the daemon hears of it a moment later.
            if not wait_for(lambda: self.says_lost(first), 2, 0.02):
                self.defect("the %s is gone, and nothing says so" % role)
            if self.point.when != "every" and self.point.phase == "serve":
                self.defect("the %s ended of one failure" % role)
        steps = Steps(service)
        self.steps = steps
        deadline = time.monotonic() + 6
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

    def baseline_descriptors(self):
        return self.counts.get("descriptors", {})

    def outcome(self, degraded):
        service = self.service
        if self.defects:
            return "DEFECT"
        if self.ended:
            return "ended with a sentence"
        if self.strace and not self.injected():
            return "not reached"
        return "degraded and back" if degraded else "absorbed"

    def play(self):
        service, point = self.service, self.point
        self.start()
        if point.phase == "start" and point.process != "symboliser":
            why = service.ready(3 if point.call in calls_errors.UNHEARD else 10)
            if why and service.alive() and point.call in calls_errors.UNHEARD:
                self.strace.end()
                why = service.ready()
            before, first, degraded = self.baseline_descriptors(), 0, []
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
                return self.play_end()
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
        """Of descriptors, once nothing is asked."""
        last = None
        for _ in range(20):
            now = self.service.descriptors()
            if now == last:
                break
            last = now
            time.sleep(0.03)
        return last

    def play_end(self):
        self.trace([self.service.pid])
        time.sleep(0.03)
        why = self.service.stop(END_SECONDS)
        if why:
            self.defect(why)
        elif self.service.status < 0:
            self.defect("it was ended by signal %d" % -self.service.status)
        elif self.service.status > 0:
            self.check_end_sentence()
        return self.result([], {})

    def finish(self):
        why = self.service.stop(END_SECONDS)
        if why:
            self.defect(why)
        elif self.service.status != 0:
            self.defect("it ended with status %s after SIGTERM: %s" % (self.service.status, self.last_words()))

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


def play(name, program, tools, scratch, hierarchy, counts):
    """The result of a point as a dict."""
    began = time.monotonic()
    point = Point(name)
    service = Service(program, tools, scratch, hierarchy)
    run = Run(point, service, counts)
    try:
        result = run.play()
    except Missed as error:
        result = {"name": name, "outcome": "MISSED", "defects": [str(error)], "injected": 0, "degraded": [], "said": []}
    finally:
        if run.strace:
            run.strace.end()
        service.cleanup()
    result["seconds"] = round(time.monotonic() - began, 1)
    return result
