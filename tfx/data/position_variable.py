"""The position of an iterator as a variable, which is how a checkpoint takes it."""

from __future__ import annotations

from typing import Any

from tfx.core.errors import FailedPreconditionError
from tfx.data.position import Unsaved
from tfx.data.state_codec import decode, encode
from tfx.framework.variables.live_variable import LiveVariable


class PositionVariable(LiveVariable):
    """A variable that is the encoded position of an iterator.

    Args:
        live: The iterator as it runs: ``save``, ``restore`` and ``moves``.
    """

    __slots__ = ("_live", "_seen", "_trouble")

    def __init__(self, live: Any) -> None:
        self._trouble: Unsaved | None = None
        self._seen: int | None = None
        self._live = live
        super().__init__("position")

    def look(self) -> None:
        """Take the position, if it has changed."""
        live = self._live
        if self._seen == live.moves:
            return
        seen = live.moves
        try:
            data = encode(live.save())
        except Unsaved as e:
            self._trouble = e
        else:
            self._trouble = None
            self.keep(data)
        self._seen = seen

    def restored(self, data: bytes) -> None:
        """Go on from a position that was saved."""
        self._live.restore(decode(data, "The position of an iterator"))
        self._seen = self._live.moves

    def require(self) -> None:
        """Raise if the iterator's position cannot be saved."""
        if self._trouble is not None:
            raise FailedPreconditionError(
                f"The position of a dataset's iterator cannot be saved: {self._trouble}."
            )
