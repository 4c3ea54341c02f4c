# SPDX-License-Identifier: Apache-2.0
"""The questions to a daemon while a call fails, and afterwards. Each step notes what was not right, with the reason
that its client got."""
import gzip
import http.client
import json
import os
import re
import threading
import time

from calls_aim import wait_for
from calls_service import removed

FAULTS = 200


def body_says(body):
    """A refusal that names its reason is none that nobody hears of."""
    try:
        return json.loads(body).get("error", "")
    except (ValueError, AttributeError):
        return body.decode(errors="replace").strip()[:200]


class Steps:
    """Each step is asked once. `wrong` has what was not right; `unsaid` that of it whose client got no reason."""

    def __init__(self, service):
        self.service = service
        self.wrong, self.unsaid = [], []
        self.text = ""

    def note(self, what, reason=""):
        self.wrong.append(what + (": " + reason if reason else ""))
        if not reason:
            self.unsaid.append(what)

    def get(self, path, method="GET", wanted=200, headers=None, timeout=None):
        """The body, or None."""
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
        for cgroup in ("known",):
            if not any("perf_cgroup_minor_faults" in s and "%s/%s\"" % (below, cgroup) in s for s in totals):
                self.note("the scrape has nothing of the cgroup %s" % cgroup, why)
        for cpu in range(os.cpu_count()):
            # A group whose members were not opened together has the parts "soft" and "soft-2".
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
                self.note("OpenMetrics without its end")
        for path in ("/api/v1/counters", "/api/v1/rates?seconds=0.1", "/api/v1/status", "/api/v1/cgroups",
                     "/api/v1/pmus"):
            body = self.get(path)
            if body is not None:
                json.loads(body)
        self.get("/api/v1/events")
        self.get("/")

    def cgroups(self):
        """A container comes, has a load, and goes."""
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
            if not wait_for(is_there, 1, 0.05):
                self.note("the new container is not counted")
            elif not wait_for(is_named, 1, 0.05):
                self.note("the new container has no name", self.why_unnamed(container))
            self.service.run_load(container, FAULTS)
            self.totals()
        wait_for(lambda: removed(path), 3)

    def why_unnamed(self, container):
        body = self.get("/api/v1/cgroups")
        for cgroup in json.loads(body)["cgroups"] if body is not None else []:
            if cgroup["cgroup"].endswith(container):
                return cgroup.get("unnamed", "")
        return ""

    def exact(self):
        """A load of known size is counted, and nothing else."""
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
        """Two clients at once; the program's functions have names."""
        pid = self.service.start_hot()
        bodies = {}

        def stream():
            bodies["samples"] = self.get("/api/v1/samples?seconds=0.3&frequency=200&pid=%d" % pid)
        client = threading.Thread(target=stream)
        client.start()
        folded = self.get("/api/v1/folded?seconds=0.4&frequency=500&pid=%d" % pid)
        client.join()
        if folded is not None and b"hot_seventy" not in folded:  # a busy machine: the table was being made
            folded = self.get("/api/v1/folded?seconds=0.4&frequency=500&pid=%d" % pid)
        self.service.end_hot()
        samples = bodies.get("samples")
        if folded is not None and b"hot_seventy" not in folded:
            self.note("no name of a function in the profile", notices(samples))
        if samples is not None and b'"type":"end"' not in samples[-2000:]:
            self.note("the stream has no end: %r" % samples[-120:])

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
        if wait_for(is_new, 1.5, 0.03):
            return True
        self.service.tls = was
        self.note("the new configuration is not in force")
        return False

    def secure(self):
        """TLS and a password come by a reload, and go by the next."""
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
        """As an operator would look after a fault: reload, scrape, load, profile."""
        self.reload()
        self.scrape()
        self.exact()
        self.cgroups()
        self.sample()


def notices(samples):
    """The notes about symbols at the end of a stream."""
    if samples is None or b'"type":"end"' not in samples:
        return ""
    end = json.loads(samples.splitlines()[-1])
    return "; ".join(note for note in end.get("notes", []) + end.get("warnings", []) if "symbol" in note)
