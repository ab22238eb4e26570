"""Write ``tfx/core/tensorflow_names.py``: which public names TensorFlow has.

Needs a Python with TensorFlow, which may be another one than the project's:
``python tools/gen_tensorflow_names.py``. Keras is left out: it is a library of its own.
"""

from __future__ import annotations

import importlib
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

TARGET = Path(__file__).parents[1] / "tfx" / "core" / "tensorflow_names.py"

HEADER = '''"""The public names of TensorFlow {version}, by namespace.

Those of its version 1 are below ``compat.v1``. Written by tools/gen_tensorflow_names.py. A name
that tfx does not have is a mistake, or one of these: see ``namespaces``.
"""

# fmt: off
from __future__ import annotations

NAMES: dict[str, str] = {{
'''
MIDDLE = """}

# Namespaces of version 1, which have the names of others besides their own.
SAME_IN_V2: dict[str, str] = {
"""


def namespaces(tensorflow: Any) -> dict[str, list[str]]:
    """The public names of each namespace."""
    found: dict[str, list[str]] = {}
    waiting: list[tuple[str, ModuleType]] = [("", tensorflow)]
    while waiting:
        path, module = waiting.pop()
        found[path] = [n for n in dir(module) if not n.startswith("_") and _is_name(module, n)]
        for name in found[path]:
            value = getattr(module, name)
            below = f"{path}.{name}" if path else name
            if _is_namespace(value) and below not in ("compat.v2", "compat.v1.compat"):
                waiting.append((below, value))
    return {path: sorted(names) for path, names in found.items()}


def _is_name(module: Any, name: str) -> bool:
    value = getattr(module, name)
    if type(value) is not ModuleType:  # Keras is loaded lazily, by modules of a class of their own
        return True
    return _is_namespace(value) or name == "flags"


def _is_namespace(value: Any) -> bool:
    if not isinstance(value, ModuleType) or "Keras" in type(value).__name__:
        return False
    return "._api." in value.__name__ or value.__name__.startswith("tensorflow.experimental")


def text(tensorflow: Any) -> str:
    """The contents of the file."""
    found = namespaces(tensorflow)
    lines = [HEADER.format(version=tensorflow.__version__)]
    same = {}
    for path in sorted(found):
        names = found[path]
        if path.startswith("compat.v1"):
            other = path.removeprefix("compat.v1").removeprefix(".")
            if other in found:
                same[path] = other
                names = [n for n in names if n not in found[other]]
        if names:
            body = "\n".join(textwrap.wrap(" ".join(names), 94))
            lines.append(f'    "{path}": """\n{textwrap.indent(body, " " * 4)}\n""",\n')
    lines.append(MIDDLE)
    lines += [f'    "{path}": "{other}",\n' for path, other in same.items()]
    return "".join([*lines, "}\n"])


def main() -> int:
    """Write the file; returns the exit status."""
    TARGET.write_text(text(importlib.import_module("tensorflow")))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
