"""What is compared: the names that all scripts share, and what each row promises."""

from __future__ import annotations

from typing import NamedTuple

from bench.peers import memory, networks, storage

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
        unit: ``us`` or ``ms``; ``x`` for a ratio; ``MB`` for memory.
        against: The peers that tfx must not be slower than, or need more memory.
        of: For a ratio, the two cases that are divided.
        within: How many times a peer's figure tfx's may be.
    """

    case: str
    name: str
    unit: str
    against: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    within: float = 1.0


_BOTH = ("jax", "tensorflow")
_MLP, _BLOCK, _ATTENTION = networks.MLP, networks.BLOCK, networks.ATTENTION
_NETWORKS = {
    "mlp": f"MLP of {_MLP.inputs}-{_MLP.hidden}-{_MLP.hidden}-{_MLP.classes}, batch {_MLP.batch}",
    "block": f"ResNet block of {_BLOCK.channels} channels, {_BLOCK.size}x{_BLOCK.size}, "
    f"batch {_BLOCK.batch}",
    "attention": f"attention of {_ATTENTION.heads} heads, width {_ATTENTION.width}, "
    f"length {_ATTENTION.length}, batch {_ATTENTION.batch}",
}
_SHORT = {"mlp": "MLP", "block": "ResNet block", "attention": "attention", "lstm": "LSTM"}
_SIZES = f"of {LSTM.units} units, {LSTM.steps} steps, batch {LSTM.batch}"
_STATE = f"{storage.STATE_BYTES >> 20} MiB"
_WIDE = f"{storage.VARIABLES:,} variables, {storage.SIGNATURES} signatures"
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
    *(
        Row(name + suffix, f"{what}: {rest}", "ms")
        for name, what in _NETWORKS.items()
        for suffix, rest in (("", "loss"), ("_gradient", "loss and gradient"))
    ),
    Row("lstm", f"LSTM {_SIZES}: loss", "ms", _BOTH),
    Row("lstm_gradient", f"LSTM {_SIZES}: loss and gradient", "ms", _BOTH),
    Row("save_state", f"checkpoint of {_STATE}: save", "ms"),
    Row("load_state", f"checkpoint of {_STATE}: restore", "ms"),
    Row("load_wide", f"load of {_WIDE}", "ms", ("tensorflow",)),
    *(
        Row(
            f"{name}_ratio",
            f"(forward + backward) / forward, {short}",
            "x",
            ("jax", "torch"),
            of=(f"{name}_gradient", name),
        )
        for name, short in _SHORT.items()
    ),
    *(
        Row(
            f"{name}_memory",
            f"peak memory of loss and gradient, {_SHORT[name]}, batch {batch:,}",
            "MB",
            ("torch",),
            within=1.2,
        )
        for name, batch in memory.BATCHES.items()
    ),
)
