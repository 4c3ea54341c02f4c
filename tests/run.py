#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the test suite: `./quickstart test` installs what it needs and calls this.

usage: run.py [--all | --only=NAME[,NAME...]] [--repeat=N] [--list | --packages]

A step is a row in the table below, a unit test, a page test, or a script in tests/e2e. The head of a script says what
it needs:

    # set: quick                 or all
    need curl jq                 the programs that it runs; PACKAGES has their packages
    # packages: python3-X        packages without a program, such as Python modules
    # engines: perf bpf          runs once with each of these values of the environment variable ENGINE
    # alone: WHY                 runs while no other step runs

--only takes step names, globs, and names of groups (unit, e2e, page, ...); --list prints them. A script in tests/e2e
may be named without "e2e/" and without its engine. A failed step is not repeated. Exit status 77 means that the step
was skipped. A line "SKIP: WHAT" in the output of a step that passes means that a part of it could not run because this
machine lacks WHAT (a few words, such as "a hardware PMU"). build/test has a log for each step, and results.tsv with the
columns outcome, name and seconds.
"""
import argparse
import fnmatch
import os
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build")
LOGS = os.path.join(BUILD, "test")
CPUS = os.cpu_count() or 1
SCRIPTS = "tests/e2e"
HANGS = 7200  # seconds; no step takes nearly that long, even on a busy machine

# The Debian package of each program whose package has another name. "unpack:X" is unpacked below build/tools instead of
# installed, so that it starts no service on this machine. "" stands for a program that is always installed.
PACKAGES = {
    "/usr/bin/python3": "python3",
    "cc": "",
    "chrt": "",
    "clang-runtime": "clang-runtime",
    "cmocka": "libcmocka-dev",
    "gpg": "gnupg",
    "gzip": "",
    "gnutls-cli": "gnutls-bin",
    "haproxy": "unpack:haproxy",
    "ip": "iproute2",
    "kubectl": "unpack:kubernetes-client",
    "nginx": "unpack:nginx",
    "nft": "nftables",
    "node": "nodejs",
    "nsenter": "",
    "objdump": "binutils",
    "perf": "linux-perf",
    "pgrep": "procps",
    "pprof": "unpack:pprof",
    "prlimit": "",
    "prometheus": "unpack:prometheus",
    "prometheus-alertmanager": "unpack:prometheus-alertmanager",
    "prometheus-node-exporter": "unpack:prometheus-node-exporter",
    "promtool": "unpack:prometheus unpack:promtool",  # a separate package since Debian 13
    "protoc": "protobuf-compiler",
    "readelf": "binutils",
    "strip": "binutils",
    "setpriv": "",
    "setsid": "",
    "sha256sum": "",
    "taskset": "",
    "unshare": "",
    "victoria-metrics": "unpack:victoria-metrics",
    "vmagent": "unpack:victoria-metrics",
    "xmllint": "libxml2-utils",
    "xz": "xz-utils",
}
BUILDS = {
    "plain": ("-O2 -g", "--enable-werror"),
    "sanitized": ("-O0 -g1", "--enable-werror", "--enable-asan", "--enable-ubsan"),
    "clang": ("-O0 -g1", "CC=clang", "--enable-werror", "--enable-asan", "--enable-ubsan", "--enable-fuzzing"),
}
# What is built besides the daemon: everything for "make check", or only what scripts in tests/e2e and tests/systemd
# start.
BUILD_REST = {"plain": "tests/impostor/impostor tests/impostor/symboliser-impostor"}
BUILD_PROGRAMS = {"plain": "cmocka", "sanitized": "cmocka", "clang": "cmocka clang clang-runtime"}

# What each group of steps tests; printed at the end of a run.
GROUPS = {
    "build": "the daemon, its tests and its benchmarks build without a warning",
    "rules": "which folder may include which; versions and figures in the documents",
    "unit": "every unit test, with the address and undefined-behaviour sanitizers",
    "e2e": "the daemon on this kernel: perf events, cgroups, HTTP, TLS, reload, opener, sampler",
    "page": "the page: its model in node, its views in a real browser",
    "boards": "emulated arm64 boards with real PMUs, running Linux 5.10 and 6.1",
    "distro": "Debian 11, 12 and 13, `make distcheck`, Debian packages",
    "systemd": "the installed service, in a container with systemd",
    "containers": "podman, docker and containerd, systemd-nspawn and LXC",
    "pressure": "too little memory, CPU time, disk space, descriptors; kernel limits at their minimum",
    "faults": "failing system calls and allocations: at 7,100 of 16,700 places, 1,600 with sanitizers",
    "fuzz": "each fuzzer, built by clang, with a limited number of inputs",
    "soak": "a random mix of hundreds of actions of clients and of the machine",
    "armhf": "a 32-bit ARM build: its unit tests under qemu, its daemon on emulated boards with 64-bit kernels",
    "dashboards": "each query of the Grafana dashboards, sent to a real Prometheus",
    "lint": "shellcheck on the scripts, clang-format on the C code",
}


class Step:
    """A command with a unique name and a group, which is the part of the name before the slash."""

    def __init__(self, name, command, group_set="all", programs="", needs=(), alone=False, environment=None,
                 timeout=HANGS):
        self.name, self.command, self.set = name, command, group_set
        self.group = name.partition("/")[0]
        self.names = {name}  # the names that --only accepts for this step
        self.programs, self.needs, self.alone = programs.split(), tuple(needs), alone
        self.environment, self.timeout = environment or {}, timeout
        self.state = "waiting"  # later "running", "passed", "skipped" or "failed"
        self.seconds = 0.0

    def log(self):
        return os.path.join(LOGS, re.sub(r"[^A-Za-z0-9]+", "-", self.name) + ".log")


def daemon(build):
    return {"PERFCOUNTD": os.path.join(BUILD, build, "perfcountd")}


def build_step(name, group_set):
    flags, *arguments = BUILDS[name]
    directory = os.path.join(BUILD, name)
    script = """
        mkdir -p "$0" && cd "$0" || exit
        if [ ! -e Makefile ] || [ "$(cat arguments 2>/dev/null)" != "$*" ]; then
            ../../configure "$@" && echo "$*" >arguments || exit
        fi
        make -j{cpus} all && make -j{cpus} {rest}""".format(cpus=CPUS, rest=BUILD_REST.get(name, "check TESTS="))
    if name == "clang":
        script += " CFLAGS='-O0 -fsyntax-only' CCLD=true AR=true RANLIB=true && make -j%d fuzzers" % CPUS
    return Step("build/" + name, ["sh", "-c", script, directory, "CFLAGS=" + flags] + arguments, group_set,
                BUILD_PROGRAMS[name])


def table():
    """Returns all steps except unit tests, page tests and scripts. Long steps come first, so that none of them is the
    last one."""
    plain, browser = ["build/plain"], "chromium node openssl"
    arm64 = {"VM_BUILD": os.path.join(BUILD, "arm64")}
    check_faults = os.path.join("tests", "faults", "check-faults")
    faults = {build: {"CHECK_FAULTS": os.path.join(BUILD, build, check_faults)} for build in ("plain", "sanitized")}
    sample = "make -C build/plain -j%d %s && exec tests/faults/run.sh --points=500" % (CPUS, check_faults)
    dist = "make -C build/plain -j%d distcheck DISTCHECK_CONFIGURE_FLAGS=CFLAGS=-O0 AM_MAKEFLAGS='check_PROGRAMS= TESTS='"
    scripts_of = "git ls-files -- '*.sh' quickstart .ci/run bench/footprint contrib/apt/publish contrib/release | " \
                 "xargs shellcheck"
    return [
        build_step("plain", "quick"),
        build_step("sanitized", "quick"),
        Step("rules/includes", ["tests/check-includes.py", ROOT, os.path.join(BUILD, "sanitized")], "quick",
             needs=["build/sanitized"]),
        Step("rules/runner", ["tests/run-test.py"], "quick"),
        Step("rules/quickstart", ["tests/quickstart.sh"], "quick"),
        Step("rules/documents", ["tests/check-docs.sh"], "quick", needs=plain, environment=daemon("plain")),
        Step("page/model", ["sh", "-c", "exec tests/page/run.sh tests/page/unit/*.test.mjs"], "quick", browser,
             plain, environment=daemon("plain")),
        Step("page/first", ["tests/page/run.sh", "tests/page/first.test.mjs"], "quick", browser, plain,
             environment=daemon("plain")),
        Step("boards/run", ["tests/vm/run.sh"], environment=arm64),
        Step("boards/hour", ["tests/vm/run.sh", "hour"], environment=arm64),
        Step("armhf/unit", ["tests/distro/armhf.sh"]),
        Step("faults/sample", ["sh", "-c", sample], needs=plain, environment=faults["plain"]),
        Step("armhf/boards", ["tests/vm/run.sh", "armhf-6.1", "armhf-5.10"], needs=["armhf/unit"], environment=arm64),
        Step("faults/sanitized", ["tests/faults/run.sh", "--points=100"], needs=["build/sanitized"],
             environment=faults["sanitized"]),
        Step("faults/calls", ["tests/faults/calls.sh"], "all", "strace", plain, environment=daemon("plain")),
        Step("distro/others", ["tests/distro/run.sh", "--others"]),
        Step("distro/packages", ["tests/package/build.sh"], environment={"ARCHITECTURES": "native"}),
        Step("distro/service", ["tests/package/run.sh"], "all", "gpg reprepro", ["build/plain", "distro/packages"],
             environment=dict(daemon("plain"), ARCHITECTURES="native")),
        Step("distro/release", ["tests/package/release.sh"], "all", "gpg reprepro", ["distro/packages"]),
        Step("distro/archive", ["sh", "-c", dist % CPUS], needs=plain),
        Step("systemd/units", ["tests/systemd/units.sh"], needs=plain, environment=daemon("plain")),
        Step("systemd/push", ["tests/systemd/push.sh"], "all", "openssl prometheus vmagent", plain,
             environment=daemon("plain")),
        Step("containers/runtimes", ["tests/containers/runtimes.sh"], "all", "ip prometheus", plain,
             environment=daemon("plain")),
        Step("containers/image", ["tests/containers/image.sh"], "all", "ip", plain, environment=daemon("plain")),
        Step("containers/machines", ["tests/containers/machines.sh"], needs=plain, environment=daemon("plain")),
        Step("dashboards/queries", ["tests/dashboards.sh"], "all", "prometheus node", ["build/plain", "boards/run"],
             environment=dict(daemon("plain"), **arm64)),
        Step("pressure/run", ["tests/pressure/run.sh"] + ["%s.sh" % name for name in (
             "cgroups", "cpu", "descriptors", "disk", "memory", "slow-clients", "stopped")], "all", "prlimit strace",
             plain, environment=daemon("plain")),
        Step("pressure/limits", ["tests/pressure/run.sh", "kernel-limits.sh"], "all", "prlimit", plain, True,
             daemon("plain")),  # changes sysctls of the whole machine
        Step("soak/rounds", ["tests/soak/run.sh"], needs=plain, environment=daemon("plain")),
        Step("soak/jobs", ["tests/soak/jobs.sh", "1000"], "long", needs=plain, environment=daemon("plain")),
        build_step("clang", "all"),
        Step("fuzz/run", ["tests/fuzz/run-fuzzers", os.path.join(BUILD, "clang")], needs=["build/clang"]),
        Step("lint/shellcheck", ["sh", "-c", scripts_of], "all", "shellcheck"),
        Step("lint/format", ["sh", "-c", "git ls-files -- '*.[ch]' | xargs clang-format --dry-run -Werror"], "all",
             "clang-format"),
        Step("rules/bpf-object", ["tests/bpf-object.py"], "all", "clang objdump"),
    ]


def header(path):
    """Returns the settings at the head of a script, by name; "need" has the programs in all lines `need PROGRAM...`."""
    words = {"need": ""}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.match(r"# (set|engines|packages|alone): (.*)", line)
            if match:
                words[match.group(1)] = match.group(2).split("#")[0].strip()
            elif line.startswith("need "):
                words["need"] += " " + re.sub(r"\$\S*|\"[^\"]*\"|#.*", "", line[5:])
    words["need"] += " " + words.get("packages", "")
    return words


def packages(steps):
    programs = {program for step in steps for program in step.programs}
    return sorted({package for program in programs for package in PACKAGES.get(program, program).split()})


def scripts():
    """Returns a step for each script in tests/e2e, or one for each engine if the script names engines."""
    steps = []
    for name in sorted(os.listdir(os.path.join(ROOT, SCRIPTS))):
        path = os.path.join(SCRIPTS, name)
        if not name.endswith(".sh") or not os.access(os.path.join(ROOT, path), os.X_OK):
            continue
        words = header(os.path.join(ROOT, path))
        if words.get("set") not in ("quick", "all"):
            sys.exit("%s: the head lacks a line \"# set: quick\" or \"# set: all\"" % path)
        for engine in words.get("engines", "").split() or [None]:
            steps.append(Step(
                "e2e/%s%s" % (name[:-3], "-" + engine if engine else ""), [path], words["set"], words["need"],
                ["build/plain"], alone="alone" in words,
                environment=dict(daemon("plain"), **({"ENGINE": engine} if engine else {}))))
            steps[-1].names |= {name[:-3], "e2e/" + name[:-3]}
    return steps


def page_tests():
    """Returns a step for each test file that runs in a browser, except board.test.mjs, which dashboards.sh runs."""
    folder = os.path.join(ROOT, "tests", "page")
    return [Step("page/" + name[:-9], ["tests/page/run.sh", os.path.join(folder, name)], "all",
                 "chromium firefox-esr node nginx openssl", ["build/plain"], environment=daemon("plain"))
            for name in sorted(os.listdir(folder))
            if name.endswith(".test.mjs") and name not in ("first.test.mjs", "board.test.mjs")]


def unit_tests():
    """Returns a step for each unit test, found by its source file, since the program may not be built yet."""
    folder = os.path.join(ROOT, "tests", "unit")
    directory = os.path.join(BUILD, "sanitized")
    return [Step("unit/" + name[5:-2], [os.path.join(directory, "tests", "unit", name[:-2])], "quick", "",
                 ["build/sanitized"], environment=dict(daemon("sanitized"), srcdir=ROOT))
            for name in sorted(os.listdir(folder)) if name.startswith("test-") and name.endswith(".c")]


class Run:
    """Runs steps in order, one per CPU at a time, and each one after the steps it needs."""

    def __init__(self, steps):
        self.steps, self.begin, self.done, self.skips = steps, time.monotonic(), 0, {}
        self.by_name = {step.name: step for step in steps}
        self.condition = threading.Condition()
        self.running = set()

    def remove_logs(self):
        """Removes the logs of earlier runs of the same steps, but not the logs of other steps."""
        os.makedirs(LOGS, exist_ok=True)
        for step in self.steps:
            if os.path.exists(step.log()):
                os.remove(step.log())

    def unmet(self, step):
        return [need for need in step.needs if need in self.by_name and self.by_name[need].state != "passed"]

    def next_step(self):
        """Waits until a step can run, and returns it; None if no step is left."""
        with self.condition:
            while True:
                waiting = [step for step in self.steps if step.state == "waiting"]
                if not waiting:
                    return None
                for step in waiting:
                    unmet = self.unmet(step)
                    if any(self.by_name[need].state in ("failed", "skipped") for need in unmet):
                        step.state = "failed"
                        self.report(step, "%s did not pass" % unmet[0])
                        self.condition.notify_all()
                        break
                    if unmet or any(other.alone for other in self.running):
                        continue
                    if step.alone and (self.running or any(not other.alone for other in waiting)):
                        continue
                    step.state = "running"
                    self.running.add(step)
                    if step.group == "build":
                        print("%3d of %d, %4d s: begins  %s" % (
                            self.done, len(self.steps), time.monotonic() - self.begin, step.name), flush=True)
                    return step
                else:
                    self.condition.wait()

    def lane(self):
        while True:
            step = self.next_step()
            if not step:
                return
            begin = time.monotonic()
            status, remark = attempt(step)
            with self.condition:
                step.seconds = time.monotonic() - begin
                step.state = {0: "passed", 77: "skipped"}.get(status, "failed")
                self.running.discard(step)
                self.report(step, remark)
                self.condition.notify_all()

    def report(self, step, remark):
        """Prints a progress line and, for a failed step, an excerpt of its log. Must be called with the lock held."""
        self.done += 1
        for reason in skipped_parts(step):
            self.skips.setdefault(reason, step.name)
        if step.group == "unit" and step.state == "passed" and self.done % 20 and self.done != len(self.steps):
            return
        print("%3d of %d, %4d s: %-7s %s%s%s" % (
            self.done, len(self.steps), time.monotonic() - self.begin, step.state, step.name,
            " (%.0f s)" % step.seconds if step.seconds >= 1 else "", ": " + remark if remark else ""), flush=True)
        if step.state == "failed" and os.path.exists(step.log()):
            print(excerpt(step.log()), flush=True)

    def all(self):
        lanes = [threading.Thread(target=self.lane, daemon=True) for _ in range(CPUS)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            while lane.is_alive():
                lane.join(1)

    def kill(self):
        with self.condition:
            for step in self.running:
                if getattr(step, "process", None):
                    end(step.process)


def end(process):
    """Kills the process group of a step."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def attempt(step):
    """Runs a step, and writes its output to its log. Returns the exit status, and a remark on a failure."""
    with open(step.log(), "w", encoding="utf-8") as log:
        try:
            step.process = subprocess.Popen(step.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT,
                                            env=dict(os.environ, **step.environment), start_new_session=True)
        except OSError as error:
            return 1, str(error)
        try:
            status = step.process.wait(step.timeout)
        except subprocess.TimeoutExpired:
            end(step.process)
            return 1, "did not end within %d s" % step.timeout
        finally:
            end(step.process)  # kills processes that the step left running
    if status == 0 and misspelt(step.log()):
        return 1, "the shell could not run one of its lines"
    if status == 0 and step.group == "unit" and silent_skips(step.log()):
        return 1, "a test in it is skipped without a reason"
    return status, "" if status in (0, 77) else "exit status %d; the log is %s" % (
        status, os.path.relpath(step.log(), ROOT))


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def misspelt(path):
    """Returns whether the log has an error message from the shell: the command that it could not run may have been a
    check."""
    return re.search(r"\.sh: line \d+: .*(command not found|(integer|unary|binary) .*expected|unbound variable|"
                     r"syntax error)", text_of(path))


def silent_skips(path):
    """Returns whether cmocka skipped more tests than gave a reason."""
    text = text_of(path)
    names = set(re.findall(r"^\[  SKIPPED \] ([a-zA-Z_]\w*)$", text, re.MULTILINE))
    return len(names) > len(re.findall(r"^ *SKIP: ", text, re.MULTILINE))


def excerpt(path):
    """Returns the lines of a log that say why a step failed, or its last lines."""
    lines = text_of(path).splitlines()
    telling = [i for i, line in enumerate(lines)
               if re.search(r"^NOT OK|^not ok|\[  FAILED  \]|\[  ERROR   \]|error:|warning:|ERROR: |^failed: ", line)]
    chosen = sorted({j for i in telling[:8] for j in range(i, min(i + 8, len(lines)))}) or range(
        max(0, len(lines) - 30), len(lines))
    return "\n".join("    | " + lines[i][:300] for i in list(chosen)[:50])


def skipped_parts(step):
    """Returns what the step lacked on this machine. In a unit test, the test function's name precedes it."""
    found = re.findall(r"^ *(?:SKIP|skipped): (?:\w+: )?(.*)$", text_of(step.log()), re.MULTILINE)
    return found if step.state in ("passed", "skipped") else []


def named(steps, word):
    """Returns the steps of the group `word`; if there is no such group, the steps whose name matches."""
    return [step for step in steps if step.group == word] or [
        step for step in steps if any(fnmatch.fnmatchcase(name, word) for name in step.names)]


def select(steps, arguments):
    """Returns the steps to run, including the builds they need."""
    if arguments.only:
        found = {word: named(steps, word) for word in arguments.only.split(",")}
        unknown = sorted(word for word in found if not found[word])
        if unknown:
            sys.exit("no such step or group: %s (see ./quickstart test --list)" % ", ".join(unknown))
        chosen = [step for of_word in found.values() for step in of_word]
    else:
        chosen = [step for step in steps if step.set == "quick" or (arguments.all and step.set == "all")]
    needs = {need for step in chosen for need in step.needs}
    return [step for step in steps if step in chosen or step.name in needs]


def repeated(steps, n):
    """Returns each step `n` times, and each build once."""
    if n == 1:
        return steps
    tests = []
    for i in range(1, n + 1):
        for step in steps:
            if step.group != "build":
                tests.append(Step("%s/%d" % (step.name, i), step.command, step.set, "", step.needs, step.alone,
                                  step.environment, step.timeout))
    return [step for step in steps if step.group == "build"] + tests


def print_list(steps):
    for group in dict.fromkeys(step.group for step in steps):
        print("%s: %s" % (group, GROUPS.get(group, "")))
        marks = {"quick": "", "all": " (--all)", "long": " (--only)"}
        names = [step.name + marks[step.set] for step in steps if step.group == group]
        print("    " + "\n    ".join(names))
    print("(--all): not run by ./quickstart test alone; (--only): long, runs only if named")


def summary(run, steps, arguments):
    print()
    ran = [step for step in run.steps if step.state in ("passed", "failed")]
    for group in dict.fromkeys(step.group for step in ran):
        of_group = [step for step in ran if step.group == group]
        print("tested: %-10s %3d  %s" % (group, len(of_group), GROUPS.get(group, "")))
    if run.skips:
        print("not here: " + "; ".join(sorted(run.skips)))
    left = sorted({step.group for step in steps} - {step.group for step in run.steps} - {"lint"})
    names = {step.name for step in run.steps}
    more = sum(1 for step in steps if step.name not in names and step.group not in left and step.set != "long")
    if not arguments.only and (left or more):
        print("not tested: %s, and %d longer tests in the groups above; ./quickstart test --all runs everything" %
              (", ".join(left), more))
    failed = [step for step in run.steps if step.state == "failed"]
    passed = sum(1 for step in run.steps if step.state == "passed")
    print("%d passed, %d failed, %d skipped, in %d s; the logs are in build/test" % (
        passed, len(failed), sum(1 for step in run.steps if step.state == "skipped"), time.monotonic() - run.begin))
    for step in failed:
        print("failed: %s" % step.name)
    with open(os.path.join(LOGS, "results.tsv"), "w", encoding="utf-8") as file:
        for step in run.steps:
            file.write("%s\t%s\t%.1f\n" % (step.state, step.name, step.seconds))
    return 0 if passed and not failed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="run everything")
    parser.add_argument("--only", metavar="NAME[,NAME...]", help="run only these steps or groups of steps")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each step N times, but builds once")
    parser.add_argument("--list", action="store_true", help="print the names of all steps")
    parser.add_argument("--packages", action="store_true", help="print the Debian packages that the steps need")
    arguments = parser.parse_args()
    steps = table() + scripts() + page_tests() + unit_tests()
    if arguments.list:
        print_list(steps)
        return 0
    chosen = select(steps, arguments)
    if arguments.packages:
        print("\n".join(packages(chosen)))
        return 0
    tools = os.path.join(BUILD, "tools", "usr")
    os.environ["PATH"] = ":".join([os.environ.get("PATH", "/usr/bin:/bin"), "/usr/sbin", "/sbin",
                                   os.path.join(tools, "bin"), os.path.join(tools, "sbin")])
    run = Run(repeated(chosen, arguments.repeat))
    run.remove_logs()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run.all()
    finally:
        run.kill()
    return summary(run, steps, arguments)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
