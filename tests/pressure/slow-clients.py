#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""slow-clients.py PORT SECONDS PATH...: a client for each path that reads one byte a second, with small buffers.

Prints a line for each: PATH STATUS BYTES OUTCOME, where OUTCOME is open, closed or reset at the end.
"""
import socket
import sys
import threading
import time

port, seconds = int(sys.argv[1]), float(sys.argv[2])
lines = {}


def read_slowly(path):
    got, outcome = b"", "open"
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    s.settimeout(1)
    s.connect(("127.0.0.1", port))
    s.sendall(("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path).encode())
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            part = s.recv(12 if not got else 1)
            if not part:
                outcome = "closed"
                break
            got += part
        except TimeoutError:
            continue
        except OSError:
            outcome = "reset"
            break
        time.sleep(1)
    s.close()
    lines[path] = "%s %s %d %s" % (path, got[9:12].decode() or "none", len(got), outcome)


threads = [threading.Thread(target=read_slowly, args=(path,)) for path in sys.argv[3:]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("\n".join(lines[path] for path in sys.argv[3:]))
