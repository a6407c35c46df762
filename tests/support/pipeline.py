"""Many requests to a master over one connection, some of them under way at a time."""
import json
import re
import socket

STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
REST = 16  # a status line may arrive in two parts


def post_all(cluster, requests, at_once=200):
    """Sends (path, body) of each; fails unless all are answered with 200."""
    requests = iter(requests)
    with socket.create_connection(("127.0.0.1", cluster.port)) as s:
        while some := [pair for _, pair in zip(range(at_once), requests, strict=False)]:
            s.sendall(b"".join(text_of(cluster, path, json.dumps(body)) for path, body in some))
            answered, rest = 0, b""
            while answered < len(some):
                part = s.recv(1 << 16)
                if not part:
                    raise RuntimeError("the master has closed the connection")
                rest += part
                found = list(STATUS.finditer(rest))
                refused = [one for one in found if one[1] != b"200"]
                if refused:
                    raise RuntimeError(f"a request was refused: {rest[refused[0].start():][:400]}")
                answered += len(found)
                rest = rest[found[-1].end():][-REST:] if found else rest[-REST:]


def text_of(cluster, path, body):
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
