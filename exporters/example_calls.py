"""Calls by which exporters of other frameworks trace a model: what signatures are given as.

Owns the forms of the option ``signatures``: a name of a method, a tuple of it and arguments, an
``ExampleCall``, or a list of these. Must not know any framework.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.exporters.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY


@dataclass(frozen=True)
class ExampleCall:
    """A call of a model's method with example arguments.

    Attributes:
        method: The method's name.
        args: Arguments by position.
        kwargs: Arguments by name.
        dynamic: Dimensions whose size calls may choose, with their names:
            ``{"x": {0: "batch"}}``, by parameter and in the structure of the argument.
        training: Whether the method runs as in training.
    """

    method: str = "forward"
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    dynamic: Mapping[str, Any] | None = None
    training: bool = False


def resolve_calls(
    signatures: Any, default: ExampleCall, *, training: bool = False
) -> dict[str, list[ExampleCall]]:
    """The calls of each signature.

    Args:
        signatures: What the user gave: methods, calls or lists of calls by signature; None: the
            default call as ``serving_default``.
        default: What a call takes that does not say it: arguments and dynamic dimensions.
        training: Whether each signature gets a twin that runs as in training: ``train`` beside
            ``serving_default``, ``NAME_train`` beside others.

    Raises:
        InvalidArgumentError: it has another form.
    """
    if signatures is None:
        signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: default}
    if not isinstance(signatures, Mapping) or not signatures:
        raise InvalidArgumentError(
            f"signatures is {signatures!r:.100}, expected a dict of methods by signature, such as "
            '{"serving_default": "forward"}, or of (method, args).'
        )
    found: dict[str, list[ExampleCall]] = {}
    for name, given in signatures.items():
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError(f"signatures has the name {name!r}, expected text.")
        items = given if isinstance(given, list) else [given]
        found[name] = [_call(name, item, default) for item in items]
    if training:
        for name, calls in list(found.items()):
            twin = "train" if name == DEFAULT_SERVING_SIGNATURE_DEF_KEY else f"{name}_train"
            found.setdefault(twin, [replace(c, training=True) for c in calls])
    return found


def _call(name: str, item: Any, default: ExampleCall) -> ExampleCall:
    if isinstance(item, ExampleCall):
        own = item.args or item.kwargs
        return replace(
            item,
            args=item.args if own else default.args,
            kwargs=item.kwargs if own else default.kwargs,
            dynamic=default.dynamic if item.dynamic is None else item.dynamic,
        )
    if isinstance(item, str):
        return replace(default, method=item)
    parts: Sequence[Any] = item if isinstance(item, tuple) else ()
    if not 1 <= len(parts) <= 3 or not isinstance(parts[0], str):
        raise InvalidArgumentError(
            f"signatures[{name!r}] is {item!r:.100}, expected a method's name, (method, args), "
            "(method, args, kwargs) or an ExampleCall."
        )
    if len(parts) == 1:
        return replace(default, method=parts[0])
    args = parts[1] if isinstance(parts[1], tuple | list) else (parts[1],)
    kwargs = dict(parts[2]) if len(parts) == 3 else {}
    return replace(default, method=parts[0], args=tuple(args), kwargs=kwargs)
