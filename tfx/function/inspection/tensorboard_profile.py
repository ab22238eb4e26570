"""Profiles as files that TensorBoard's profile plugin reads.

A run is a folder ``plugins/profile/<time>`` with two files for the machine: an ``XSpace`` message,
which TensorFlow 2.21 writes, and the same events as a compressed Chrome trace, which older plugins
read.
"""

from __future__ import annotations

import gzip
import os
import re
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tfx.core.system_errors import writing
from tfx.core.wire_format import bytes_field, number_field
from tfx.function.inspection.run_metadata import Mark, RunMetadata

_HOST_PLANE, _TASK_PLANE = "/host:CPU", "Task Environment"
_PICOSECONDS = 1_000_000  # in a microsecond
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")


def write_profile(
    logdir: str | os.PathLike[str], metadata: RunMetadata, marks: Sequence[Mark], began: float
) -> Path:
    """Write a profile for TensorBoard.

    Args:
        logdir: The folder that TensorBoard is given.
        metadata: What ran.
        marks: Parts of the program.
        began: When the profile began, in seconds since 1970.

    Returns:
        The folder of the run.

    Raises:
        ResourceExhaustedError: there is no room.
        OSError: the files cannot be written.
    """
    stamp = time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(began))
    folder = _own_folder(Path(logdir) / "plugins" / "profile", stamp)
    host = _NOT_IN_NAMES.sub("_", socket.gethostname()) or "localhost"
    message = folder / f"{host}.xplane.pb"
    with writing(message), open(message, "wb") as file:
        file.write(_space(metadata, marks, host, began))
    trace = folder / f"{host}.trace.json.gz"
    with writing(trace), gzip.open(trace, "wt", encoding="utf-8") as text:
        text.write(metadata.chrome_trace(marks))
    return folder


def _own_folder(parent: Path, stamp: str) -> Path:
    """A new folder: two profiles may end within one second."""
    number = 0
    while True:
        folder = parent / (f"{stamp}_{number}" if number else stamp)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if not folder.is_dir():
                raise
            number += 1
        else:
            return folder


class _Names:
    """Numbers for texts, from 1 on, as the format keeps them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers) + 1)

    def fields(self, number: int) -> bytes:
        """The map from numbers to texts as field ``number`` of a plane."""
        made = []
        for text, key in self._numbers.items():
            entry = number_field(1, key) + bytes_field(2, text.encode())
            made.append(bytes_field(number, number_field(1, key) + bytes_field(2, entry)))
        return b"".join(made)


class _Plane:
    """A plane under construction: lines of events, names of events and of what is known of them."""

    def __init__(self, number: int, name: str) -> None:
        self._head = number_field(1, number) + bytes_field(2, name.encode())
        self._events, self._stats = _Names(), _Names()
        self._lines: list[bytes] = []

    def stat(self, name: str, value: int | str) -> bytes:
        """Something that is known: a number, or a text."""
        head = number_field(1, self._stats(name))
        if isinstance(value, str):
            return head + bytes_field(5, value.encode())
        return head + number_field(4, value)

    def event(
        self, name: str, start_us: float, duration_us: float, stats: Mapping[str, int | str]
    ) -> bytes:
        """An event of a line."""
        times = number_field(2, max(0, round(start_us * _PICOSECONDS)))
        times += number_field(3, round(duration_us * _PICOSECONDS))
        known = [bytes_field(4, self.stat(key, value)) for key, value in stats.items()]
        return number_field(1, self._events(name)) + times + b"".join(known)

    def line(self, number: int, name: str, events: Iterable[bytes]) -> None:
        """Add the events of a thread."""
        head = number_field(1, number) + bytes_field(2, name.encode())
        self._lines.append(head + b"".join(bytes_field(4, event) for event in events))

    def message(self, stats: Mapping[str, int | str] | None = None) -> bytes:
        """The plane, with what is known of it."""
        own = b"".join(bytes_field(6, self.stat(*pair)) for pair in (stats or {}).items())
        lines = b"".join(bytes_field(3, line) for line in self._lines)
        return self._head + lines + self._events.fields(4) + self._stats.fields(5) + own


def _space(metadata: RunMetadata, marks: Sequence[Mark], host: str, began: float) -> bytes:
    """The message: a plane of the host with a line for each thread, and one of the task."""
    plane = _Plane(1, _HOST_PLANE)
    first = metadata.first_us(marks)
    last = first
    threads: dict[int, list[tuple[float, bytes]]] = {}

    def add(
        name: str, start: float, took: float, thread: int, details: Mapping[str, int | str]
    ) -> None:
        nonlocal last
        last = max(last, start + took)
        known = {key: value for key, value in details.items() if value != ""}
        event = plane.event(name, start - first, took, known)
        threads.setdefault(thread, []).append((start, event))

    for m in marks:
        add(m.name, m.start_us, m.duration_us, m.thread, m.details)
    for r in metadata.runs:
        add(r.name, r.start_us, r.duration_us, r.thread, {"kind": r.kind})
    for n in metadata.nodes:
        about = {"tf_op": f"{n.name}:{n.op}", "source": n.source, "layer": n.layer}
        # The plugin takes "name:operator" for an operation.
        add(f"{n.name}:{n.op}", n.start_us, n.duration_us, n.thread, about)
    for thread, events in sorted(threads.items()):
        events.sort(key=lambda pair: pair[0])
        plane.line(thread, f"thread {thread}", [event for _, event in events])
    start = round(began * 1e9)
    task = _Plane(2, _TASK_PLANE).message(
        {"profile_start_time": start, "profile_stop_time": start + round((last - first) * 1e3)}
    )
    planes = bytes_field(1, plane.message()) + bytes_field(1, task)
    return planes + bytes_field(4, host.encode())
