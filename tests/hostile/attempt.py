"""Open bundles with both loaders and use everything in them; made to run in a process of its own.

Run as ``python -m tests.hostile.attempt FOLDER ...``. Prints one JSON object for each bundle and
loader: the kind and message of the error that came, or null. The process has limits on memory and
time, and ends at once if a bundle makes it write a file, run a program or open a connection.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf
from tfx.loaders import Bundle

_SECONDS = 60
_FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect",
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "shutil.copyfile", "shutil.move", "shutil.rmtree", "pickle.find_class",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def watch() -> None:
    """End the process when something happens that a bundle must not cause."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FORBIDDEN or (event == "open" and int(arguments[2] or 0) & _WRITING):
            os.write(2, f"forbidden: {event} {arguments!r}\n".encode())
            os._exit(7)

    sys.addaudithook(hook)


def zeros(dtype: str, shape: Any) -> np.ndarray[Any, Any]:
    """An argument that fits."""
    sizes = [dim if isinstance(dim, int) else 2 for dim in shape or ()]
    return np.zeros(sizes, tf.as_dtype(dtype).as_numpy_dtype)


def with_bundle(folder: Path) -> None:
    """Use a bundle with the small reader."""
    with Bundle.open(folder) as bundle:
        bundle.warmup()
        for name, info in bundle.signatures.items():
            bundle.call(name, {n: zeros(i.dtype, i.shape) for n, i in info.inputs.items()})
        dict(bundle.variables)
        bundle.warmup()  # the forms that serve changed variables


def with_load(folder: Path) -> None:
    """Use a bundle as Python objects."""
    loaded = tf.saved_model.load(folder)
    for variable in loaded.variables:
        variable.numpy()
    for function in loaded.signatures.values():
        inputs = function.structured_input_signature[1]
        function(**{n: tf.constant(zeros(s.dtype.name, s.shape)) for n, s in inputs.items()})
    for function in (v for v in vars(loaded).values() if hasattr(v, "concrete_functions")):
        list(function.concrete_functions)


LOADERS = {"Bundle": with_bundle, "load": with_load}


def attempt(folder: Path, loader: str) -> dict[str, Any]:
    """What came of one bundle.

    Raises:
        Exception: anything that is not an error for users.
    """
    signal.alarm(_SECONDS)
    started = time.perf_counter()
    row: dict[str, Any] = {"folder": str(folder), "loader": loader, "kind": None, "message": ""}
    try:
        LOADERS[loader](folder)
    except tf.errors.OpError as error:
        row |= {"kind": type(error).__name__, "message": str(error)}
    signal.alarm(0)
    return row | {"seconds": time.perf_counter() - started}


def main(folders: list[str]) -> None:
    """Try all of them."""
    tf.add([1.0], [2.0])  # what is opened once for the process is opened before
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    watch()
    for folder in folders:
        for loader in LOADERS:
            os.write(2, f"at {folder} {loader}\n".encode())
            print(json.dumps(attempt(Path(folder), loader)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
