"""``LoadedObject``: what a saved object is when it is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tfx.core.tracebacks import cover
from tfx.framework.module import Module
from tfx.saved_model.close import close, warmup
from tfx.saved_model.signature import SignatureFunction
from tfx.saved_model.traces import LoadedFiles
from tfx.saved_model.variable_swap import assign, reload


@cover
class LoadedObject(Module):
    """The result of ``load``: attributes of the saved object, and ``signatures``.

    What an attribute of the saved object is called hides a method of that name here; the functions
    of ``tf.saved_model`` do the same.
    """

    __slots__ = ("_self_files",)

    signatures: dict[str, SignatureFunction]
    _self_files: LoadedFiles

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the saved object's traced ``__call__``.

        Raises:
            TypeError: it had none.
        """
        call = vars(self).get("__call__")
        if call is None:
            raise TypeError("The saved object was not callable: its class had no traced __call__.")
        return call(*args, **kwargs)

    def assign(self, values: Mapping[str, Any]) -> None:
        """Replace variables, all in one step; see ``tf.saved_model.assign``."""
        assign(self, values)

    def reload(self, export_dir: str | os.PathLike[str]) -> None:
        """Take all variables from another version; see ``tf.saved_model.reload``."""
        reload(self, export_dir)

    def warmup(self, signature: str | None = None) -> None:
        """Open the sessions ahead of the first calls; see ``tf.saved_model.warmup``."""
        warmup(self, signature)

    def close(self) -> None:
        """Give sessions, variables and their memory back; see ``tf.saved_model.close``."""
        close(self)


def _saved_first(name: str) -> property:
    """A property of ``Module`` that gives way to a saved attribute of the same name."""
    inherited = vars(Module)[name].fget

    def get(self: LoadedObject) -> Any:
        attributes = vars(self)
        return attributes[name] if name in attributes else inherited(self)

    return property(get, doc=inherited.__doc__)


for _name in [n for n, value in vars(Module).items() if isinstance(value, property)]:
    setattr(LoadedObject, _name, _saved_first(_name))
