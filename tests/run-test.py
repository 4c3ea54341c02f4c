#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests run.py, which runs all other tests: runs made-up steps, and checks states, exit status and output."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True
import run

failures = 0


def check(title, got, expected):
    global failures
    if got != expected:
        failures += 1
        print("NOT OK: %s: expected %r, got %r" % (title, expected, got))


def outcome(*steps):
    """Runs the steps. Returns their states, separated by spaces, the exit status, and the output."""
    with tempfile.TemporaryDirectory() as run.LOGS, contextlib.redirect_stdout(io.StringIO()) as out:
        made = run.Run(list(steps))
        made.all()
        status = run.summary(made, list(steps), types.SimpleNamespace(only=None))
    return " ".join(step.state for step in steps), status, out.getvalue()


def sh(name, script, **keywords):
    return run.Step(name, ["sh", "-c", script], **keywords)


def main():
    for title, steps, states, status, text in (
            ("a step that passes", [sh("a", "true")], "passed", 0, "1 passed, 0 failed, 0 skipped"),
            ("a step that fails", [sh("a", "true"), sh("e2e/b", "echo NOT OK: seven; exit 1")], "passed failed", 1,
             "| NOT OK: seven"),
            ("the names of failed steps are repeated at the end", [sh("e2e/b", "exit 1")], "failed", 1,
             "failed: e2e/b\n"),
            ("no steps", [], "", 1, "0 passed"),
            ("a run that skips every step fails", [sh("a", "echo skipped: no PMU; exit 77")], "skipped", 1,
             "not here: no PMU"),
            ("a step that skips one of its parts", [sh("a", "echo SKIP: no PMU; echo SKIP: no PMU")], "passed", 0,
             "not here: no PMU\n"),
            ("a step waits for the steps that it needs", [sh("b", "true", needs=["a"]), sh("a", "sleep 0.1; true")],
             "passed passed", 0, ""),
            ("a step that needs a failed step", [sh("a", "false"), sh("b", "true", needs=["a"])], "failed failed", 1,
             "b: a did not pass"),
            ("a step that hangs", [sh("a", "sleep 60", timeout=0.2)], "failed", 1, "did not end within"),
            ("a program that is missing", [run.Step("a", ["/nonexistent"])], "failed", 1, "No such file"),
            ("a command that the shell could not find", [sh("a", "echo x.sh: line 3: equls: command not found")], "failed", 1,
             "could not run one of its lines"),
            ("a unit test that is skipped without a reason", [sh("unit/a", "echo '[  SKIPPED ] test_b'")], "failed", 1,
             "skipped without a reason"),
            ("a unit test that is skipped with a reason",
             [sh("unit/a", "echo SKIP: test_b: a PMU; echo '[  SKIPPED ] test_b'")], "passed", 0,
             "not here: a PMU"),
            ("a step that must run alone runs last", [sh("a", "true", alone=True), sh("b", "true")], "passed passed", 0,
             "1 of 2"),
    ):
        got_states, got_status, out = outcome(*steps)
        check(title, (got_states, got_status), (states, status))
        check(title + ", and says so", text in out, True)
    with tempfile.TemporaryDirectory() as folder:
        left = os.path.join(folder, "left")
        outcome(sh("a", "(sleep 0.3; touch %s) & exit 0" % left))
        check("processes that a step leaves running are killed", os.path.exists(left), False)
    with tempfile.TemporaryDirectory() as run.LOGS:
        for name in ("e2e-a", "e2e-b"):
            open(os.path.join(run.LOGS, name + ".log"), "w", encoding="utf-8").close()
        run.Run([sh("e2e/a", "true"), sh("e2e/c", "true")]).remove_logs()
        check("logs of steps that do not run are kept", os.listdir(run.LOGS), ["e2e-b.log"])
    for script in ("tests/e2e/smoke.sh", "tests/page/run.sh"):
        ended = subprocess.run([os.path.join(run.ROOT, script)], capture_output=True, text=True, check=False,
                               env=dict(os.environ, PERFCOUNTD="/nonexistent/perfcountd"))
        check(script + " tests only the program in PERFCOUNTD", (ended.returncode, ended.stderr),
              (1, "cannot find the program /nonexistent/perfcountd: build it, or set PERFCOUNTD=/path\n"))
    steps = run.table() + run.scripts() + run.page_tests() + run.unit_tests()
    for only, expected in (
            ("e2e/cgroup", "build/plain e2e/cgroup-bpf e2e/cgroup-perf"),
            ("cgroup,e2e/http", "build/plain e2e/cgroup-bpf e2e/cgroup-perf e2e/http"),
            ("e2e/cgroup-perf", "build/plain e2e/cgroup-perf"),
            ("unit/cpus*", "build/sanitized unit/cpuset"),
            ("e2e/cgroup-v*,tls", "build/plain e2e/cgroup-v1-bpf e2e/cgroup-v1-perf e2e/tls"),
            ("rules", "build/plain build/sanitized rules/bpf-object rules/documents rules/includes rules/quickstart rules/runner"),
            ("nothing,x*z", "no such step or group: nothing, x*z (see ./quickstart test --list)")):
        try:
            chosen = run.select(steps, types.SimpleNamespace(only=only, all=False))
            check("--only=" + only, " ".join(sorted(step.name for step in chosen)), expected)
        except SystemExit as error:
            check("--only=" + only, str(error), expected)
    page = run.select(steps, types.SimpleNamespace(only="page", all=False))
    check("a group takes precedence over a script of the same name", "e2e/page" in [step.name for step in page], False)
    names = [step.name for step in steps]
    check("names are unique", len(names), len(set(names)))
    check("each group has a description", {step.group for step in steps} - set(run.GROUPS), set())
    check("all steps that other steps need exist", {need for step in steps for need in step.needs} - set(names), set())
    print("%d failures" % failures)
    return 1 if failures else 0


sys.exit(main())
