"""What a model is called by: a function with an input signature, wherever that stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.function.tracing.function import Function


def declared_function(call: Any) -> Function | None:
    """The function with an input signature that a call of something runs; None: there is none.

    Args:
        call: A function, or a module whose ``__call__`` is one, of its class or its own.
    """
    name = "__call__"
    held: dict[str, Any] = getattr(call, "__dict__", {})
    own = held.get(name)
    of_class = getattr(type(call), name, None)
    candidates: list[Any] = [call, own, call.__call__ if isinstance(of_class, Function) else None]
    # Of a model of several methods, what each one's first graph is run by.
    methods: dict[str, Any] = getattr(call, "_traced_methods", dict)()
    candidates += [methods.get(name)]
    candidates += [graph.function for graph in getattr(call, "calls", ())[:1]]
    found = next((x for x in candidates if isinstance(x, Function)), None)
    return found if isinstance(found, Function) and found.input_signature is not None else None


def input_specs(call: Any, inputs: Sequence[TensorSpec] | None) -> list[TensorSpec]:
    """The specs of a call's inputs, given or declared.

    Raises:
        InvalidArgumentError: neither, or an input is no tensor.
    """
    if not callable(call):
        raise InvalidArgumentError(
            f"{call!r:.100} cannot be called: give call=, a function that computes the results."
        )
    function = declared_function(call)
    found = list(inputs if inputs is not None else getattr(function, "input_signature", None) or ())
    if not found:
        raise InvalidArgumentError(
            "the inputs are not known: give inputs=[tfx.TensorSpec(...)], or a call that is a "
            "tfx.function with an input_signature."
        )
    wrong = [s for s in found if not isinstance(s, TensorSpec)]
    if wrong:
        raise InvalidArgumentError(
            f"an input is {wrong[0]!r:.100}, expected a TensorSpec: a sequence or a structure "
            "cannot be an input here."
        )
    return found
