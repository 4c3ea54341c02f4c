# SPDX-License-Identifier: Apache-2.0
"""Clients that send nonsense, half of something, or nothing, from an address of their own."""
import contextlib
import socket
import time

from clients import BAD, Complaint, reset

# A request, and the statuses that are right for it.
REQUESTS = [
    (b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
    (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", {405}),
    (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", {405}),
    (b"GET /api/v1/counters?colour=red HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    (b"GET /api/v1/rates?seconds=-1 HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    (b"GET /api/v1/samples?seconds=0 HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 403}),
    # 503: there are as many clients as may be, those that have just gone included.
    (b"GET /api/v1/samples?event=nonsense HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 403, 503}),
    (b"GET /metrics?collect[]=nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    (b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n", {406}),
    (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: image/png\r\n\r\n", {200}),
    (b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", {414, 431}),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70000 + b"\r\n\r\n", {431, 413}),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 9000 + b"\r\n", {431}),
]


class Strangers:
    """The actions on one daemon."""

    def __init__(self, target):
        self.target = target

    def open(self):
        return self.target.secured(self.target.socket(BAD))

    def bad_requests(self, choice):
        for request, statuses in choice.sample(REQUESTS, 4):
            with self.open() as connected:
                with contextlib.suppress(ConnectionError, OSError):
                    connected.sendall(request)
                answer = receive_some(connected)
                if answer and int(answer[9:12]) not in statuses:
                    raise Complaint("%r has status %s" % (request[:60], answer[9:12]))

    def garbage(self, choice):
        """Bytes: over TLS in the place of a handshake as well, and in the middle of one."""
        for _ in range(choice.randrange(1, 6)):
            data = choice.randbytes(choice.choice([1, 20, 3000]))
            kind = choice.randrange(4)
            plain = self.target.socket(BAD)
            with contextlib.suppress(OSError):  # a refusal is right
                if kind == 0 and self.target.ca:
                    data = b"\x16\x03\x01" + len(data).to_bytes(2, "big") + b"\x01" + data
                elif kind == 1:
                    data = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + data
                connected = self.target.secured(plain) if kind >= 2 else plain
                connected.sendall(data)
                if choice.random() < 0.7:
                    receive_some(connected, 0.5)
                if choice.random() < 0.5:
                    reset(connected)
                connected.close()
            plain.close()

    def half_open(self, choice):
        """Connections that say a part of a request, or nothing, and stay for a while."""
        opened = []
        data = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: a"
        for _ in range(choice.choice([3, 20, 60])):
            with contextlib.suppress(OSError):
                opened.append(self.target.socket(BAD))
                opened[-1].sendall(data[:choice.randrange(len(data))] or b"G")
        time.sleep(choice.choice([0.1, 0.5, 2]))
        for connected in opened:
            (reset if choice.random() < 0.3 else socket.socket.close)(connected)


def receive_some(connected, seconds=20):
    """The beginning of the answer, b"" where there is none."""
    connected.settimeout(seconds)
    try:
        return connected.recv(65536)
    except TimeoutError:
        if seconds < 20:
            return b""
        raise Complaint("no answer, and no end, within %d s" % seconds)
    except OSError:
        return b""
