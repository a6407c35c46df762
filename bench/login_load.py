#!/usr/bin/env python3
"""Logins with wrong passwords at a steady rate: login_load.py PORT RATE SECONDS ADDRESSES

They come from that many addresses of the loopback network (127.64.0.0/10), each with a connection of its own, in turns; what finds its
connection still waiting for an answer is left out. Bounded: at most RATE x SECONDS requests. Prints what was answered, as JSON.
"""
import collections
import json
import selectors
import socket
import sys
import time


def request(number):
    body = json.dumps({"username": ("admin", f"user{number % 997}")[number % 2], "password": f"{number:0128x}", "isHashed": True}).encode()
    return b"POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Client:
    def __init__(self, port, number):
        self.socket = socket.create_connection(("127.0.0.1", port), source_address=(f"127.{64 + number // 60000}.{number // 250 % 240}."
                                                                                    f"{number % 250 + 1}", 0))
        self.waits = False


def main():
    port, rate, seconds, addresses = map(int, sys.argv[1:])
    clients = [Client(port, n) for n in range(addresses)]
    # One address may have many connections: what waits in the queue must not slow the others down.
    if addresses < 64:
        clients += [Client(port, n % addresses) for n in range(addresses, 64)]
    selector = selectors.EpollSelector()
    for c in clients:
        selector.register(c.socket, selectors.EVENT_READ, c)
    answers, sent, at = collections.Counter(), 0, 0
    begin = time.monotonic()
    while sent < rate * seconds and time.monotonic() - begin < seconds:
        while sent < (time.monotonic() - begin) * rate:
            for _ in range(len(clients)):
                c = clients[at % len(clients)]
                at += 1
                if not c.waits:
                    break
            else:
                answers["left out"] += 1
                sent += 1
                continue
            c.socket.sendall(request(sent))
            c.waits = True
            sent += 1
        for key, _ in selector.select(0.001):
            text = key.data.socket.recv(65536)
            if text:
                answers[text[9:12].decode()] += 1
                key.data.waits = False
            else:
                selector.unregister(key.fileobj)
    print(json.dumps({"sent": sent, "seconds": time.monotonic() - begin, "answers": answers}))


main()
