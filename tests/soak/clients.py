# SPDX-License-Identifier: Apache-2.0
"""Connections to a daemon, with TLS or without, and requests over them."""
import contextlib
import http.client
import socket
import ssl
import struct

TIMEOUT = 30
GOOD, BAD = "127.0.0.1", "127.0.0.2"  # the addresses that right and wrong clients come from


class Complaint(Exception):
    """Something that the daemon should not have done."""


class Target:
    """A daemon: where it listens, its processes, its configuration."""

    def __init__(self, number, arguments):
        self.number = number
        self.name, self.pid, self.config = arguments["name"], arguments["pid"], arguments["config"]
        self.port, self.ca, self.engine = arguments["port"], arguments.get("ca"), arguments["engine"]

    def socket(self, source=GOOD):
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT, source_address=(source, 0))

    def secured(self, plain):
        if not self.ca:
            return plain
        context = ssl.create_default_context(cafile=self.ca)
        return context.wrap_socket(plain, server_hostname="localhost")

    def connection(self):
        if not self.ca:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        context = ssl.create_default_context(cafile=self.ca)
        return http.client.HTTPSConnection("localhost", self.port, timeout=TIMEOUT, context=context)

    @contextlib.contextmanager
    def response(self, path, method="GET", headers=None):
        connection = self.connection()
        try:
            connection.request(method, path, headers=headers or {})
            yield connection.getresponse()
        finally:
            connection.close()

    def ask(self, path, method="GET", headers=None):
        """The status and the body."""
        with self.response(path, method, headers) as response:
            return response.status, response.read()

    def get(self, path):
        """The body, which is there."""
        status, body = self.ask(path)
        if status != 200:
            raise Complaint("%s: status %d: %s" % (path, status, body[:200]))
        return body


def reset(connected):
    """Ends a connection without a farewell."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connected.close()
