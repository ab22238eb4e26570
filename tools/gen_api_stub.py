"""Write ``tfx/__init__.pyi`` from ``tfx/_exports.py``. ``--check`` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from tfx._exports import NAMES, SUBMODULES

TARGET = Path(__file__).parents[1] / "tfx" / "__init__.pyi"

HEADER = '''\
"""Types of the public names. Written by tools/gen_api_stub.py; do not edit."""

'''


def stub() -> str:
    """The text of the stub."""
    lines = [f"from tfx import {name} as {name}" for name in sorted(SUBMODULES)]
    lines += sorted(f"from {module} import {name} as {name}" for name, module in NAMES.items())
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
