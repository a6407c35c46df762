"""Event files as TensorBoard reads them, written with nothing but the standard library.

An event file is a sequence of records: eight bytes of length and their checksum, the data and theirs. The data are an
``Event`` in the wire format of protocol buffers; of its fields these are needed:

=============  ===========================================================
Event          1 wall_time (double), 2 step (int64), 3 file_version, 5 summary
Summary        1 value (repeated)
Summary.Value  1 tag, 2 simple_value (float)
=============  ===========================================================
"""

import itertools
import numbers
import os
import pathlib
import socket
import struct
import time
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Tuple

# A file is stored anew as a whole when something was added, so a long trial gets several.
FILE_BYTES = 1 << 20
_VERSION = b"brain.Event:2"
_count = itertools.count()

Point = Tuple[str, float]


def _crc_table() -> List[int]:
    """CRC-32C (Castagnoli), reflected."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def masked_crc(data: bytes) -> int:
    """The checksum of the format.

    >>> masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
    True
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(number: int) -> bytes:
    """Negative numbers are written as their 64 bits.

    >>> _varint(300)
    b'\\xac\\x02'
    """
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _text(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _event(step: int, body: bytes) -> bytes:
    return b"\x09" + struct.pack("<d", time.time()) + b"\x10" + _varint(step) + body


def _summary(points: List[Point]) -> bytes:
    values = (_text(1, _text(1, name.encode()) + b"\x15" + _float(value)) for name, value in points)
    return _text(5, b"".join(values))


def _float(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # more than 32 bits hold
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def _number(value: Any) -> Optional[float]:
    """What can be drawn: a number, also one of NumPy or PyTorch; not a truth value, not a list."""
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Real):
        return float(value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return _number(value.item())
    return None


def _numbers(metrics: Dict[str, Any]) -> Iterator[Point]:
    for name, value in metrics.items():
        number = _number(value)
        if number is not None:
            yield str(name), number


class MetricEvents:
    """Draws the metrics that a trial reports: ``Determined/NAME`` for training, ``Determined/val_NAME`` for validation.

    Parameters
    ----------
    directory : pathlib.Path
        Where the files are written; each is begun with its first point.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._file: Optional[BinaryIO] = None

    def training(
        self, steps_completed: int, metrics: Dict[str, Any], batch_metrics: Optional[List[Dict[str, Any]]]
    ) -> None:
        """Add points of each batch, and the averages of what single batches do not have."""
        batches = batch_metrics or []
        points: Dict[int, List[Point]] = {}
        for step, batch in enumerate(batches, start=steps_completed - len(batches)):
            points[step] = [(f"Determined/{name}", value) for name, value in _numbers(batch)]
        seen = {str(name) for batch in batches for name in batch}
        points[steps_completed] = [(f"Determined/{name}", v) for name, v in _numbers(metrics) if name not in seen]
        self._write(points)

    def validation(self, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Add a point for each number; names that do not begin with ``val`` get ``val_`` before."""
        named = ((name if name.startswith("val") else f"val_{name}", value) for name, value in _numbers(metrics))
        self._write({steps_completed: [(f"Determined/{name}", value) for name, value in named]})

    def _write(self, points: Dict[int, List[Point]]) -> None:
        data = b"".join(_record(_event(step, _summary(some))) for step, some in points.items() if some)
        if not data:
            return
        file = self._open()
        file.write(data)
        file.flush()
        if file.tell() >= FILE_BYTES:
            self.close()

    def _open(self) -> BinaryIO:
        if self._file is None:
            # TensorBoard reads the files of a directory in the order of their names.
            name = (
                f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_count):06d}"
            )
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = open(self._directory / name, "wb")
            self._file.write(_record(_event(0, _text(3, _VERSION))))
        return self._file

    def close(self) -> None:
        """End the present file; a further point begins another one."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
