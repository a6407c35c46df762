"""A master for tests that need no scheduler and no store, made of Python's standard library alone.

server.py is the HTTP server. Its answers depend on the client: agents.py (a WebSocket that takes agents' reports), clients.py (what
det and the released client ask for), registry.py (the same, with the routes that a real master does not serve yet), tasks.py (what the Python library asks for; every request and answer is compared with the
contract).
"""
