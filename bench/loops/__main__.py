"""``python -m bench.loops [--write]``: small loops with small steps, fused and not, and TensorFlow.

One process a framework; they work in turns, and each number is the least of all rounds.
"""

from __future__ import annotations

from rich.console import Console

from bench import report
from bench.comparison import Comparison, Row, parse, take_turns
from bench.loops.worker import FIRST
from bench.peers import environments

TITLES = {"tfx": "tfx", "plain": "tfx, not fused", "tensorflow": "TensorFlow"}
COMPARISON = Comparison(TITLES)
_LEVEL = (("tensorflow", 1.0),)
ROWS = (
    Row("metropolis", "Metropolis sampler, 500 steps", "us", 1, _LEVEL),
    Row("hmc", "Hamiltonian Monte Carlo, 200 steps of 8", "us", 1, _LEVEL),
    Row("slice_sampler", "slice sampler, 100 steps", "us", 1, _LEVEL),
    Row("gamma", "gamma and Poisson numbers, 50 times 4", "us"),
    Row("kalman", "Kalman filter, 200 steps", "us", 1, _LEVEL),
    Row("kalman_gradient", "Kalman filter, 50 steps, its gradient", "us", 1, _LEVEL),
    Row("particles", "particle filter, 100 steps", "us"),
    Row("hmm", "hidden Markov model, forward and Viterbi, 200 steps", "us", 1, _LEVEL),
    Row("runge_kutta", "Runge-Kutta with adaptive steps", "us", 1, _LEVEL),
    Row("lbfgs", "L-BFGS on 10 numbers", "us", 1, _LEVEL),
    Row("nelder_mead", "Nelder-Mead on 4 numbers", "us", 1, _LEVEL),
    Row("gaussian_process", "Gaussian process, 50 steps of Adam", "us", 1, _LEVEL),
    Row("eigenvalues", "eigenvalues of 3x3, 50 times", "us", 1, _LEVEL),
    Row("beam_search", "beam search, 30 steps", "us", 1, _LEVEL),
    Row("episode", "episode of 100 steps, policy gradient", "us", 1, _LEVEL),
    Row("q_learning", "tabular Q-learning, 500 steps", "us"),
    Row(f"{FIRST}kalman", "first call of the Kalman filter", "s", 1, _LEVEL),
    Row(f"{FIRST}hmc", "first call of Hamiltonian Monte Carlo", "s", 1, _LEVEL),
    Row(f"{FIRST}runge_kutta", "first call of Runge-Kutta", "s", 1, _LEVEL),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and perhaps write."""
    rows, options, pythons = parse("bench.loops", __doc__, ROWS, 6, arguments)
    commands = {}
    for name in TITLES:
        python = environments.python_of("tfx" if name == "plain" else name, pythons)
        commands[name] = (python, ["-m", "bench.loops.worker", name], {})
    figures = take_turns(rows, commands, options.rounds, 0.3)
    lines = [COMPARISON.line(row, figures) for row in rows]
    Console(width=160).print(COMPARISON.table(lines))
    if options.write:
        text = report.table(COMPARISON.header, lines)
        report.replace("python -m bench.loops", f"{report.machine()}\n\n{text}")
    return 0


if __name__ == "__main__":
    main()
