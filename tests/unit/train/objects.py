"""Small models for the tests of checkpoints."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.shapes import TensorShape
from tfx.framework.module import Module
from tfx.framework.variable import Variable

_NUMERIC = (
    *("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)


class Plain:
    """An object of a user's class that knows nothing of tfx."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Keeper(Module):
    """Keeps slots for variables, as optimizers do, in an order of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.step = v(0)
        self._slots: dict[str, dict[str, Variable]] = {}
        self._self_of: list[Variable] = []

    def build(self, variables: list[Variable], value: float = 0.0) -> None:
        from tfx.framework import deferred_restores

        for variable in variables:
            slot = Variable(np.full(variable.shape.as_list(), value, np.float32))
            self._slots[str(len(self._slots))] = {"m": slot}
            self._self_of.append(variable)
        deferred_restores.changed(self)

    def slot(self, variable: Variable) -> Variable:
        return next(slot for _, of, slot in self._trackable_slots() if of is variable)

    def _trackable_slots(self) -> list[tuple[str, Variable, Variable]]:
        return [
            (name, of, slot)
            for of, slots in zip(self._self_of, self._slots.values(), strict=True)
            for name, slot in slots.items()
        ]


def module(**attributes: Any) -> Module:
    """Make a module with these attributes."""
    result = Module()
    for name, value in attributes.items():
        setattr(result, name, value)
    return result


def v(value: Any = 0.0, dtype: Any = None) -> Variable:
    """Make a variable."""
    return Variable(value, dtype=dtype)


def f(variable: Variable) -> float:
    """Give the value of a scalar variable."""
    return float(variable.numpy())


def one_of_each_dtype() -> dict[str, Variable]:
    """Give variables of every dtype and of unusual shapes, by name."""
    rng = np.random.default_rng(0)
    found: dict[str, Variable] = {}
    for name in _NUMERIC:
        numpy_dtype = dtypes.as_dtype(name).as_numpy_dtype
        found[name] = Variable(rng.integers(0, 2, (3, 2)).astype(numpy_dtype))
    found["string"] = Variable(["", "a", "\u00e9\u4e2d"])
    found["scalar"] = Variable(1.5)
    found["string scalar"] = Variable("text")
    found["empty"] = Variable(np.zeros((0, 3), np.float32))
    found["empty string"] = Variable(np.zeros((0,), object), dtype=dtypes.string)
    found["unknown shape"] = Variable(np.ones((2, 2), np.float32), shape=TensorShape(None))
    return found
