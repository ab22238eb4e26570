"""``RegisterGradient`` and ``no_gradient``: gradients of operators by name, as TensorFlow has them.

They fill the table of ``framework.rules``, in which every ONNX operator stands already, with a rule
or with the reason for having none; what is there is never replaced. To give a part of a program
another gradient there is ``custom_gradient``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tfx.autodiff import backprop as backprop  # fills the table
from tfx.framework import rules
from tfx.framework.rules import OpRecord

_F = TypeVar("_F", bound=Callable[..., Any])


class RegisterGradient:
    """A decorator that registers the gradient of an operator.

    Args:
        op_type: The operator's name; one without a gradient so far.

    Raises:
        TypeError: the name is not text.
        KeyError: (when it decorates) the operator has a gradient.

    Example:
        >>> import tfx as tf
        >>> @tf.RegisterGradient("ExampleOfDocumentation")
        ... def _gradient(op, grad):
        ...     return 2.0 * grad
        >>> tf.RegisterGradient("Sin")(_gradient)
        Traceback (most recent call last):
            ...
        KeyError: "Registering two gradient with name 'Sin'! ..."
    """

    __slots__ = ("_op_type",)

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"op_type must be a string, got {op_type!r}.")
        self._op_type = op_type

    def __call__(self, f: _F) -> _F:
        """Register ``f(op, *grads)``, which returns the gradient of each input of ``op``."""
        if not callable(f):
            raise TypeError(f"A gradient is a function of (op, *grads), got {f!r}.")
        _check_new(self._op_type)

        def rule(op: OpRecord, *dys: Any) -> Any:
            found = f(op, *dys)
            many = isinstance(found, list | tuple)
            return found if many or len(op.inputs) == 1 else [found]

        rules.gradient(self._op_type)(rule)
        return f


def no_gradient(op_type: str) -> None:
    """Declare that an operator is not differentiable: its gradient is None.

    Args:
        op_type: The operator's name; one without a gradient so far.

    Raises:
        TypeError: the name is not text.
        KeyError: the operator has a gradient, or is declared already.

    Example:
        >>> import tfx as tf
        >>> tf.no_gradient("AnotherExampleOfDocumentation")
    """
    if not isinstance(op_type, str):
        raise TypeError(f"op_type must be a string, got {op_type!r}.")
    _check_new(op_type)
    rules.no_gradient(op_type, why="declared by tfx.no_gradient")


def _check_new(op_type: str) -> None:
    status = rules.status_of(op_type)
    if status is not None:
        known = "it has a rule" if status == "rule" else f"it is declared to have none: {status}"
        raise KeyError(
            f"Registering two gradient with name {op_type!r}! Of this operator the gradient is "
            f"known ({known}); use tfx.custom_gradient for another one in a part of a program."
        )
