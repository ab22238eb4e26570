"""Calls that compute the gradient of an ``LSTM``, as our kernels know it: the tag, and for which.

What such a call computes is in its graph, by operators of the standard: the gates and cells of all
steps again, and a loop backwards. ``passes.kernel_operators.lstm`` takes operators of the kernels'
library for it where there are such, and puts the nodes in place of the call elsewhere.
"""

from __future__ import annotations

from typing import Any

from tfx.graph.tags import Tag

# The inputs that every such call has; the others are optional.
REQUIRED = ("x", "w", "r", "y")
_ACTIVATIONS = ["sigmoid", "tanh", "tanh"]


class LstmGradient(Tag):
    """Tag of a call whose results are what ``da``, ``dh`` and ``dc`` are for a plain ``LSTM``.

    That is the gradients with respect to what goes into the gates, ``[time, batch, 4 * units]``,
    and to the first state and cell, ``[batch, units]``.

    Attributes:
        inputs: What each input of the call is: ``x``, ``w``, ``r``, ``b``, ``h`` and ``c`` as the
            operator has them, its first result ``y``, and the gradients of its results ``dy``,
            ``dh`` and ``dc``.
    """

    __slots__ = ("inputs",)

    def __init__(self, inputs: tuple[str, ...]) -> None:
        self.inputs = inputs


def is_plain(attrs: dict[str, Any]) -> bool:
    """True if an ``LSTM`` runs forwards, time first, with the usual activations alone."""
    return (
        _text(attrs.get("direction", "forward")) == "forward"
        and not any(attrs.get(name) for name in ("layout", "input_forget", "clip"))
        and [_text(n).lower() for n in attrs.get("activations") or _ACTIVATIONS] == _ACTIVATIONS
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
