"""Reads the master's questions from standard input and answers on standard output: one JSON object a line."""

import json
import sys
from typing import IO, Any, Callable, Dict, List, Optional, Protocol

Question = Dict[str, Any]
PROTOCOL = 1


class CloudError(Exception):
    """A failure that a person has to know of or mend. The pool shows the text, and the master asks again later."""


class Cloud(Protocol):
    """The machines of one pool in one cloud."""

    def list(self) -> List[Dict[str, Any]]:
        """All machines with the pool's tags."""

    def launch(self, n: int, question: Question) -> List[str]:
        """Launches n machines, and returns their ids."""

    def terminate(self, instance: str) -> None:
        """Ends a machine. A machine that does not exist is no error."""


def answer(cloud: Cloud, question: Question) -> Dict[str, Any]:
    """Answers any question but the first one."""
    if question["do"] == "list":
        return {"instances": cloud.list()}
    if question["do"] == "launch":
        return {"launched": cloud.launch(question["n"], question)}
    if question["do"] == "terminate":
        cloud.terminate(question["instance"])
        return {}
    raise CloudError(f"the master asks for {question['do']!r}, which this program does not know")


def serve(
    open_cloud: Callable[[Question], Cloud], questions: Optional[IO[str]] = None, answers: Optional[IO[str]] = None
) -> None:
    """Answers questions until there are no more."""
    cloud: Optional[Cloud] = None
    for line in questions or sys.stdin:
        question = json.loads(line)
        try:
            if question["do"] == "open":
                if question["protocol"] != PROTOCOL:
                    raise CloudError(f"the master speaks protocol {question['protocol']}, this program {PROTOCOL}")
                cloud = open_cloud(question)
                found: Dict[str, Any] = {}
            elif cloud is None:
                raise CloudError("the first question must be 'open'")
            else:
                found = answer(cloud, question)
        except CloudError as e:
            found = {"error": str(e)}
        except Exception as e:  # whatever a cloud's library raises is for the administrator to read
            found = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps({"id": question["id"], **found}), file=answers or sys.stdout, flush=True)
