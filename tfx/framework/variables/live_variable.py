"""``LiveVariable``: what an object keeps, as a variable, which is how a checkpoint takes it.

The value is bytes. It is taken when the checkpoint walks over its objects, not when it reads the
values: meanwhile no variable may change, and an object that draws random numbers would wait for
that for ever.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.framework.context import init_scope
from tfx.framework.variable import Variable
from tfx.runtime.values import RawValue, from_numpy, to_numpy

_slot: Any = vars(Variable)["_raw"]


class LiveVariable(Variable):
    """A uint8 vector that an object fills before it is saved, and is told of when it is restored.

    Args:
        name: The name of the variable.
    """

    __slots__ = ("_begun",)

    _asks_creators = False

    def __init__(self, name: str) -> None:
        self._begun = False
        with init_scope():
            super().__init__(np.zeros(0, np.uint8), trainable=False, name=name, shape=[None])
        self._begun = True

    def keep(self, data: bytes) -> None:
        """Take a new value from the object."""
        _slot.__set__(self, from_numpy(np.frombuffer(data, np.uint8)))

    def restored(self, data: bytes) -> None:
        """Give a value that was saved to the object."""
        raise AssertionError

    def require(self) -> None:
        """Raise if the value cannot be read."""

    @property
    def _raw(self) -> RawValue:
        self.require()
        return _slot.__get__(self)

    @_raw.setter
    def _raw(self, value: RawValue) -> None:
        if self._begun:
            self.restored(to_numpy(value).tobytes())
        _slot.__set__(self, value)
