"""Gives ``RaggedTensor`` its operators: those of tensors, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.common import operator_overloads as operator_overloads  # of tensors
from tfx.ops.math import comparison
from tfx.ragged_ops.elementwise import elementwise
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor

_PAIRS = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "and",
    "or",
    "xor",
)
_COMPARISONS = ("lt", "le", "gt", "ge")
_SINGLE = ("neg", "abs", "invert", "pos", "round")


def _forward(name: str) -> Callable[..., Any]:
    def of_tensors(x: Any, y: Any) -> Any:
        if isinstance(x, Tensor):
            return getattr(Tensor, name)(x, y)
        return getattr(Tensor, _reflected_name(name))(y, x)

    def function(self: RaggedTensor, other: Any) -> Any:
        return elementwise(of_tensors, self, other)

    return function


def _reflected_name(name: str) -> str:
    turned = {"__lt__": "__gt__", "__le__": "__ge__", "__gt__": "__lt__", "__ge__": "__le__"}
    return turned.get(name, f"__r{name[2:]}")


def _reflected(name: str) -> Callable[..., Any]:
    def function(self: RaggedTensor, other: Any) -> Any:
        if isinstance(other, bool | int | float | complex | str | bytes):
            return self.with_flat_values(
                getattr(Tensor, _reflected_name(name))(self.flat_values, other)
            )
        dense = as_ragged_or_tensor(other)
        return elementwise(lambda x, y: getattr(Tensor, name)(x, y), dense, self)

    return function


def _single(name: str) -> Callable[..., Any]:
    def function(self: RaggedTensor) -> Any:
        return self.with_flat_values(getattr(Tensor, name)(self.flat_values))

    return function


def _equals(x: RaggedTensor, other: Any) -> Any:
    if other is None:
        return False
    try:
        return elementwise(comparison.equal, x, other)
    except (TypeError, ValueError):
        # As for tensors: what cannot be compared is not equal.
        return False


def _differs(x: RaggedTensor, other: Any) -> Any:
    found = _equals(x, other)
    if found is False:
        return True
    return found.with_flat_values(ox.Not(found.flat_values))


def attach() -> None:
    """Give ``RaggedTensor`` its operators."""
    methods: dict[str, Callable[..., Any]] = {"__eq__": _equals, "__ne__": _differs}
    for name in _PAIRS:
        methods[f"__{name}__"] = _forward(f"__{name}__")
        methods[f"__r{name}__"] = _reflected(f"__{name}__")
    for name in _COMPARISONS:
        methods[f"__{name}__"] = _forward(f"__{name}__")
    for name in _SINGLE:
        methods[f"__{name}__"] = _single(f"__{name}__")
    for name, method in methods.items():
        setattr(RaggedTensor, name, method)


attach()
