# SPDX-License-Identifier: Apache-2.0
"""flood.py HOST PORT CONNECTIONS ROUNDS SECONDS [PID]: scrapes with a right password, in quiet and in a flood.

Both in turns, so that whatever else the machine does is in both. The flood is wrong passwords from processes of their
own, at the lowest priority since they stand for other machines: each connection asks again as soon as it is answered,
always with another password. Prints a line per figure: NAME VALUE.
"""
import base64
import http.client
import multiprocessing
import os
import select
import socket
import sys
import time

host, port, connections, rounds, seconds = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
pid = sys.argv[6] if len(sys.argv) > 6 else None


def credential(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


def memory():
    with open("/proc/%s/status" % pid) as status:
        return int(next(line for line in status if line.startswith("VmRSS:")).split()[1])


def attack(address, n, enabled, statuses):
    """n connections from one address, each with one request at a time."""
    os.nice(19)
    sockets, asked, poll = {}, 0, select.epoll()

    def ask(s):
        nonlocal asked
        asked += 1
        text = credential("alice:%s-%d" % (address, asked))
        s.sendall(("GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\n\r\n" % text).encode())

    for _ in range(n):
        s = socket.create_connection((host, port), source_address=(address, 0))
        sockets[s.fileno()] = s
        poll.register(s, select.EPOLLIN)
    while True:
        enabled.wait()
        for s in sockets.values():
            ask(s)
        waiting = len(sockets)
        while waiting:
            for fd, _ in poll.poll():
                answer = sockets[fd].recv(65536)
                status = int(answer[9:12]) if answer else 0
                with statuses.get_lock():
                    statuses[status] += 1
                if enabled.is_set():
                    ask(sockets[fd])
                else:
                    waiting -= 1


def scrape_for(seconds, into):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        client.request("GET", "/metrics", headers=right)
        response = client.getresponse()
        response.read()
        into.append(time.monotonic() - start)
        bad[0] += response.status != 200
        time.sleep(0.002)


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


client = http.client.HTTPConnection(host, port)
client.connect()
client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
right = {"Authorization": credential("alice:secret")}
quiet, flooded, bad = [], [], [0]
enabled, statuses = multiprocessing.Event(), multiprocessing.Array("L", 1000)
addresses = ["127.0.1.%d" % (i + 1) for i in range(4)]
for address in addresses:
    multiprocessing.Process(target=attack, daemon=True,
                            args=(address, connections // len(addresses), enabled, statuses)).start()
scrape_for(0.5, [])
before = memory() if pid else 0
peak = before
for _ in range(rounds):
    scrape_for(seconds, quiet)
    enabled.set()
    time.sleep(0.1)
    scrape_for(seconds, flooded)
    peak = max(peak, memory() if pid else 0)
    enabled.clear()
    time.sleep(0.4)
for name, values in ("quiet", quiet), ("flooded", flooded):
    print("%s_n %d" % (name, len(values)))
    print("%s_median_us %.0f" % (name, quantile(values, 0.5) * 1e6))
    print("%s_p99_us %.0f" % (name, quantile(values, 0.99) * 1e6))
print("ratio_of_medians %.2f" % (quantile(flooded, 0.5) / quantile(quiet, 0.5)))
print("wrong_401 %d" % statuses[401])
print("wrong_503 %d" % statuses[503])
print("wrong_other %d" % (sum(statuses) - statuses[401] - statuses[503]))
print("right_refused %d" % bad[0])
if pid:
    print("memory_before_kB %d" % before)
    print("memory_peak_kB %d" % peak)
