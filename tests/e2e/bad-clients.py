# SPDX-License-Identifier: Apache-2.0
"""bad-clients.py HOST PORT PID [CA]: clients that send nothing, little, too much or garbage; with CA, over TLS.

Bad clients connect from 127.0.0.1, the good one from 127.0.0.2. Prints a line for each kind: "ok|BAD NAME WHAT".
"""
import asyncio
import os
import random
import resource
import socket
import ssl
import sys
import time

host, port, pid = sys.argv[1], int(sys.argv[2]), sys.argv[3]
context = ssl.create_default_context(cafile=sys.argv[4]) if len(sys.argv) > 4 else None
get = b"GET /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n"
IDLE = 10000
PATIENCE = 60  # seconds

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
wanted = IDLE + 1000
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
except ValueError:
    IDLE = hard - 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print("only %d connections: RLIMIT_NOFILE" % IDLE, file=sys.stderr)


def report(name, good, what):
    print("%s %s %s" % ("ok" if good else "BAD", name, what), flush=True)


def descriptors():
    return len(os.listdir("/proc/%s/fd" % pid))


async def connect(source="127.0.0.1"):
    return await asyncio.open_connection(host, port, local_addr=(source, 0), ssl=context,
                                         server_hostname="localhost" if context else None,
                                         ssl_shutdown_timeout=1 if context else None)


async def receive(reader):
    """Returns all data until the connection is closed, or None after a timeout."""
    try:
        return await asyncio.wait_for(reader.read(-1), PATIENCE)
    except (ConnectionError, ssl.SSLError):
        return b""
    except asyncio.TimeoutError:
        return None


async def good_client():
    """Returns whether a new connection from another address gets a response."""
    try:
        reader, writer = await asyncio.wait_for(connect("127.0.0.2"), PATIENCE)
        writer.write(get)
        answer = await asyncio.wait_for(reader.read(65536), PATIENCE)
        writer.close()
    except (OSError, asyncio.TimeoutError) as error:
        print("the good client: %r" % error, file=sys.stderr)
        return False
    return b" 200 " in answer


async def others_are_served(name):
    report(name + "-others-are-served", all([await good_client() for _ in range(10)]), "10 times")


async def exchange(name, data, expected, parts=1):
    """Sends the data; the last status must be one of those expected, or the connection closed without a response."""
    reader, writer = await connect()
    try:
        for i in range(parts):
            writer.write(data[len(data) * i // parts:len(data) * (i + 1) // parts])
            await asyncio.wait_for(writer.drain(), PATIENCE)
    except (ConnectionError, ssl.SSLError, asyncio.TimeoutError):
        pass
    answer = await receive(reader)
    statuses = [line[9:12].decode("latin-1") for line in (answer or b"").split(b"\r\n") if line.startswith(b"HTTP/1.")]
    report(name, answer is not None and (not statuses or statuses[-1] in expected), statuses or "closed")
    writer.close()


async def silent():
    """Opens many connections at once that send nothing, not even the beginning of a handshake."""
    before, sockets = descriptors(), []
    for i in range(IDLE):
        s = socket.socket()
        s.setblocking(False)
        s.bind(("127.0.0.1", 0))
        s.connect_ex((host, port))
        sockets.append(s)
        if i % 100 == 99:
            await asyncio.sleep(0.002)
        if i == IDLE // 2:
            await others_are_served("%d-silent" % (i + 1))
    await others_are_served("%d-silent" % IDLE)
    report("silent-descriptors", descriptors() - before < 200, "%d -> %d" % (before, descriptors()))
    # Each connection is refused at once, or closed after the request timeout.
    open_, start = sockets, time.monotonic()
    while open_ and time.monotonic() - start < PATIENCE:
        await asyncio.sleep(0.1)
        open_ = [s for s in open_ if not is_closed(s)]
    report("silent-are-ended", not open_, "%d are open" % len(open_))
    for s in sockets:
        s.close()
    while descriptors() > before and time.monotonic() - start < 2 * PATIENCE:
        await asyncio.sleep(0.1)
    report("silent-descriptors-are-back", descriptors() <= before, "%d -> %d" % (before, descriptors()))


def is_closed(s):
    try:
        return s.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


async def drip(n=30):
    """Sends a byte a second, in the request or in the TLS handshake, until the deadline for the whole request."""
    async def one(raw):
        if raw:
            reader, writer = await asyncio.open_connection(host, port, local_addr=("127.0.0.1", 0))
            data = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100
        else:
            reader, writer = await connect()
            data = b"GET /metrics HTTP/1.1\r\nHost: a\r\nX-Slow: " + b"a" * 100
        end = asyncio.ensure_future(receive(reader))
        for i in range(PATIENCE):
            writer.write(data[i:i + 1])
            done, _ = await asyncio.wait([end], timeout=1)
            if done:
                break
        writer.close()
        return await end

    drips = asyncio.gather(*(one(context is not None and i % 2 == 0) for i in range(n)))
    await others_are_served("a-byte-a-second")
    answers = await drips
    report("a-byte-a-second-is-ended", None not in answers, "%d of them" % n)


async def main():
    await silent()
    await drip()
    tail = b" HTTP/1.1\r\nHost: a\r\n\r\n"
    await exchange("megabyte-header", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n",
                   ["431", "413"])
    await exchange("megabyte-of-headers", b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 180000 + b"\r\n", ["431"])
    await exchange("megabyte-authorization", b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic " + b"YTph" * 262144 +
                   b"\r\n\r\n", ["431"])
    await exchange("megabyte-url", b"GET /" + b"a" * (1 << 20) + tail, ["414", "431"])
    await exchange("million-parameters", b"GET /metrics?" + b"a=1&" * 1000000 + tail, ["414", "431"])
    await exchange("body-of-a-gigabyte", b"POST /-/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n" +
                   b"a" * 4000000, ["400", "403", "413"])
    seed = random.Random(5)
    for i in range(20):
        garbage = bytes(seed.randrange(256) for _ in range(2000))
        await exchange("pipelined-garbage", get * seed.randrange(1, 5) + garbage + b"\r\n\r\n",
                       ["200", "400", "405", "505"], parts=seed.randrange(1, 5))
    await exchange("garbage-for-a-method", b"\x00\xff / HTTP/1.1\r\nHost: a\r\n\r\n", ["400", "404", "405", "401"])
    await exchange("another-protocol", b"SSH-2.0-OpenSSH_9.2\r\n\r\n", ["400", "505"])
    for name, line in [("folded-header", b"X-Forwarded-For: 192.0.2.1\r\n a\r\n"),
                       ("folded-length", b"Content-Length:\r\n 5\r\n"),
                       ("blank-in-name", b"Content-Length : 5\r\n"), ("nul-in-header", b"X: a\0b\r\n")]:
        for parts in 1, 2, 70:
            await exchange(name, b"GET / HTTP/1.1\r\nHost: a\r\n" + line + b"\r\n", ["400"], parts=parts)
    last = b"GET /-/healthy HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    await exchange("pipelined-then-close", get * 100 + last, ["200"])
    if context:
        s = socket.create_connection((host, port))
        s.settimeout(PATIENCE)
        s.sendall(get)
        answer = b"".join(iter(lambda: s.recv(100), b""))
        report("plain-http-to-tls", answer.startswith(b"HTTP/1.0 400 ") and answer.endswith(b"HTTPS server.\n"), answer)
    await others_are_served("afterwards")


asyncio.run(main())
