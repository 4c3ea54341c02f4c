#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server of a hostile page: serves PAGE at /attack, stores the page's reports, and forwards everything else.

usage: page.py ADDRESS:PORT BEHIND PAGE REPORTS

Other requests are forwarded to BEHIND unchanged, as if the name of this server had been resolved to BEHIND's address
(DNS rebinding). Prints "listening on PORT" when it is ready. Reports go to the file REPORTS, one a line.
"""
import socket
import socketserver
import sys
import threading
import urllib.parse

address, behind, page, reports = sys.argv[1:]
lock = threading.Lock()


def endpoint(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def pour(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end, how in ((source, socket.SHUT_RD), (sink, socket.SHUT_WR)):
        try:
            end.shutdown(how)
        except OSError:
            pass


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        head = b""
        while b"\r\n\r\n" not in head:
            data = self.request.recv(65536)
            if not data:
                return
            head += data
        path = head.split(b" ")[1]
        if path.startswith(b"/attack"):
            with open(page, "rb") as file:
                self.reply(file.read())
        elif path.startswith(b"/report?"):
            with lock, open(reports, "ab") as file:
                file.write(urllib.parse.unquote_to_bytes(path[len("/report?"):]) + b"\n")
            self.reply(b"thanks")
        else:
            self.relay(head)

    def reply(self, body):
        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                             % len(body) + body)

    def relay(self, head):
        with socket.create_connection(endpoint(behind)) as other:
            other.sendall(head)
            back = threading.Thread(target=pour, args=(other, self.request))
            back.start()
            pour(self.request, other)
            back.join()


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


with Server(endpoint(address), Handler) as server:
    print("listening on", server.server_address[1], flush=True)
    server.serve_forever()
