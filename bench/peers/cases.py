"""What is compared: the names that all scripts share, and what each row promises."""

from __future__ import annotations

from typing import NamedTuple

OPERATIONS = 1000
VARIABLES = 200
ITERATIONS = 1000


class Recurrent(NamedTuple):
    """Sizes of the recurrent network."""

    units: int
    steps: int
    batch: int


LSTM = Recurrent(128, 100, 32)


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        case: Name that the scripts know it by.
        name: What was measured.
        unit: ``us`` or ``ms``.
        against: The peers that tfx must not be slower than.
    """

    case: str
    name: str
    unit: str
    against: tuple[str, ...] = ()


_BOTH = ("jax", "tensorflow")
_SIZES = f"of {LSTM.units} units, {LSTM.steps} steps, batch {LSTM.batch}"
ROWS = (
    Row("call_1", "call with 1 tensor", "us", _BOTH),
    Row("call_10", "call with 10 tensors", "us", _BOTH),
    Row("call_100", "call with 100 tensors", "us", _BOTH),
    Row("nest", "call with a nest of 10 tensors", "us", _BOTH),
    Row("keywords", "call of two tensors by keyword", "us"),
    Row("update_1", "call that updates a variable", "us", _BOTH),
    Row("update_200", f"step that assigns {VARIABLES} variables", "us"),
    Row("chain", f"call of a graph of {OPERATIONS:,} operations", "us"),
    Row("eager", "eager addition of 2x2 matrices", "us"),
    Row("retrace", f"retrace of {OPERATIONS:,} operations: the graph", "ms", ("tensorflow",)),
    Row("retrace_call", f"retrace of {OPERATIONS:,} operations, compiled and called", "ms"),
    Row("first", "first call of a new function of two operations", "ms"),
    Row("loop", f"loop of {ITERATIONS:,} iterations of two operations", "us", ("tensorflow",)),
    Row("lstm", f"LSTM {_SIZES}: loss", "ms", _BOTH),
    Row("lstm_gradient", f"LSTM {_SIZES}: loss and gradient", "ms", _BOTH),
)
