"""``Module``: an object that finds the variables and modules among its attributes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar

from tfx.core.signatures import show_signature
from tfx.framework.context import current, name_scope
from tfx.framework.deferred_restores import AutoTrackable
from tfx.framework.function_wrappers import remake_with
from tfx.framework.variable import Variable

_Method = TypeVar("_Method", bound=Callable[..., Any])
_IDENTIFIER = re.compile(r"^[A-Za-z_]\w*$")


def snake_case(name: str) -> str:
    """A class's name as modules are called: ``DenseLayer`` becomes ``dense_layer``."""
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
    # Attributes that a subclass keeps out of ``variables`` and ``submodules``; TensorFlow's name.
    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()
    # What libraries enter that wrap methods: a subclass may put something else in its place.
    _name_scope = _OwnScope()

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = snake_case(type(self).__name__)
        if not _IDENTIFIER.match(str(name)):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid "
                "Python identifiers (e.g. a valid class name)."
            )
        self._name = name
        context = current()
        if context.scope or context.graph is not None:
            with name_scope(name) as prefix:
                self._self_name_scope = prefix

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
        return tuple(
            self._flatten(predicate=lambda leaf: isinstance(leaf, Variable), expand_composites=True)
        )

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that are trainable."""
        return tuple(self._flatten(predicate=_is_trainable, expand_composites=True))

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that are not trainable."""
        return tuple(
            self._flatten(
                predicate=lambda leaf: isinstance(leaf, Variable) and not leaf.trainable,
                expand_composites=True,
            )
        )

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules below this one, each once."""
        return tuple(self._flatten(predicate=lambda leaf: isinstance(leaf, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Leaves of the attributes, sorted by name, then the same of each submodule.

        Subclasses call it for leaves of other kinds, as they do in TensorFlow.

        Args:
            recursive: Whether to go on with modules that ``predicate`` takes; those that it does
                not take are always entered.
            predicate: Which leaves to give; None: all.
            attribute_traversal_key: What attributes are sorted by; None: their names.
            with_path: Give ``(path, leaf)``; a path is attributes, keys and places in lists.
            expand_composites: Accepted for compatibility.
        """
        seen = {id(self)}
        # Not a recursion: chains of modules may be long.
        waiting: list[tuple[Module, tuple[Any, ...]]] = [(self, ())]
        while waiting:
            module, prefix = waiting.pop()
            below: list[tuple[Module, tuple[Any, ...]]] = []
            ignored = module._IGNORED | module._TF_MODULE_IGNORED_PROPERTIES
            for key in sorted(vars(module), key=attribute_traversal_key):
                if key in ignored:
                    continue
                for place, leaf in _leaves(vars(module)[key]):
                    if id(leaf) in seen:
                        continue
                    path = (*prefix, key, *place)
                    taken = predicate is None or predicate(leaf)
                    if taken:
                        seen.add(id(leaf))
                        yield (path, leaf) if with_path else leaf
                    if isinstance(leaf, Module) and (recursive or not taken):
                        seen.add(id(leaf))
                        below.append((leaf, path))
            waiting.extend(reversed(below))

    @classmethod
    def with_name_scope(cls, method: _Method) -> _Method:
        """Decorate a method so that it runs inside the module's name scope."""

        @wraps(method)
        def wrapped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        show_signature(wrapped, inspect.signature(method))
        remake_with(wrapped, lambda convert: cls.with_name_scope(convert(method)))
        return wrapped  # type: ignore[return-value]


def _is_trainable(leaf: Any) -> bool:
    return isinstance(leaf, Variable) and leaf.trainable


def _leaves(value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the leaves of nested containers with their paths; mappings by sorted key."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    entered: set[int] = set()  # a list may hold itself
    while waiting:
        path, item = waiting.pop()
        if not isinstance(item, Mapping | list | tuple):
            yield path, item
        elif id(item) not in entered:
            entered.add(id(item))
            waiting.extend(((*path, key), below) for key, below in reversed(_items(item)))


def _items(container: Any) -> list[tuple[Any, Any]]:
    if not isinstance(container, Mapping):
        return list(enumerate(container))
    try:
        keys = sorted(container)
    except TypeError:  # keys of mixed types keep their order
        keys = list(container)
    return [(key, container[key]) for key in keys]
