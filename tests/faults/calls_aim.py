# SPDX-License-Identifier: Apache-2.0
"""Aims strace(1) at one process: at one that runs, or at one from its first instruction on.

strace follows all children or none, so a child is stopped here by ptrace(2) before it runs, and left to strace.
"""
import ctypes
import os
import signal
import subprocess
import time

TRACEME, CONT, DETACH, SETOPTIONS, GETEVENTMSG, SEIZE, INTERRUPT = 0, 7, 17, 0x4200, 0x4201, 0x4206, 0x4207
TRACE_FORK, TRACE_VFORK, TRACE_EXEC = 2, 4, 0x10
EVENT_FORK, EVENT_VFORK, EVENT_EXEC = 1, 2, 4
WALL = 0x40000000  # __WALL of waitpid(2)
PATIENCE = 10

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Missed(Exception):
    """The process did not come, or was gone before it could be traced."""


def ptrace(request, pid, data=None):
    if libc.ptrace(request, pid, None, data) < 0:
        error = ctypes.get_errno()
        raise Missed("ptrace(%#x, %d): %s" % (request, pid, os.strerror(error)))


def wait_for(condition, seconds=PATIENCE, step=0.002):
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
    """Ends tracing by this process."""
    if stopped:
        os.kill(pid, signal.SIGSTOP)
    ptrace(DETACH, pid)
    if stopped and not wait_for(lambda: status_field(pid, "State") in ("T", "Z", None)):
        raise Missed("process %d did not stop" % pid)


def event_of(status):
    return status >> 16 if os.WIFSTOPPED(status) else 0


def take_child(child, at_exec):
    """A new child, which is stopped: leaves it stopped, at once or when it has become another program."""
    os.waitpid(child, WALL)
    if at_exec:
        ptrace(SETOPTIONS, child, TRACE_EXEC)
        ptrace(CONT, child)
        while True:
            _, status = os.waitpid(child, WALL)
            if not os.WIFSTOPPED(status):
                raise Missed("the child ended before it was another program")
            if event_of(status) == EVENT_EXEC:
                break
            ptrace(CONT, child, os.WSTOPSIG(status))
    let_go(child, stopped=True)
    return child


def catch_child(pid, nth, at_exec):
    """Of a process that this one traces and that is stopped: its nth child, left stopped. The process goes on."""
    ptrace(SETOPTIONS, pid, TRACE_FORK | TRACE_VFORK)
    pending = 0
    while True:
        ptrace(CONT, pid, pending)
        end = time.monotonic() + PATIENCE
        status = 0
        while time.monotonic() < end:
            found, status = os.waitpid(pid, WALL | os.WNOHANG)
            if found:
                break
            time.sleep(0.001)
        else:
            raise Missed("no child number %d came" % nth)
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
        if event_of(status) == EVENT_VFORK:  # it waits in the kernel until its child is another program
            let_go(pid)
            return take_child(message.value, at_exec)
        child = take_child(message.value, at_exec)
        let_go(pid)
        return child


def seize(pid):
    """Traces a process that runs, and stops it."""
    ptrace(SEIZE, pid)
    ptrace(INTERRUPT, pid)
    os.waitpid(pid, WALL)


class Strace:
    """strace(1) on the threads of a process, whose calls it lists, or makes to fail."""

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
        if not traced or self.process.poll() not in (None, 0):  # 0: the process has ended of it already
            raise Missed("strace: %s" % self.process.stderr.read().decode(errors="replace").strip())

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def lines(self):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
