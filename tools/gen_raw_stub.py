"""Write ``tfx/raw.pyi``: the types of the functions of ``tfx.raw``. ``--check`` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from tfx import raw
from tfx.graph import schema

TARGET = Path(__file__).parents[1] / "tfx" / "raw.pyi"

HEADER = """\
# Types of ``tfx.raw``. Written by tools/gen_raw_stub.py; do not edit.

from collections.abc import Sequence
from typing import Any

from tfx.framework.tensor import Tensor

EXCLUDED: dict[str, str]

def names() -> list[str]: ...
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
_VARIADIC = 2**31 - 1


def _signature(name: str) -> str:
    operator = schema.operator(name)
    parameters = []
    variadic = operator.max_inputs >= _VARIADIC
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


def stub() -> str:
    """The text of the stub."""
    return HEADER + "\n".join(_signature(n) for n in raw.names()) + "\n"


def main() -> int:
    """Write or check; returns the exit status."""
    text = stub()
    if "--check" in sys.argv:
        if TARGET.read_text() != text:
            print(f"{TARGET} is stale: run python tools/gen_raw_stub.py")
            return 1
        return 0
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
