# SPDX-License-Identifier: Apache-2.0
"""The machine's part: cgroups with programs in them, containers with their state files, and programs come and go."""
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import threading
import time


class Machine:
    """The cgroups below one directory, and the processes that the soak starts."""

    def __init__(self, arguments):
        self.root, self.below, self.scratch = arguments["root"], arguments["below"], arguments["scratch"]
        self.program, self.load, self.docker = arguments["program"], arguments["load"], arguments["docker"]
        self.lock = threading.Lock()
        self.serial, self.processes, self.live = 0, [], []
        self.cgroups_made = self.processes_made = 0

    def next(self):
        with self.lock:
            self.serial += 1
            return self.serial

    def a_cgroup(self, choice):
        with self.lock:
            return choice.choice(self.live + [self.below])

    def a_process(self, choice):
        with self.lock:
            return choice.choice([process.pid for process in self.processes] or [os.getpid()])

    # --- cgroups

    @contextlib.contextmanager
    def cgroup(self, name):
        directory = self.root + name
        os.mkdir(directory)
        with self.lock:
            self.live.append(name)
            self.cgroups_made += 1
        try:
            yield directory
        finally:
            with self.lock:
                self.live.remove(name)
            remove(directory)

    def cgroups(self, choice):
        """Some at once, a few with one inside; names come back, now while the last one lingers and now later."""
        wave = self.next()
        names = ["%s/%s" % (self.below, choice.choice(["w%d-%d" % (wave, n), "w%d-%d" % (wave, n), "again%d-%d" % (
            n, choice.randrange(4))])) for n in range(choice.choice([1, 5, 20]))]
        with contextlib.ExitStack() as stack:
            for name in names:
                with contextlib.suppress(FileExistsError):  # one that comes back is there still
                    directory = stack.enter_context(self.cgroup(name))
                    if choice.random() < 0.2:
                        directory = stack.enter_context(self.cgroup(name + "/inner"))
                    if choice.random() < 0.7:
                        self.work_in(directory, choice)
            time.sleep(choice.choice([0, 0.05, 0.5, 1.5]))

    def work_in(self, directory, choice):
        work = choice.choice([["faults", "300"], ["spin", "5"], ["faults", "20"]])
        result = subprocess.run([self.load, directory] + work, stdin=subprocess.DEVNULL)
        if result.returncode:
            raise RuntimeError("the load in %s ended with %d" % (directory, result.returncode))
        self.processes_made += 1

    def containers(self, choice):
        """A container as Docker has it: a scope with an id, and a state file with its name."""
        number = self.next()
        identity = hashlib.sha256(b"soak %d" % number).hexdigest()
        state = "%s/%s" % (self.docker, identity)
        os.mkdir(state)
        with open(state + "/config.v2.json", "w") as file:
            json.dump({"ID": identity, "Name": "/soak-%d" % number, "State": {"Running": True}, "Config": {
                "Image": "example/app:%d" % number, "Labels": {"com.docker.compose.project": "soak"}}}, file)
        try:
            with self.cgroup("%s/docker-%s.scope" % (self.below, identity)) as directory:
                self.work_in(directory, choice)
                time.sleep(choice.choice([0.1, 1]))
        finally:
            shutil.rmtree(state)

    # --- programs

    def programs(self, choice):
        """Programs of files that are new, with threads, and functions compiled at run time; some are killed."""
        running = []
        for _ in range(choice.choice([1, 2, 5])):
            path = "%s/p%d" % (self.scratch, self.next())
            shutil.copy(self.program, path)
            with open(path, "ab") as file:
                file.write(choice.randbytes(16))
            running.append((path, self.start(path, choice)))
            time.sleep(choice.choice([0, 0.1]))
        for path, process in running:
            if choice.random() < 0.2:
                process.kill()
            process.wait(timeout=60)
            with self.lock:
                self.processes.remove(process)
            for name in path, "/tmp/perf-%d.map" % process.pid:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name)

    def start(self, path, choice):
        process = subprocess.Popen([path, str(choice.choice([50, 300, 1500])), str(choice.choice([1, 2, 8])),
                                    str(choice.getrandbits(30))], stdin=subprocess.DEVNULL)
        with self.lock:
            self.processes.append(process)
            self.processes_made += 1
        return process

    def hotplug(self, choice):
        """The last CPU goes, and comes back."""
        path = "/sys/devices/system/cpu/cpu%d/online" % (os.sysconf("SC_NPROCESSORS_CONF") - 1)
        for value in "0", "1":
            with open(path, "w") as file:
                file.write(value)
            time.sleep(choice.choice([0, 0.3, 1]))


def can_hotplug():
    path = "/sys/devices/system/cpu/cpu%d/online" % (os.sysconf("SC_NPROCESSORS_CONF") - 1)
    return os.access(path, os.W_OK)


def remove(directory):
    for _ in range(500):
        try:
            os.rmdir(directory)
            return
        except FileNotFoundError:
            return
        except OSError:  # a process that has just ended, or a cgroup inside
            time.sleep(0.01)
    raise RuntimeError("%s stays" % directory)
