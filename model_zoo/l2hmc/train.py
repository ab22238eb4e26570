"""Train L2HMC on a strongly correlated Gaussian and on a mixture, and compare it with HMC.

The measure is the paper's: the effective sample size of a chain, by its autocorrelation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

import tfx as tf
from tfx.model_zoo import trainer
from tfx.model_zoo.l2hmc.model import Sampler
from tfx.model_zoo.l2hmc.targets import Gaussian, Mixture

# Step sizes of plain HMC that are tried; the best is compared with.
HMC_STEPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def chains_of(model: Sampler, start: np.ndarray, length: int) -> np.ndarray:
    """Run chains: ``[length, chains, 2]``."""
    x = tf.constant(start)
    rows: np.ndarray = np.empty((length, *start.shape), np.float32)
    for i in range(length):
        x = model.sample(x)["x"]
        rows[i] = np.asarray(x)
    return rows


def autocorrelation(chains: np.ndarray) -> np.ndarray:
    """By distance in the chain, over all chains and both coordinates; the true mean is 0."""
    length = len(chains)
    total = [np.mean(chains[: length - lag] * chains[lag:]) for lag in range(length // 2)]
    rho: np.ndarray = np.array(total) / total[0]
    return rho


def effective_sample_size(rho: np.ndarray) -> float:
    """Of one sample: 1 would be independent ones; up to the first correlation below 0.05."""
    small = np.flatnonzero(rho < 0.05)
    end = small[0] if small.size else len(rho)
    return float(1 / (1 + 2 * np.sum(rho[1:end])))


def train_on(target: Gaussian | Mixture, options: trainer.Options) -> None:
    """Train on one target, and judge."""
    tf.random.set_seed(options.seed)
    model = Sampler(
        target,
        units=target.units,
        step_size=target.step_size,
        fresh=target.fresh,
        seed=options.seed,
    )
    training = trainer.Trainer(model, None, options)
    training.run()
    model.temperature.assign(1.0)
    start = target.draw(200, np.random.default_rng(options.seed))
    length = 500 if options.quick else 2000
    chains = chains_of(model, start, length)
    rho = autocorrelation(chains)
    plain = {}
    for size in HMC_STEPS:
        tf.random.set_seed(options.seed)
        hmc = Sampler(target, step_size=size, seed=options.seed)
        hmc.momentum.heads.kernel.assign(tf.zeros_like(hmc.momentum.heads.kernel))
        hmc.position.heads.kernel.assign(tf.zeros_like(hmc.position.heads.kernel))
        hmc.temperature.assign(1.0)
        plain[size] = autocorrelation(chains_of(hmc, start, length))
    sizes = {size: effective_sample_size(found) for size, found in plain.items()}
    best = max(sizes, key=lambda size: sizes[size])
    changes = np.mean(np.sign(chains[1:, :, 0]) != np.sign(chains[:-1, :, 0]))

    def picture(figure: Any) -> None:
        left, middle, right = figure.subplots(1, 3)
        training.plot(left, "accept")
        middle.plot(chains[:100, 0, 0], chains[:100, 0, 1], ".-", linewidth=0.5)
        middle.set_title("100 samples of one chain")
        right.plot(rho[:200], label="L2HMC")
        right.plot(plain[best][:200], label=f"HMC, step {best}")
        right.set_title("autocorrelation")
        right.legend()

    training.finish(
        {
            "effective_sample_size": effective_sample_size(rho),
            # A chain that goes to and fro looks better than it is: this counts every other sample.
            "effective_sample_size_to_and_fro": effective_sample_size(rho[::2]) / 2,
            "effective_sample_size_of_hmc": sizes[best],
            "step_of_hmc": best,
            "step": float(np.exp(model.log_step.numpy())),
            "changes_of_sign": float(changes),
            "variance": float(np.mean(np.square(chains))),
        },
        {"sample": model.sample, "train_step": model.train_step},
        picture,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Train and judge on both targets."""
    options = trainer.arguments(argv, "l2hmc", __doc__, steps=20000, quick_steps=5000)
    for name, target in (("gaussian", Gaussian()), ("mixture", Mixture())):
        print(f"-- {name}")
        train_on(target, dataclasses.replace(options, out=options.out / name))
