"""``make_template``: a function whose variables are made once and shared by all calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfx.compat.v1.variables.scopes import VariableScope, variable_scope


class Template:
    """A function with a variable scope of its own. Made by ``make_template``.

    Args:
        name: Name of the scope.
        function: The function.
        unique_name: Name that is taken as it is; None: ``name``, made unique.
        custom_getter: See ``variable_scope``.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        unique_name: str | None = None,
        custom_getter: Any = None,
    ) -> None:
        self._name = name
        self._unique_name = unique_name
        self._function = function
        self._custom_getter = custom_getter
        self._scope: VariableScope | None = None
        self._called = False

    @property
    def name(self) -> str:
        """Name of the scope, as it was given."""
        return self._name

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope; None before the first call."""
        return self._scope

    @property
    def global_variables(self) -> list[Any]:
        """The variables of the scope."""
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables of the scope."""
        return [] if self._scope is None else self._scope.trainable_variables()

    @property
    def variables(self) -> list[Any]:
        """The variables of the scope."""
        return self.global_variables

    def open(self) -> None:
        """Make the scope."""
        with variable_scope(
            self._unique_name, default_name=self._name, custom_getter=self._custom_getter
        ) as scope:
            self._scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; every call but the first finds its variables there."""
        if self._scope is None:
            self.open()
        with variable_scope(self._scope, reuse=self._called):
            result = self._function(*args, **kwargs)
        self._called = True
        return result


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """Let all calls of a function share the variables that ``get_variable`` makes in the first.

    Args:
        name_: Name of the variable scope; made unique.
        func_: The function.
        create_scope_now_: Make the scope now and not at the first call.
        unique_name_: Name of the scope, taken as it is.
        custom_getter_: See ``variable_scope``.
        **kwargs: Arguments of ``func_`` for every call.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     scale = tf.make_template("scale", lambda x: x * tf.get_variable("w", []))
        ...     a, b = scale(tf.constant(1.0)), scale(tf.constant(2.0))
        ...     [v.name for v in tf.global_variables()]
        ['scale/w:0']
    """
    function = functools.partial(func_, **kwargs) if kwargs else func_
    template = Template(name_, function, unique_name_, custom_getter_)
    if create_scope_now_:
        template.open()
    return template
