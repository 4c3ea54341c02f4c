# SPDX-License-Identifier: Apache-2.0
"""flood.py HOST PORT KIND PASSWORD ROUNDS SECONDS [CA]: measures the times of a legitimate client's scrapes, with and
without a flood of other connections.

KIND is events, refused (no password), wrong (wrong passwords), silent or drip (one byte per second). PASSWORD is that
of the user alice, or empty if no password is needed. With CA, connections use TLS; the kinds silent and drip then never
complete the handshake. Rounds with and without the flood alternate, so that other load on the machine affects both.

The flood stands for other machines, so it comes from processes with the lowest priority: 128 connections from each of
four addresses; a connection is opened again as soon as it is answered or closed. The legitimate client sends its
requests from 127.0.0.1 and, with a password, from 127.0.0.9, over new connections and over kept ones. A flood lasts
longer than SECONDS if the machine is too busy for 400 connections in that time. Prints a line per figure: NAME VALUE.
"""
import base64
import http.client
import multiprocessing
import os
import select
import socket
import ssl
import sys
import time

host, port, kind, password = sys.argv[1], int(sys.argv[2]), *sys.argv[3:5]
rounds, seconds = int(sys.argv[5]), float(sys.argv[6])
context = ssl.create_default_context(cafile=sys.argv[7]) if len(sys.argv) > 7 else None
ADDRESSES, EACH = ["127.0.1.%d" % (i + 1) for i in range(4)], 128
ENOUGH, PATIENCE = 400, 60  # minimum number of connections in a flood, and how many seconds to wait for them


def credential(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


class Attacker:
    """The connections of the flood from one address."""

    def __init__(self, address, answers, opened):
        self.address, self.answers, self.opened = address, answers, opened
        self.poll, self.sockets, self.asked = select.epoll(), {}, 0

    def open(self):
        s = socket.socket()
        s.setblocking(False)
        try:
            s.bind((self.address, 0))
            s.connect_ex((host, port))
        except OSError:
            return
        self.sockets[s.fileno()] = s
        self.poll.register(s, select.EPOLLOUT)

    def close(self, s):
        del self.sockets[s.fileno()]
        s.close()

    def ask(self, s):
        self.asked += 1
        path = "/api/v1/events" if kind == "events" else "/metrics"
        wrong = credential("alice:%s-%d" % (self.address, self.asked))
        header = "Authorization: %s\r\n" % wrong if kind == "wrong" else ""
        s.send(("GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (path, header)).encode())

    def step(self, fd, events):
        s = self.sockets.get(fd)
        if not s:
            return
        try:
            if events & select.EPOLLOUT:
                self.poll.modify(s, select.EPOLLIN)
                self.opened.value += s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
                if kind not in ("silent", "drip"):
                    self.ask(s)
                return
            data = s.recv(1 << 20)
            # Only the status at the start of an answer is used; the rest is discarded.
            if not data:
                self.close(s)
            elif data.startswith(b"HTTP/1.1 "):
                self.answers[int(data[9:12])] += 1
                if kind != "events" or data.startswith(b"HTTP/1.1 503"):
                    self.ask(s)
            if data and kind == "events" and data.endswith(b"]\n"):
                self.ask(s)
        except OSError:
            self.close(s)

    def drip(self):
        for s in list(self.sockets.values()):
            try:
                s.send(b"G" if not context else b"\x16")
            except OSError:
                pass

    def run(self, enabled):
        dripped = time.monotonic()
        while enabled.is_set():
            for _ in range(min(16, EACH - len(self.sockets))):
                self.open()
            for fd, events in self.poll.poll(0.05):
                self.step(fd, events)
            if kind == "drip" and time.monotonic() - dripped >= 1:
                dripped = time.monotonic()
                self.drip()
        for s in list(self.sockets.values()):
            self.close(s)


def attack(address, enabled, *counts):
    os.nice(19)
    while True:
        enabled.wait()
        Attacker(address, *counts).run(enabled)


class Scraper:
    def __init__(self, address, keeps):
        self.address, self.keeps, self.client = address, keeps, None
        self.name = "kept" if keeps else "new"

    def connect(self):
        arguments = {"timeout": PATIENCE, "source_address": (self.address, 0)}
        if context:
            self.client = http.client.HTTPSConnection("localhost", port, context=context, **arguments)
        else:
            self.client = http.client.HTTPConnection(host, port, **arguments)
        self.client.connect()
        self.client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def once(self):
        if not self.client:
            self.connect()
        self.client.request("GET", "/metrics", headers=right)
        response = self.client.getresponse()
        response.read()
        if not self.keeps:
            self.close()
        return response.status == 200

    def close(self):
        if self.client:
            self.client.close()
        self.client = None

    def scrape(self):
        """Returns the time of a scrape. Retries once if the server has closed the kept connection, as all clients
        do."""
        start, was_kept = time.monotonic(), self.client is not None
        try:
            good = self.once()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            good = False
            if was_kept:
                again[0] += 1
                return self.scrape()
            print("%s from %s: %r" % (self.name, self.address, error), file=sys.stderr)
        bad[0] += not good
        return time.monotonic() - start


def scrape_for(seconds, into, connections=0):
    begin = time.monotonic()
    while time.monotonic() < begin + seconds or n_opened() < connections and time.monotonic() < begin + PATIENCE:
        for scraper in scrapers:
            into.setdefault(scraper.name, []).append(scraper.scrape())
            time.sleep(0.002)


def n_opened():
    return sum(count.value for count in opened)


def n_answers(status):
    return sum(counts[status] for counts in answers)


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


right = {"Authorization": credential("alice:" + password)} if password else {}
scrapers = [Scraper(address, keeps) for address in (["127.0.0.1", "127.0.0.9"] if password else ["127.0.0.1"])
            for keeps in (False, True)]
quiet, flooded, bad, again = {}, {}, [0], [0]
enabled = multiprocessing.Event()
answers = [multiprocessing.Array("L", 1000, lock=False) for _ in ADDRESSES]  # by status
opened = [multiprocessing.Value("L", 0, lock=False) for _ in ADDRESSES]
for address, *counts in zip(ADDRESSES, answers, opened):
    multiprocessing.Process(target=attack, daemon=True, args=(address, enabled, *counts)).start()
scrape_for(0.5, {})
bad[0] = 0
for _ in range(rounds):
    scrape_for(seconds, quiet)
    enabled.set()
    time.sleep(0.3)
    scrape_for(seconds, flooded, n_opened() + ENOUGH)
    enabled.clear()
    time.sleep(0.4)
for name in quiet:
    print("%s_n %d" % (name, min(len(quiet[name]), len(flooded[name]))))
    for when, values in ("quiet", quiet[name]), ("flooded", flooded[name]):
        for q in 50, 99:
            print("%s_%s_p%d_us %.0f" % (name, when, q, quantile(values, q / 100) * 1e6))
for status in 200, 401, 503:
    print("answers_%d %d" % (status, n_answers(status)))
print("answers_other %d" % sum(n_answers(status) for status in range(1000) if status not in (200, 401, 503)))
print("opened %d" % n_opened())
print("again %d" % again[0])
print("failed %d" % bad[0])
