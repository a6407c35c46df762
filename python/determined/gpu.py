"""The GPUs of this machine, as its own tools tell: ``nvidia-smi``, or else ``rocm-smi``.

In a task, ``det.get_cluster_info().gpu_uuids`` names those that the platform has given to it.
"""

import csv
import json
import logging
import subprocess
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

logger = logging.getLogger("determined")

gpu_fields = ["index", "uuid", "utilization.gpu", "memory.used", "memory.total"]
_PROCESS_FIELDS = ["pid", "process_name", "gpu_uuid", "used_memory"]
# What a tool that hangs, as one does whose driver is broken, may keep a program waiting.
_PATIENCE_S = 60


class GPU(NamedTuple):
    """A GPU.

    Attributes
    ----------
    id : int
        Its number on this machine.
    uuid : str
    load : float
        How busy it is, 0 to 1; 0 where it does not tell.
    memoryUtil : float
        How much of its memory is in use, 0 to 1; 0 where it does not tell.
    """

    id: int
    uuid: str
    load: float
    memoryUtil: float  # noqa: N815 (the released library's name)


class GPUProcess(NamedTuple):
    """A process that uses a GPU.

    Attributes
    ----------
    pid : int
    process_name : str
    gpu_uuid : str
        Of the GPU that it uses.
    used_memory : str
        How much of its memory, with the unit: ``"512 MiB"``.
    """

    pid: int
    process_name: str
    gpu_uuid: str
    used_memory: str


def _said_by(*argv: str) -> Optional[str]:
    """What a tool prints; None if this machine does not have it, or it fails."""
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=_PATIENCE_S)
    except FileNotFoundError:
        return None
    except (OSError, subprocess.SubprocessError) as e:
        logger.warning("%s cannot be asked for the machine's GPUs: %s", argv[0], e)
        return None
    if done.returncode != 0:
        logger.warning("%s ended with status %d: this machine's GPUs are not known", argv[0], done.returncode)
        return None
    return done.stdout


def _table(what: str, fields: List[str]) -> List[Dict[str, str]]:
    """Rows that ``nvidia-smi`` prints for a query; an incomplete one is left out."""
    said = _said_by("nvidia-smi", f"--query-{what}={','.join(fields)}", "--format=csv,noheader")
    rows = csv.reader((said or "").splitlines(), skipinitialspace=True)
    return [dict(zip(fields, row)) for row in rows if len(row) == len(fields)]


def _number(text: Any) -> float:
    """The number that a text begins with; 0 for ``[N/A]`` and the like.

    >>> _number("512 MiB"), _number("[Not Supported]")
    (512.0, 0.0)
    """
    try:
        return float(str(text).split()[0].rstrip("%"))
    except (IndexError, ValueError):
        return 0.0


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _nvidia() -> List[GPU]:
    return [
        GPU(
            id=int(row["index"]),
            uuid=row["uuid"],
            load=_number(row["utilization.gpu"]) / 100,
            memoryUtil=_share(_number(row["memory.used"]), _number(row["memory.total"])),
        )
        for row in _table("gpu", gpu_fields)
        if row["index"].isdigit()
    ]


def _rocm() -> List[GPU]:
    said = _said_by("rocm-smi", "--showid", "--showuniqueid", "--showuse", "--showmemuse", "--json")
    try:
        cards: Dict[str, Dict[str, str]] = json.loads(said or "{}")
    except ValueError:
        logger.warning("rocm-smi prints no JSON: this machine's GPUs are not known")
        return []
    return [
        GPU(
            id=int(name[len("card") :]),
            uuid=card.get("Unique ID", ""),
            load=_number(card.get("GPU use (%)")) / 100,
            memoryUtil=_number(card.get("GPU memory use (%)", card.get("GPU Memory Allocated (VRAM%)"))) / 100,
        )
        for name, card in cards.items()
        if name.startswith("card") and name[len("card") :].isdigit()
    ]


def get_gpus() -> Tuple[List[GPU], str]:
    """The GPUs of this machine, and their maker's interface: ``"cuda"``, ``"rocm"``, or ``""`` if there are none."""
    for kind, find in (("cuda", _nvidia), ("rocm", _rocm)):
        found = find()
        if found:
            return found, kind
    return [], ""


def get_gpu_uuids() -> List[str]:
    """The UUIDs of this machine's GPUs, in the order of their numbers."""
    return [gpu.uuid for gpu in sorted(get_gpus()[0])]


def get_gpu_processes() -> List[GPUProcess]:
    """The processes that use NVIDIA's GPUs of this machine."""
    return [
        GPUProcess(int(row["pid"]), row["process_name"], row["gpu_uuid"], row["used_memory"])
        for row in _table("compute-apps", _PROCESS_FIELDS)
        if row["pid"].isdigit()
    ]
