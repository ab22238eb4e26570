"""``variable_creator_scope``: a program's say in how variables are made."""

from __future__ import annotations

import abc
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from tfx.framework.context import current

T = TypeVar("T")
Creator = Callable[..., Any]

_creators: ContextVar[tuple[Creator, ...]] = ContextVar("tfx_variable_creators", default=())
# Changes what was made, in all threads; inside of every scope.
_finish: Callable[[Any], Any] | None = None


def finish_variables(function: Callable[[Any], Any] | None) -> None:
    """Let a function of each new variable say what takes its place; None: nothing does."""
    global _finish
    _finish = function


@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Create variables inside the ``with`` block by a function of the program.

    Args:
        variable_creator: ``creator(next_creator, **kwargs)`` returns a variable: what
            ``next_creator(**kwargs)`` makes of the same or changed arguments of ``Variable``, or
            something else. The innermost scope's is called first.

    Example:
        >>> import tfx as tf
        >>> def frozen(next_creator, **kwargs):
        ...     kwargs["trainable"] = False
        ...     return next_creator(**kwargs)
        >>> with tf.variable_creator_scope(frozen):
        ...     v = tf.Variable(1.0)
        >>> v.trainable
        False
    """
    token = _creators.set((*_creators.get(), variable_creator))
    try:
        yield
    finally:
        _creators.reset(token)


def create(make: Creator, options: dict[str, Any]) -> Any:
    """Make a variable the way that the scopes around say.

    Args:
        make: Makes it where nobody says.
        options: Keyword arguments.
    """
    for creator in _creators.get():
        make = functools.partial(creator, make)
    return make(**options)


def outside_scopes(make: Callable[..., T], **options: Any) -> T:
    """What a function makes, with variables that are no variables of the program.

    Args:
        make: Makes an object whose variables are an implementation's own, such as the state of
            a random operation: TensorFlow has none there, so no creator is asked for them.
        **options: Its keyword arguments.
    """
    token = _creators.set(())
    try:
        return make(**options)
    finally:
        _creators.reset(token)


class VariableKind(abc.ABCMeta):
    """The class of ``Variable``: calling that asks the graph and the scopes around.

    One of abstract classes, so that a program's class may be a variable and an abstract class.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance, or what takes its place here."""
        if "_asks_creators" not in cls.__dict__:
            return super().__call__(*args, **kwargs)
        graph = current().graph
        target: Any = cls if graph is None else graph.variable_class or cls
        finish = _finish
        if not _creators.get():
            made = type.__call__(target, *args, **kwargs)
            return made if finish is None else finish(made)
        bound = inspect.signature(cls.__dict__["__init__"]).bind(None, *args, **kwargs)
        bound.apply_defaults()
        options = dict(bound.arguments)
        options.pop("self")

        def make(**options: Any) -> Any:
            made = type.__call__(target, **options)
            return made if finish is None else finish(made)

        return create(make, options)
