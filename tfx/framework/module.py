"""``Module``: an object that finds the variables and modules among its attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar

from tfx.framework.context import current, name_scope
from tfx.framework.deferred import AutoTrackable
from tfx.framework.remaking import remake_with
from tfx.framework.variable import Variable

_Method = TypeVar("_Method", bound=Callable[..., Any])
_IDENTIFIER = re.compile(r"^[A-Za-z_]\w*$")


def _snake_case(name: str) -> str:
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", name).lower()


class _OwnScope:
    """``_name_scope``, which is ``name_scope`` unless an instance has its own."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else instance.name_scope


class Module(AutoTrackable):
    """Base class of models and layers: variables are found through attributes.

    Args:
        name: Name, a Python identifier; None takes the class's name in snake case.

    Raises:
        ValueError: the name is not an identifier.

    Example:
        >>> import tfx as tf
        >>> class Dense(tf.Module):
        ...     def __init__(self, units_in, units_out, name=None):
        ...         super().__init__(name)
        ...         self.w = tf.Variable(tf.zeros([units_in, units_out]), name="w")
        ...
        ...     def __call__(self, x):
        ...         return x @ self.w
        >>> [v.name for v in Dense(2, 3).variables]
        ['w:0']
    """

    _IGNORED: frozenset[str] = frozenset(("_name", "_name_scope", "_self_name_scope"))
    # What libraries enter that wrap methods: a subclass may put something else in its place.
    _name_scope = _OwnScope()

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _snake_case(type(self).__name__)
        if not _IDENTIFIER.match(str(name)):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid "
                "Python identifiers (e.g. a valid class name)."
            )
        self._name = name
        if current().scope:
            self._self_name_scope = f"{current().scope}{name}/"

    @property
    def name(self) -> str:
        """The module's name."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """A ``with`` scope that prefixes names with the module's and that it was made in."""
        return name_scope(getattr(self, "_self_name_scope", f"{self._name}/"))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of this module, then those of its submodules, each once."""
        return tuple(self._flatten(lambda leaf: isinstance(leaf, Variable)))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that are not trainable."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules below this one, each once."""
        return tuple(self._flatten(lambda leaf: isinstance(leaf, Module)))

    def _flatten(self, predicate: Callable[[Any], bool]) -> Iterator[Any]:
        """Leaves of the attributes, sorted by name, then the same of each submodule."""
        seen = {id(self)}
        waiting: list[Module] = [self]  # not a recursion: chains of modules may be long
        while waiting:
            module = waiting.pop()
            below: list[Module] = []
            for key in sorted(vars(module)):
                if key in module._IGNORED:
                    continue
                for leaf in _leaves(vars(module)[key]):
                    if id(leaf) in seen:
                        continue
                    if predicate(leaf):
                        seen.add(id(leaf))
                        yield leaf
                    if isinstance(leaf, Module):
                        seen.add(id(leaf))
                        below.append(leaf)
            waiting.extend(reversed(below))

    @classmethod
    def with_name_scope(cls, method: _Method) -> _Method:
        """Decorate a method so that it runs inside the module's name scope."""

        @wraps(method)
        def wrapped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        remake_with(wrapped, lambda convert: cls.with_name_scope(convert(method)))
        return wrapped  # type: ignore[return-value]


def _leaves(value: Any) -> Iterator[Any]:
    """Modules and variables in nested containers, in order (mappings by sorted key)."""
    waiting = [value]
    entered: set[int] = set()  # a list may hold itself
    while waiting:
        item = waiting.pop()
        if isinstance(item, Variable | Module):
            yield item
        elif isinstance(item, Mapping | list | tuple) and id(item) not in entered:
            entered.add(id(item))
            waiting.extend(reversed(_items(item)))


def _items(container: Any) -> list[Any]:
    if not isinstance(container, Mapping):
        return list(container)
    try:
        keys = sorted(container)
    except TypeError:  # keys of mixed types keep their order
        keys = list(container)
    return [container[key] for key in keys]
