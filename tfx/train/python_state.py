"""``PythonState``: what an object of Python keeps beside variables, as a part of checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tfx.framework.deferred_restores import AutoTrackable
from tfx.framework.variables.live_variable import LiveVariable


class PythonState(AutoTrackable, ABC):
    """A base class of objects whose state is text or bytes that they write and read themselves.

    A checkpoint calls ``serialize`` when it is saved, and ``deserialize`` when it is restored, for
    each such object that it reaches.

    Example:
        >>> import json, tempfile
        >>> import tfx as tf
        >>> class Settings(tf.train.experimental.PythonState):
        ...     def __init__(self, **values):
        ...         self.values = values
        ...
        ...     def serialize(self):
        ...         return json.dumps(self.values)
        ...
        ...     def deserialize(self, string_value):
        ...         self.values = json.loads(string_value)
        >>> settings = Settings(rate=0.5)
        >>> checkpoint = tf.train.Checkpoint(settings=settings)
        >>> path = checkpoint.save(tempfile.mkdtemp() + "/step")
        >>> settings.values = {}
        >>> status = checkpoint.restore(path)
        >>> settings.values
        {'rate': 0.5}
    """

    _tfx_parts_are_attributes = False

    @abstractmethod
    def serialize(self) -> str | bytes:
        """The state as text or bytes."""

    @abstractmethod
    def deserialize(self, string_value: bytes) -> None:
        """Take up a state.

        Args:
            string_value: What ``serialize`` returned; text as its bytes in UTF-8.
        """

    def _trackable_children(self) -> dict[str, Any]:
        """The state as a variable, and nothing else of the object."""
        variable = vars(self).get(_PLACE)
        if variable is None:
            variable = _StateVariable(self)
            object.__setattr__(self, _PLACE, variable)
        variable.look()
        return {"py_state": variable}


_PLACE = "_tfx_python_state"


class _StateVariable(LiveVariable):
    __slots__ = ("_owner",)

    def __init__(self, owner: PythonState) -> None:
        self._owner = owner
        super().__init__("py_state")

    def look(self) -> None:
        """Take the state.

        Raises:
            TypeError: it is neither text nor bytes.
        """
        data: Any = self._owner.serialize()
        if isinstance(data, str):
            data = data.encode()
        if not isinstance(data, bytes):
            raise TypeError(
                f"{type(self._owner).__name__}.serialize must return text or bytes; got {data!r}."
            )
        self.keep(data)

    def restored(self, data: bytes) -> None:
        self._owner.deserialize(data)
