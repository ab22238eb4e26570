"""Clusters of four atoms with the energy of Lennard-Jones, which the network is to learn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ATOMS = 4


class Clusters(NamedTuple):
    """Positions ``[n, 4, 3]``, energies ``[n]`` and forces ``[n, 4, 3]``."""

    positions: np.ndarray
    energies: np.ndarray
    forces: np.ndarray


def lennard_jones(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Energies and forces, in float64; pairs are at rest at distance 1."""
    x = np.asarray(positions, np.float64)
    offsets = x[:, :, None] - x[:, None]
    square = np.sum(offsets**2, axis=-1) + np.eye(x.shape[1])  # the diagonal: anything but 0
    sixth = square**-3 * (1 - np.eye(x.shape[1]))
    energies = 0.5 * np.sum(sixth**2 - 2 * sixth, axis=(1, 2))
    forces = np.sum((12 * (sixth**2 - sixth) / square)[..., None] * offsets, axis=2)
    return energies, forces


def load(number: int, seed: int) -> Clusters:
    """Tetrahedra whose atoms have been moved at random."""
    rng = np.random.default_rng(seed)
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(8)
    stretch = rng.uniform(1.0, 1.4, (number, 1, 1))
    positions = (corners * stretch + rng.normal(0, 0.05, (number, ATOMS, 3))).astype(np.float32)
    energies, forces = lennard_jones(positions)
    return Clusters(positions, energies.astype(np.float32), forces.astype(np.float32))
