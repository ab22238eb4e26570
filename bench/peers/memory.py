"""``python -m bench.peers.memory PEER NETWORK BATCH``: peak memory of loss and gradient, in bytes.

What the process holds after a few calls with a small batch is subtracted: the framework, its
threads and its code. Then the network is called several times with the large batch, as in training;
each result is dropped before the next call. Linux only.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from bench.peers.environments import ROOT
from bench.peers.process import SETTINGS, PeerError

# Large enough that what a framework keeps beside its tensors does not count.
BATCHES = {"mlp": 8192, "block": 64, "attention": 64}
_SMALL = 2
_CALLS = 12


def peak(peer: str, python: str, network: str) -> float:
    """Bytes in a process of a peer's own.

    Args:
        peer: Its name.
        python: The Python that has it.
        network: One of ``BATCHES``.

    Raises:
        PeerError: the process failed.
    """
    return run_for_bytes([python, "-m", "bench.peers.memory", peer, network, str(BATCHES[network])])


def run_for_bytes(command: list[str]) -> float:
    """The number that a command prints last.

    Raises:
        PeerError: the process failed.
    """
    environment = {**os.environ, **SETTINGS, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode:
        raise PeerError(f"it ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return float(done.stdout.split()[-1])


def _maker(peer: str) -> tuple[Callable[..., Callable[[], Any]], Callable[[Any], object]]:
    """What makes a call of a network, and what waits for its result."""
    if peer == "torch":
        from bench.peers import torch_networks

        return torch_networks.step, lambda result: result
    if peer == "jax":
        import jax

        from bench.peers import jax_networks

        return jax_networks.step, jax.block_until_ready
    from bench.peers import tensorflow_networks

    if peer == "tfx":
        import tfx as tf
    else:
        import tensorflow as tf  # type: ignore[import-not-found,no-redef]
    return functools.partial(tensorflow_networks.step, tf), lambda result: result


def _status(name: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


def _measure(peer: str, network: str, batch: int) -> int:
    make, wait = _maker(peer)
    small = make(network, _SMALL)
    return peak_of(
        lambda: wait(small()), lambda: functools.partial(_waited, make(network, batch), wait)
    )


def _waited(call: Callable[[], Any], wait: Callable[[Any], object]) -> object:
    return wait(call())


def peak_of(
    small: Callable[[], object], large: Callable[[], Callable[[], object]], calls: int = _CALLS
) -> int:
    """Bytes at the peak of calls, beyond what others left.

    Args:
        small: Called first, as often.
        large: Makes what is measured.
        calls: How often it is called.
    """
    for _ in range(calls):
        small()
    call = large()
    before = _status("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    for _ in range(calls):
        call()
    return _status("VmHWM") - before


if __name__ == "__main__":
    print(_measure(sys.argv[1], sys.argv[2], int(sys.argv[3])))
