"""``python3 -m determined.cli`` is ``det``, which is a program of its own."""
