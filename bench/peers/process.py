"""A peer's process: started with its own Python, asked one thing at a time, stopped at the end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from bench.peers.environments import ROOT

# On the CPU and without a word, whatever the machine has.
SETTINGS = {
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "ORT_DISABLE_TELEMETRY": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


class PeerError(RuntimeError):
    """A peer's process ended, or answered something else than was asked."""


class Peer:
    """A running peer.

    Args:
        name: Which framework it is.
        python: The Python that has the framework.
        command: What Python runs; None: the script ``with_<name>``.
        settings: More variables of its environment.

    Raises:
        PeerError: it ended instead of answering.
    """

    def __init__(
        self,
        name: str,
        python: str,
        command: Sequence[str] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        path = [str(ROOT)]
        if python == sys.executable and "PYTHONPATH" in os.environ:  # what this process found
            path.append(os.environ["PYTHONPATH"])
        paths = {"PYTHONPATH": os.pathsep.join(path)}
        environment = {**os.environ, **SETTINGS, **paths, **(settings or {})}
        # Not a pipe, which a talkative library could fill; closed by close().
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [python, *(command or ["-m", f"bench.peers.with_{name}"])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        try:
            self.version: str = self._answer()["version"]
        except BaseException:
            self.close()
            raise

    def measure(self, case: str, seconds: float) -> tuple[float | None, float]:
        """One round of a case.

        Args:
            case: Its name.
            seconds: About how long the round takes.

        Returns:
            Microseconds a call, None where the peer has no such case, and a number made from the
            results.

        Raises:
            PeerError: the process ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"case": case, "seconds": seconds}) + "\n")
            self._process.stdin.flush()
        except OSError as e:
            raise PeerError(self._last_words()) from e
        answer = self._answer()
        return answer["us"], answer["value"] or 0.0

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self._process.wait(20)
        self._errors.seek(0)
        said = self._errors.read().strip().splitlines()
        return f"its process ended with {self._process.returncode}: {' / '.join(said[-3:])}"
