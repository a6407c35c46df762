"""A master for tests that need no scheduler and no store, from Python's standard library alone.

server.py is the HTTP server; what it answers depends on who asks: agents.py (a WebSocket that takes their reports), clients.py (what det
and the released client ask for), tasks.py (what the Python library asks for, every request and answer held against the contract).
"""
