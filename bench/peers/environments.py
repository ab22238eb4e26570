"""Where each peer's Python is: an environment of its own below ``.cache/peers``."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".cache" / "peers"
# What pip installs, from the index that it is configured for.
REQUIREMENTS = {
    "jax": ["jax", "keras", "orbax-checkpoint"],
    "tensorflow": ["tensorflow-cpu"],
    "torch": ["torch==2.13.0"],
}
# ``tensorflow=/some/python,jax=/other/python``: environments that exist already.
VARIABLE = "BENCH_PEERS"


def given(options: list[str]) -> dict[str, str]:
    """Pythons that the caller names, ``PEER=PATH``; options win over the variable.

    Raises:
        ValueError: an entry has another form, or names no peer.
    """
    entries = [e for e in os.environ.get(VARIABLE, "").split(",") if e] + options
    pythons = {}
    for entry in entries:
        peer, equals, path = entry.partition("=")
        if not equals or peer not in REQUIREMENTS or not path:
            peers = ", ".join(REQUIREMENTS)
            raise ValueError(f"{entry!r} is not PEER=PYTHON with a PEER of {peers}.")
        pythons[peer] = path
    return pythons


def python_of(peer: str, pythons: dict[str, str]) -> str:
    """The Python that has a peer, in an environment that is made if there is none.

    Args:
        peer: ``tfx``, or a key of ``REQUIREMENTS``.
        pythons: Those that the caller named.

    Raises:
        RuntimeError: pip failed; the message has the end of what it said.
    """
    if peer == "tfx":
        return sys.executable
    if peer in pythons:
        return pythons[peer]
    folder = FOLDER / peer
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    complete = folder / "complete"
    wanted = " ".join(REQUIREMENTS[peer])
    if not complete.exists() or complete.read_text() != wanted:
        print(f"Installing {wanted} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "numpy", *REQUIREMENTS[peer]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"pip could not install {wanted}:\n{done.stderr[-2000:]}")
        complete.write_text(wanted)
    return str(python)
