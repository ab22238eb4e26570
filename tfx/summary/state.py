"""The settings of recording: the default writer, the condition and the default step.

They belong to the thread (or task). A summary takes them when it happens: eagerly at once, inside a
function whenever that runs, so one traced function writes to the writer of each of its callers.
What is set by a ``with`` block *inside* a function is a part of its trace instead; such a value is
kept in an ``InTrace``, and functions called inside the block have traces of their own for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from tfx.framework.context import current, using

if TYPE_CHECKING:
    from tfx.summary.writer import SummaryWriter

# True, False, a tensor, or a function that gives one of these.
Condition: TypeAlias = "Any | Callable[[], Any]"


class InTrace:
    """A setting that a function's body made: its trace holds it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that summaries depend on besides their arguments.

    Attributes:
        writer: The default writer.
        condition: Whether to record; None was never said and means yes.
        step: The default step: an integer, a variable or a tensor.
    """

    writer: SummaryWriter | InTrace | None = None
    condition: Condition | InTrace = True
    step: Any | InTrace = None


_settings: ContextVar[Settings] = ContextVar("tfx_summary", default=Settings())  # noqa: B039
settings = _settings.get


def change(**fields: Any) -> None:
    """Change settings from here on."""
    _settings.set(replace(settings(), **fields))


@contextmanager
def changed(**fields: Any) -> Iterator[None]:
    """Change settings inside a ``with`` block."""
    before = settings()
    tracing = current().graph is not None
    kept = {n: InTrace(v) if tracing else v for n, v in fields.items()}
    change(**kept)
    try:
        if tracing:
            traits = tuple(_Trait(name, value) for name, value in fields.items())
            with using(traits=(*current().traits, *traits)):
                yield
        else:
            yield
    finally:
        change(**{name: getattr(before, name) for name in fields})


class _Trait:
    """A setting as a part of what a trace depends on."""

    __slots__ = ("_name", "_value")

    def __init__(self, name: str, value: Any) -> None:
        self._name = name
        self._value = value

    def _key(self) -> tuple[Any, ...]:
        value = self._value
        plain = value is None or isinstance(value, bool | int)
        return (self._name, type(value), value if plain else id(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Trait) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"summary {self._name} {self._value!r}"


def setting(field: Any) -> Any:
    """A setting's value, wherever it was made."""
    return field.value if isinstance(field, InTrace) else field
