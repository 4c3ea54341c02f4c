# SPDX-License-Identifier: Apache-2.0
"""The servers that perfcountd is compared with. Each counts the same software events on every CPU."""
import glob
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request

import lib

EVENTS = "context-switches,cpu-migrations,page-faults,minor-faults,major-faults"
N_EVENTS = 5
CPU_CONFIG = """
web: {min_interval: %s}
collectors:
  cpu:
    groups:
      - {name: bench, events: "{%s}"}
  cgroup: {enabled: false}
"""
CGROUP_CONFIG = """
collectors:
  cpu: {enabled: false}
  cgroup:
    include: ["%s/*"]
    groups:
      - {name: bench, events: "{%s}"}
"""


class Absent(Exception):
    """Raised with the reason why a peer is not compared."""


class Server:
    """One or more processes; the first one serves the pages."""

    name = path = None
    awaited = b""  # the server is ready once a page contains this

    def __init__(self, commands, port, path="/metrics", environment=None, patience=10):
        begin = time.monotonic()
        self.started = []
        self.port, self.path = port, path
        for command in commands:
            self.started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.PIPE, env=environment))
        self.processes = lib.Processes(*self.started)
        while True:
            try:
                self.client = lib.Client(port, path)
                self.page_size = self.client.get()
                if self.awaited not in self.client.page().encode():
                    raise RuntimeError("its page does not contain %s" % self.awaited.decode())
                break
            except (OSError, RuntimeError) as error:
                ended = [process for process in self.started if process.poll() is not None]
                if ended or time.monotonic() - begin > patience:
                    self.stop()
                    words = b"".join(process.stderr.read() for process in self.started).decode().strip()
                    raise Absent("%s does not answer: %s" % (commands[-1][0], words or error)) from error
                time.sleep(0.001)
        self.first_scrape = time.monotonic() - begin
        self.rounds = {}
        self.batch = 1
        self.refuses = False  # wrk

    def warm_up(self, scrapes):
        """Sets the number of scrapes per round to at most this number, so that a slow server does not delay the
        rounds."""
        begin = time.monotonic()
        count = 0
        while count < scrapes or time.monotonic() < begin + 0.2:
            self.client.get()
            count += 1
            if time.monotonic() > begin + 0.5:
                break
        self.batch = max(3, min(scrapes, int(count * 0.05 / (time.monotonic() - begin))))

    def measure_cpu(self, kind, headers=b""):
        """Adds the CPU time of a scrape, in microseconds, to the figures of that kind."""
        scrapes, before = self.batch, self.processes.cpu()
        for _ in range(scrapes):
            self.client.get(headers)
        self.rounds.setdefault(kind, []).append((self.processes.cpu() - before) / scrapes * 1e6)

    def measure_requests(self, seconds):
        url = "http://127.0.0.1:%d%s" % (self.port, self.path)
        command = ["wrk", "-t1", "-c8", "-d%ds" % seconds, url]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            # pmproxy sometimes refuses connections.
            time.sleep(2)
            run = subprocess.run(command, check=True, capture_output=True, text=True)
        output = run.stdout
        if "Non-2xx" in output or "Socket errors" in output:
            print("wrk had errors with %s:\n%s" % (self.name, output), file=sys.stderr)
        self.rounds.setdefault("requests", []).append(float(re.search(r"Requests/sec: *([\d.]+)", output)[1]))

    def try_requests(self, seconds):
        """Like measure_requests(). If wrk fails with a peer, this is reported, and the peer is no longer measured."""
        if self.refuses:
            return
        try:
            self.measure_requests(seconds)
        except subprocess.CalledProcessError as error:
            self.refuses = True
            words = (error.stderr or error.stdout).strip().splitlines() or ["exit status %d" % error.returncode]
            print("not compared: requests per second of %s, since wrk failed twice: %s" % (self.name, words[-1]))

    def measure_calls(self):
        """Returns the system calls per scrape."""
        def scrape():
            for _ in range(self.batch):
                self.client.get()

        return self.processes.system_calls(scrape) / self.batch

    def stop(self):
        family = self.processes.pids()
        for process in self.started:
            lib.end(process)
        lib.wait_for_end(family)


class Perfcountd(Server):
    name = "perfcountd"

    def __init__(self, build, directory, config="", wrapper=(), flags=(), **more):
        port = lib.free_port()
        self.file = os.path.join(directory, "perfcountd-%d.yaml" % port)
        self.configure(config)
        super().__init__([[*wrapper, os.path.join(build, "perfcountd"), "--config.file=" + self.file,
                           "--log.level=error", "--web.listen-address=127.0.0.1:%d" % port, *flags]], port, **more)

    def configure(self, config):
        with open(self.file, "w") as file:
            file.write(config)

    def url(self, path):
        return "http://127.0.0.1:%d%s" % (self.port, path)

    def reload(self, config):
        """Reloads the configuration, which must set local_operators."""
        self.configure(config)
        request = urllib.request.Request(self.url("/-/reload"), method="POST")
        with urllib.request.urlopen(request, timeout=60) as response:
            response.read()

    def watched(self):
        """Returns the number of counted cgroups."""
        found = re.search(r'^perfcountd_cgroups\{state="watched"\} (\d+)', self.client.page(), re.M)
        return int(found[1]) if found else 0


class BarePage(Server):
    """bench/bare as a server of a constant page; optionally, it first reads the group of each CPU."""

    def __init__(self, build, size, reads=False, wrapper=(), **more):
        self.name = "a bare page with counter reads" if reads else "the bare page"
        port = lib.free_port()
        super().__init__([[*wrapper, os.path.join(build, "bench", "bare"), "server", str(port), str(size)] +
                          ["reads"] * reads], port, **more)


class BareReads:
    """bench/bare, which only reads the same groups, or only copies a number of bytes."""

    def __init__(self, build, n_events=N_EVENTS, cgroups=()):
        self.process = subprocess.Popen([os.path.join(build, "bench", "bare"), "reads", str(n_events), *cgroups],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        """Returns the CPU time and the wall time of a round, in microseconds."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("bench/bare exited")
        return tuple(float(figure) / 1000 for figure in answer.split())

    def read(self, rounds):
        return self.ask("read %d" % rounds)

    def copy(self, rounds, size):
        return self.ask("copy %d %d" % (rounds, size))

    def stop(self):
        self.process.stdin.close()
        self.process.wait(10)


class NodeExporter(Server):
    name = "node_exporter"

    def __init__(self, tools):
        port = lib.free_port()
        super().__init__([[find(tools, "prometheus-node-exporter", "usr/bin/prometheus-node-exporter"),
                           "--collector.disable-defaults", "--collector.perf", "--web.disable-exporter-metrics",
                           "--log.level=error", "--web.listen-address=127.0.0.1:%d" % port]], port)


class Pcp(Server):
    """
    PCP: pmproxy requests values from pmcd, which requests them from pmdaperfevent. The client sends the
    same requests as Prometheus. All paths are redirected into the tools and scratch directories.
    """

    name = "PCP"

    def __init__(self, tools, directory):
        find(tools, "pmproxy", "usr/lib/pcp/bin/pmproxy")
        if os.geteuid() != 0:
            raise Absent("only root can run the unpacked pmcd")
        port = lib.free_port()
        binaries = os.path.join(tools, "usr/lib/pcp")
        home = os.path.join(directory, "pcp-%d" % port)
        environment = self.configure(tools, binaries, home)
        super().__init__([
            [binaries + "/bin/pmcd", "-f", "-U", "root", "-i", "127.0.0.1", "-c", home + "/pmcd.conf", "-n",
             home + "/pmns", "-l", home + "/pmcd.log", "-s", home + "/pmcd.socket"],
            [binaries + "/bin/pmproxy", "-f", "-U", "root", "-p", str(port), "-i", "127.0.0.1", "-c",
             home + "/pmproxy.conf", "-l", home + "/pmproxy.log", "-s", home + "/pmproxy.socket"],
        ], port, "/metrics?names=perfevent.hwcounters", environment)

    @staticmethod
    def configure(tools, binaries, home):
        os.makedirs(home + "/perfevent")
        own = dict.fromkeys(("PCP_RUN_DIR", "PCP_LOG_DIR", "PCP_TMP_DIR", "PCP_TMPFILE_DIR", "PCP_PMDAS_DIR"), home)
        with open(os.path.join(tools, "etc/pcp.conf")) as template, open(home + "/pcp.conf", "w") as conf:
            for name, value in re.findall(r"^(PCP_\w+)=(.*)$", template.read(), re.M):
                value = re.sub(r"^/(usr/lib|usr/share|usr/bin|var)\b", tools + r"/\1", value)
                conf.write("%s=%s\n" % (name, own.get(name, value)))
        files = {
            "pmcd.conf": "pmcd 2 dso pmcd_init %s/pmdas/pmcd/pmda_pmcd.so\n"
                         "perfevent 127 pipe binary %s/pmdas/perfevent/pmdaperfevent -d 127 -p -U root -l %s/pmda.log\n"
                         % (binaries, binaries, home),
            # Nothing listens at this Redis address, but pmproxy 6.0 exits at the first request if Redis is disabled.
            "pmproxy.conf": "[pmproxy]\nsecure.enabled = false\n[redis]\nservers = 127.0.0.1:1\n",
            "perfevent/perfevent.conf": "[perf]\n" + "".join("perf::PERF_COUNT_SW_%s\n" % event for event in (
                "CONTEXT_SWITCHES", "CPU_MIGRATIONS", "PAGE_FAULTS", "PAGE_FAULTS_MIN", "PAGE_FAULTS_MAJ")),
            "pmns": "root { perfevent pmcd }\n#define PERFEVENT 127\n" + subtree(binaries + "/pmdas/perfevent/pmns") +
                    subtree(binaries + "/pmns/root_pmcd"),
        }
        for name, text in files.items():
            with open(os.path.join(home, name), "w") as file:
                file.write(text)
        libraries = ":".join([tools + "/usr/lib", *glob.glob(tools + "/usr/lib/*-linux-*")])
        return dict(os.environ, PCP_CONF=home + "/pcp.conf", LD_LIBRARY_PATH=libraries, PMCD_PORT=str(lib.free_port()))


class Netdata(Server):
    """
    netdata with only its perf.plugin, on the loopback address, with its files in the scratch directory. The plugin
    reads the counters every second, and a page has the last reading. Without a hardware PMU it counts three software
    events: CPU migrations, alignment faults and emulation faults.
    """

    name = "netdata (3 events)"
    awaited = b"netdata_perf_"
    OFF = ("proc", "diskspace", "timex", "cgroups", "tc", "idlejitter", "statsd", "netdata monitoring",
           "netdata monitoring extended", "apps", "slabinfo", "nfacct", "enable running new plugins")

    def __init__(self, tools, directory):
        binary = find(tools, None, "usr/sbin/netdata")
        find(tools, None, "usr/lib/netdata/plugins.d/perf.plugin")
        if os.geteuid() != 0:
            raise Absent("only root can count on all CPUs")
        port = lib.free_port()
        home = os.path.join(directory, "netdata-%d" % port)
        os.makedirs(home)
        with open(home + "/netdata.conf", "w") as file:
            file.write(self.configuration(tools, home, port))
        super().__init__([[binary, "-D", "-c", home + "/netdata.conf", "-P", home + "/pid"]], port,
                         "/api/v1/allmetrics?format=prometheus")

    def configuration(self, tools, home, port):
        parts = {
            "global": {"run as user": "root"},
            "directories": {**dict.fromkeys(("config", "stock config", "cache", "lib", "log", "lock", "web"), home),
                            "plugins": tools + "/usr/lib/netdata/plugins.d"},
            "db": {"mode": "ram"},
            "plugins": {**dict.fromkeys(self.OFF, "no"), "perf": "yes"},
            "plugin:perf": {"update every": "1", "command options": "all"},
            "web": {"bind to": "127.0.0.1", "default port": str(port), "web server threads": "1"},
            "statsd": {"enabled": "no"}, "ml": {"enabled": "no"}, "health": {"enabled": "no"},
            "cloud": {"enabled": "no"},
        }
        return "".join("[%s]\n%s" % (part, "".join("    %s = %s\n" % pair for pair in keys.items()))
                       for part, keys in parts.items())


class Periodic:
    """A program that reads the counters every second and prints them."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.processes = lib.Processes(self.process)
        time.sleep(0.2)
        if self.process.poll() is not None:
            words = self.process.stderr.read().decode().strip().splitlines()
            raise Absent("it exits at once: %s" % (words[-1] if words else "no message"))

    def stop(self):
        lib.end(self.process)


def perf_stat(tools):
    command = "stat -a -I 1000 -j"
    return Periodic("perf " + command, [find(tools, "perf", "usr/bin/perf"), *command.split(), "-e", "{%s}" % EVENTS,
                                        "-o", "/dev/null"])


def find(tools, name, unpacked):
    path = os.path.join(tools, unpacked)
    if os.access(path, os.X_OK):
        return path
    return name and shutil.which(name) or absent("it is neither installed nor unpacked in %s" % tools)


def absent(reason):
    raise Absent(reason)


def subtree(file):
    """Returns the names in a file of PCP's metric namespace, without the root."""
    with open(file) as text:
        return re.sub(r"^root \{.*?^\}", "", text.read(), flags=re.M | re.S)
