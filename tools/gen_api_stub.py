"""Write ``tfx/__init__.pyi`` from ``tfx/_exports.py``. ``--check`` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from tfx._exports import NAMES, OPTIONAL, SUBMODULES, UNLISTED

TARGET = Path(__file__).parents[1] / "tfx" / "__init__.pyi"

HEADER = "# Types of the public names. Written by tools/gen_api_stub.py; do not edit.\n\n"


def _line(name: str, module: str) -> str:
    line = f"from {module} import {name} as {name}"
    return line if len(line) <= 100 else f"from {module} import (\n    {name} as {name},\n)"


def _order(line: str) -> tuple[str, bool, bool, str]:
    """As ruff sorts imports: by module, constants before classes before the rest."""
    module, name = line.split()[1], line.split(" import ")[1].strip("(\n ").split()[0]
    return module, not name.isupper(), not name[0].isupper(), name


def stub() -> str:
    """The text of the stub."""
    lines = [f"from tfx import {name} as {name}" for name in sorted(SUBMODULES + OPTIONAL)]
    lines += [_line(name, module) for name, module in (NAMES | UNLISTED).items()]
    lines.sort(key=_order)
    return HEADER + "\n".join(lines) + "\n\nnewaxis: None\n__version__: str\n"


def main() -> int:
    """Write or check; returns the exit status."""
    text = stub()
    if "--check" in sys.argv:
        if TARGET.read_text() != text:
            print(f"{TARGET} is stale: run python tools/gen_api_stub.py")
            return 1
        return 0
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
