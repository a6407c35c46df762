"""Links of agents that go dead without an end: a minute of silence is enough for either side."""
import contextlib
import os
import socket
import threading

import pytest
from support.cluster import wait_for

pytestmark = pytest.mark.skipif(int(os.environ.get("DET_FAULT_KILLS", "10")) <= 10 or os.environ.get("DET_TEST_DB") == "postgres",
                                reason="takes a minute and more: make faults")


class Silence:
    """A relay between an agent and its master that at some moment passes nothing on any more, and closes nothing."""

    def __init__(self, port):
        self.port, self.silent, self.stack = port, threading.Event(), contextlib.ExitStack()
        self.listener = self.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.own_port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
                self.stack.enter_context(near)
                self.stack.enter_context(far)
                for a, b in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(a, b), daemon=True).start()

    def _pass_on(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.silent.is_set():
                    continue
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self):
        self.stack.close()


def test_half_open_links_of_agents_are_noticed_on_both_sides(new_cluster):
    cluster = new_cluster().start_master()
    relay = Silence(cluster.port)
    cluster.start_agent(master_port=relay.own_port)
    relay.silent.set()
    wait_for("the master to notice", lambda: "agent.disconnected" in cluster.master_log())
    wait_for("the agent to notice", lambda: "link.lost" in (cluster.dir / "agent0.log").read_text())
    relay.close()
