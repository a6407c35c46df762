"""Questions about TLS: what it costs beside plain HTTP on the same master, certificate of P-256, TLS 1.3.

CPU of the master rather than rates: the load client, which shares the cores, spends far more on TLS than the master does.
"""
import socket
import time

from harness import Row, cpu_ms, question, running_master, settled_pss_mb, wrk

CONNECTIONS = 1000


def request_cpu_us(cluster, headers=()):
    return [one_request_cpu_us(cluster, headers) for _ in range(3)]


def one_request_cpu_us(cluster, headers):
    cpu, begin = cpu_ms(cluster.master.pid), time.monotonic()
    per_s = wrk(cluster.url + "/api/v1/master", 64, 2, headers).per_s
    return (cpu_ms(cluster.master.pid) - cpu) * 1000 / per_s / (time.monotonic() - begin)


def kept_connections(cluster):
    """CONNECTIONS connections, each after one request. They share the client's TLS context, as in any client."""
    made = []
    for _ in range(CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", cluster.port))
        if cluster.tls:
            connection = cluster.tls.wrap_socket(connection)
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        made.append(connection)
    return made


def connection_kb(cluster):
    """Memory of the master for each connection that waits, the first thousand (which grow the heap) not counted."""
    warm = kept_connections(cluster)
    before = settled_pss_mb(cluster.master.pid)
    more = kept_connections(cluster)
    after = settled_pss_mb(cluster.master.pid)
    for connection in warm + more:
        connection.close()
    return (after - before) * 1024 / CONNECTIONS


@question
def tls():
    """What does TLS cost: requests, new connections, memory of a connection?"""
    close = ["Connection: close"]
    with running_master() as cluster:
        requests, connections, memory = request_cpu_us(cluster), request_cpu_us(cluster, close), connection_kb(cluster)
    with running_master(tls=True) as cluster:
        yield Row("TLS: CPU of the master, GET /api/v1/master, 64 connections", request_cpu_us(cluster), "µs", "", "plain HTTP", requests)
        yield Row("TLS: … with a new connection each", request_cpu_us(cluster, close), "µs", "", "plain HTTP", connections)
        yield Row("TLS: memory (PSS) of a connection that waits", [connection_kb(cluster)], "KiB", "≤ 32", "plain HTTP", [memory])
