"""What a queue holds: elements that threads add and take, waiting for each other.

Must not know tensors. Those who add, and those who take, wait in line, so that the elements of one
call stay together and no call waits for ever because others take a few elements each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfx.core.errors import CancelledError, OutOfRangeError

Element: TypeAlias = "list[np.ndarray[Any, Any]]"


class QueueElements:
    """The elements of a queue.

    Args:
        title: The queue in messages.
        capacity: How many there may be; None: any number.
        choose: The place of the next one among them.
        left: How many are not taken until the queue is closed.
    """

    def __init__(
        self,
        title: str,
        capacity: int | None,
        choose: Callable[[Sequence[Element]], int],
        left: int,
    ) -> None:
        self._title = title
        self._capacity = capacity
        self._choose = choose
        self._left = left
        self._elements: list[Element] = []
        self._closed = False
        self._cancelled = False
        self._ended = False
        self._pending = 0
        self._changed = threading.Condition()
        self._adding, self._taking = threading.Lock(), threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether no more are added."""
        return self._closed

    def __len__(self) -> int:
        return len(self._elements)

    def close(self, cancel: bool) -> None:
        """Let no more be added.

        Args:
            cancel: Whether to refuse those that wait for room, too.
        """
        with self._changed:
            self._closed = True
            self._cancelled = self._cancelled or cancel
            self._changed.notify_all()

    def end(self) -> None:
        """Let nobody wait any more: the session of the queue is closed."""
        with self._changed:
            self._closed = self._cancelled = self._ended = True
            self._changed.notify_all()

    def add(self, elements: Sequence[Element]) -> None:
        """Add elements, each once there is room.

        Raises:
            CancelledError: the queue is closed.
        """
        with self._changed:
            self._refuse_if(self._closed)
            self._pending += 1
        try:
            with self._adding:
                for element in elements:
                    self._add_one(element)
        finally:
            with self._changed:
                self._pending -= 1
                self._changed.notify_all()

    def _add_one(self, element: Element) -> None:
        with self._changed:
            while not self._cancelled and len(self._elements) == self._capacity:
                self._changed.wait()
            self._refuse_if(self._cancelled)
            self._elements.append([np.array(x) for x in element])
            self._changed.notify_all()

    def _refuse_if(self, closed: bool) -> None:
        if closed:
            raise CancelledError(f"{self._title} is closed.")

    def take(self, count: int, least: int) -> list[Element]:
        """Elements as they come, so that there may be more of them than the queue can hold.

        Args:
            count: How many.
            least: How many are enough when the queue is closed.

        Raises:
            OutOfRangeError: the queue is closed, and holds fewer, which stay in it.
            CancelledError: the session was closed.
        """
        taken: list[Element] = []
        with self._taking, self._changed:
            while len(taken) < count:
                if self._ended:
                    raise CancelledError(f"{self._title}: the session was closed.")
                if len(self._elements) > (0 if self._closed else self._left):
                    taken.append(self._elements.pop(self._choose(self._elements)))
                    self._changed.notify_all()
                elif self._closed and not self._pending:
                    break
                else:
                    self._changed.wait()
            if len(taken) < min(count, least):
                self._elements[:0] = taken
                self._changed.notify_all()
                raise OutOfRangeError(
                    f"{self._title} is closed and has insufficient elements (requested {count}, "
                    f"current size {len(taken)})"
                )
        return taken
