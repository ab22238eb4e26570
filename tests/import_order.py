"""Runs small programs in fresh processes, whose results must not depend on what was imported.

Two servers fork a child for each program. The children of the first one have imported nothing of
tfx, those of the second one all of it. A fork costs milliseconds where a process costs half a
second: the server has imported the packages of others.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pkgutil
import sys
import traceback
from collections.abc import Mapping

_OTHERS = ("ml_dtypes", "numpy", "onnx", "onnxruntime", "google.protobuf.json_format")
# They ask for packages that need not be there, or are programs.
_NOT_IMPORTED = ("tfx.cli", "tfx.exporters", "tfx.model_zoo", "tfx.loaders")


def import_everything() -> None:
    """Import all modules of tfx that need no other package."""
    import tfx

    for found in pkgutil.walk_packages(tfx.__path__, "tfx.", onerror=lambda name: None):
        if found.name.startswith(_NOT_IMPORTED) or "__main__" in found.name:
            continue
        importlib.import_module(found.name)


def outcome(program: str) -> str:
    """What a program prints, in a forked child; or how it failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
                exec(compile(program, "<program>", "exec"), {"__name__": "__program__"})
        except BaseException:
            said.write(traceback.format_exc(limit=-1))
        with os.fdopen(writing, "w") as out:
            out.write(said.getvalue())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as given:
        text = given.read()
    _, status = os.waitpid(child, 0)
    return text if status == 0 else f"the process ended with {status}"


def outcomes(programs: Mapping[str, str]) -> dict[str, str]:
    """What each program prints in a process that has imported what this one has."""
    return {name: outcome(text) for name, text in programs.items()}


def main() -> None:
    """Read programs as JSON, write what they print as JSON; ``all``: import everything before."""
    import json

    for name in _OTHERS:
        importlib.import_module(name)
    if sys.argv[1:] == ["all"]:
        import_everything()
    json.dump(outcomes(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
