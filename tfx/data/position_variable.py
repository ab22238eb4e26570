"""The position of an iterator as a variable, which is how a checkpoint takes it.

The variable's value is the encoded position. It is taken when the checkpoint walks over its
objects, not when it reads the values: meanwhile no variable may change, and a thread of the
pipeline that draws random numbers would wait for that for ever.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.errors import FailedPreconditionError
from tfx.data.position import Unsaved
from tfx.data.state_codec import decode, encode
from tfx.framework.context import init_scope
from tfx.framework.variable import Variable
from tfx.runtime.values import RawValue, from_numpy, to_numpy

_slot: Any = vars(Variable)["_raw"]


class PositionVariable(Variable):
    """A variable that is the position of an iterator.

    Args:
        live: The iterator as it runs: ``save``, ``restore`` and ``moves``.
    """

    __slots__ = ("_live", "_seen", "_trouble")

    _asks_creators = False

    def __init__(self, live: Any) -> None:
        self._live: Any = None
        with init_scope():
            super().__init__(np.zeros(0, np.uint8), trainable=False, name="position", shape=[None])
        self._live = live
        self._seen: int | None = None
        self._trouble: Unsaved | None = None

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
            _slot.__set__(self, from_numpy(np.frombuffer(data, np.uint8)))
        self._seen = seen

    @property
    def _raw(self) -> RawValue:
        if self._live is not None and self._trouble is not None:
            raise FailedPreconditionError(
                f"The position of a dataset's iterator cannot be saved: {self._trouble}."
            )
        return _slot.__get__(self)

    @_raw.setter
    def _raw(self, value: RawValue) -> None:
        if self._live is not None:
            self._live.restore(decode(to_numpy(value).tobytes(), "The position of an iterator"))
            self._seen = self._live.moves
        _slot.__set__(self, value)
