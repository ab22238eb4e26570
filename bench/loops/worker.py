"""``python -m bench.loops.worker NAME``; names are tfx, plain (not fused) and tensorflow."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.loops import decisions, filters, samplers, solvers
from bench.peers import worker
from bench.peers.worker import Case

PROGRAMS: dict[str, Callable[[Any], tuple[Any, tuple[Any, ...]]]] = {
    "metropolis": samplers.metropolis,
    "hmc": samplers.hmc,
    "slice_sampler": samplers.slice_sampler,
    "gamma": samplers.gamma_draws,
    "kalman": filters.kalman,
    "kalman_gradient": filters.kalman_grad,
    "particles": filters.particle,
    "hmm": filters.hmm,
    "runge_kutta": solvers.ode,
    "lbfgs": solvers.lbfgs,
    "nelder_mead": solvers.nelder_mead,
    "gaussian_process": solvers.gp,
    "eigenvalues": solvers.eigh3,
    "beam_search": decisions.decoder,
    "episode": decisions.rl,
    "q_learning": decisions.tabular_q,
}
# Of the first call: trace, plan and run.
FIRST = "first_"


def cases(tf: Any) -> dict[str, Callable[[], Case]]:
    """What the programs are as cases: a call, and the first one of a new function."""

    def repeated(name: str) -> Case:
        function, given = PROGRAMS[name](tf)
        return Case(lambda: function(*given), lambda result: _number(tf, result))

    def first(name: str) -> Case:
        return Case(
            lambda made: _number(tf, made[0](*made[1])), lambda _: 0.0, lambda: PROGRAMS[name](tf)
        )

    made: dict[str, Callable[[], Case]] = {}
    for name in PROGRAMS:
        made[name] = lambda name=name: repeated(name)  # type: ignore[misc]
        made[FIRST + name] = lambda name=name: first(name)  # type: ignore[misc]
    return made


def _number(tf: Any, result: Any) -> float:
    """A sum of all results, for which a call has to be over."""
    return float(sum(np.sum(np.asarray(x, np.float64)) for x in tf.nest.flatten(result)))


def main(name: str) -> None:
    """Serve a framework's cases."""
    tf = importlib.import_module("tensorflow" if name == "tensorflow" else "tfx")
    if name == "plain":
        tf.config.optimizer.set_jit(False)
    worker.serve(name, tf.__version__, cases(tf))


if __name__ == "__main__":
    main(sys.argv[1])
