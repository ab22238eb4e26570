"""Train a network of energies, and let atoms move by its forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfx as tf
from tfx.model_zoo import trainer
from tfx.model_zoo.forces.data import lennard_jones, load
from tfx.model_zoo.forces.model import Energy

BATCH = 64
TIME_STEP, MOVES = 0.005, 2000


def trajectory(model: Energy, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Let atoms move by the network's forces (velocity Verlet).

    Returns:
        Positions, and the energy of motion and place together, which should not change.
    """
    x, v = start[None], np.zeros_like(start[None])
    force = model.serve(x)["forces"].numpy()
    places, totals = [], []
    for _ in range(MOVES):
        v = v + 0.5 * TIME_STEP * force
        x = x + np.float32(TIME_STEP) * v
        found = model.serve(x)
        force = found["forces"].numpy()
        v = v + 0.5 * TIME_STEP * force
        places.append(x[0])
        totals.append(float(found["energy"].numpy()[0]) + 0.5 * float(np.sum(v**2)))
    return np.array(places), np.array(totals)


def main(argv: Sequence[str] | None = None) -> None:
    """Train, judge, move."""
    options = trainer.arguments(argv, "forces", __doc__, steps=100000, quick_steps=20000)
    clusters, held_out = load(4000, options.seed), load(500, options.seed + 1)
    model = Energy(units=48 if options.quick else 128)
    data = tf.data.Dataset.from_tensor_slices(tuple(clusters))
    data = data.shuffle(len(clusters.energies), seed=options.seed).repeat().batch(BATCH)
    training = trainer.Trainer(model, data, options)
    training.run()

    found = {name: value.numpy() for name, value in model.serve(held_out.positions).items()}
    places, totals = trajectory(model, held_out.positions[0])
    truth = lennard_jones(places)[0]

    def picture(figure: Any) -> None:
        left, middle, right = figure.subplots(1, 3)
        training.plot(left, "loss")
        left.set_yscale("log")
        middle.plot(held_out.forces.ravel(), found["forces"].ravel(), ".", markersize=1)
        middle.set_title("forces: true, found")
        time = np.arange(MOVES) * TIME_STEP
        right.plot(time, totals, label="total by the network")
        right.plot(time, truth, label="true energy of place")
        right.set_xlabel("time")
        right.legend()

    training.finish(
        {
            "energy_error": float(np.mean(np.abs(found["energy"] - held_out.energies))),
            "force_error": float(np.mean(np.abs(found["forces"] - held_out.forces))),
            "mean_force": float(np.mean(np.abs(held_out.forces))),
            "drift_of_total_energy": float(np.max(np.abs(totals - totals[0]))),
        },
        {"serve": model.serve, "train_step": model.train_step},
        picture,
    )
