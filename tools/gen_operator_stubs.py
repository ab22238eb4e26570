"""Write the types of operators, ``raw.pyi`` and ``graph/ops.pyi``. ``--check`` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from tfx import raw
from tfx.graph import schema

ROOT = Path(__file__).parents[1] / "tfx"

RAW = """\
# Types of ``tfx.raw``. Written by tools/gen_operator_stubs.py; do not edit.

from collections.abc import Sequence
from typing import Any

from tfx.framework.tensor import Tensor

EXCLUDED: dict[str, str]

def names() -> list[str]: ...
"""

OPS = """\
# Types of ``tfx.graph.ops``. Written by tools/gen_operator_stubs.py; do not edit.

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, overload

_V = TypeVar("_V")

class Ops(Generic[_V]):
    def apply(self, op: str, inputs: Sequence[_V | None], attrs: dict[str, Any] = ...) -> _V: ...
    def apply_n(
        self,
        op: str,
        inputs: Sequence[_V | None],
        attrs: dict[str, Any] = ...,
        outputs: int | None = None,
    ) -> tuple[_V, ...]: ...
    def number(self, value: float) -> _V: ...
    def ints(self, values: Sequence[int] | int) -> _V: ...
    def like(self, value: float, model: _V) -> _V: ...
"""


# onnx.AttributeProto kinds -> types.
KINDS = {
    1: "float",
    2: "int",
    3: "str",
    4: "Any",
    6: "Sequence[float]",
    7: "Sequence[int]",
    8: "Sequence[str]",
}
VARIADIC = 2**31 - 1


def _signature(name: str) -> str:
    operator = schema.operator(name)
    parameters = []
    variadic = operator.max_inputs >= VARIADIC
    for i, parameter in enumerate(operator.inputs):
        if variadic and i == len(operator.inputs) - 1:
            parameters.append(f"*{parameter}: Any")
        else:
            parameters.append(
                f"{parameter}: Any" if i < operator.min_inputs else f"{parameter}: Any = None"
            )
    if not variadic:
        parameters.append("/" if parameters else "")
        parameters.append("*")
    attributes = sorted(operator.attributes.items(), key=lambda item: (not item[1][1], item[0]))
    for attribute, (kind, required, _) in attributes:
        suffix = "" if required else " | None = None"
        parameters.append(f"{attribute}: {KINDS.get(kind, 'Any')}{suffix}")
    parameters.append("n_outputs: int | None = None")
    single = operator.max_outputs == 1
    result = "Tensor" if single else "Any"
    joined = ", ".join(p for p in parameters if p)
    return f"def {name}({joined}) -> {result}: ..."


def _method(name: str) -> list[str]:
    operator = schema.operator(name)
    parameters = ["self"]
    variadic = operator.max_inputs >= VARIADIC
    for i, parameter in enumerate(operator.inputs):
        if variadic and i == len(operator.inputs) - 1:
            parameters.append(f"*{parameter}: _V | None")
        else:
            parameters.append(
                f"{parameter}: _V" if i < operator.min_inputs else f"{parameter}: _V | None = None"
            )
    if not variadic:
        parameters.append("/")
    keywords = []
    for attribute, (kind, required, _) in sorted(
        operator.attributes.items(), key=lambda item: (not item[1][1], item[0])
    ):
        keywords.append(f"{attribute}: {KINDS.get(kind, 'Any')}{'' if required else ' = ...'}")

    def line(*last: str, result: str) -> str:
        named = [*keywords, *last]
        star = ["*"] if named and not variadic else []
        return f"    def {name}({', '.join([*parameters, *star, *named])}) -> {result}: ..."

    if operator.max_outputs == 1:
        return [line(result="_V")]
    if operator.min_outputs == operator.max_outputs:
        return [line(result=f"tuple[{', '.join(['_V'] * operator.max_outputs)}]")]
    return [
        "    @overload",
        line("outputs: None = None", result="_V"),
        "    @overload",
        line("outputs: int", result="tuple[_V, ...]"),
    ]


def stubs() -> dict[Path, str]:
    """The files and their texts."""
    functions = [_signature(n) for n in raw.names()]
    methods = [line for name in schema.operator_names() for line in _method(name)]
    return {
        ROOT / "raw.pyi": RAW + "\n".join(functions) + "\n",
        ROOT / "graph" / "ops.pyi": OPS + "\n".join(methods) + "\n",
    }


def main() -> int:
    """Write or check; returns the exit status."""
    stale = [path for path, text in stubs().items() if path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path} is stale: run python tools/gen_operator_stubs.py")
        return bool(stale)
    for path in stale:
        path.write_text(stubs()[path])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
