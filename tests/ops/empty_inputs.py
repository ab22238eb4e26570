"""Derivatives of every operator on inputs with an axis of size 0 or 1; run as a program.

Prints a line for each operator that runs but whose derivatives fail or have a wrong shape. A kernel
that ends the process ends this one and no test run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tfx as tf
from tests.ops.backend_cases import Case, cases
from tfx.autodiff import backprop
from tfx.framework import rules
from tfx.framework.apply import apply_n

assert backprop.registration.FAMILIES  # the table is full


def smallest() -> Iterator[Case]:
    """The smallest case of each operator with a gradient."""
    found: dict[str, tuple[int, Case]] = {}
    for case in cases(training=True):
        size = sum(x.size for x in case.inputs if x is not None)
        if rules.status_of(case.op) == "rule" and (
            case.op not in found or size < found[case.op][0]
        ):
            found[case.op] = (size, case)
    return (case for _, case in found.values())


def variants(case: Case) -> Iterator[list[Any]]:
    """Inputs cut along an axis of the first floating one, and those of equal rank and size too."""
    floating = [x for x in case.inputs if x is not None and x.dtype.kind == "f"]
    for axis in range(min(floating[0].ndim, 2) if floating else 0):
        for size in (0, 1):
            rank, length = floating[0].ndim, floating[0].shape[axis]
            yield [
                np.take(x, range(min(size, length)), axis=axis)
                if x is not None and x.ndim == rank and x.shape[axis] == length
                else x
                for x in case.inputs
            ]


def failure(case: Case, arrays: Sequence[Any]) -> str | None:
    """What is wrong; None: nothing, or the operator does not take these inputs."""
    given = [None if x is None else tf.constant(x) for x in arrays]
    places = [i for i, x in enumerate(given) if x is not None and x.dtype.is_floating]
    xs = [given[i] for i in places]

    def run(*inputs: Any) -> list[Any]:
        full = list(given)
        for i, x in zip(places, inputs, strict=True):
            full[i] = x
        found = apply_n(case.op, full, case.attrs, len(case.outputs))
        return [y for y in found if y.dtype.is_floating]

    try:
        run(*xs)
    except tf.errors.OpError:
        return None
    try:
        for f in (run, tf.function(run)):
            with tf.GradientTape() as tape:
                tape.watch(xs)
                ys = f(*xs)
            for g, x in zip(tape.gradient(ys, xs), xs, strict=True):
                if g is not None and tf.convert_to_tensor(g).shape != x.shape:
                    return f"a gradient of shape {g.shape} of {x.shape}"
            with tf.autodiff.ForwardAccumulator(xs, [tf.ones_like(x) for x in xs]) as acc:
                ys = f(*xs)
            for y in ys:
                tangent = acc.jvp(y)
                if tangent is not None and tangent.shape != y.shape:
                    return f"a tangent of shape {tangent.shape} of {y.shape}"
    except (tf.errors.OpError, ValueError, TypeError) as e:
        return f"{type(e).__name__}: {e}"
    return None


def main() -> None:
    """Print what is wrong."""
    logging.disable(logging.CRITICAL)
    for case in smallest():
        for arrays in variants(case):
            found = failure(case, arrays)
            if found is not None:
                shapes = [None if x is None else x.shape for x in arrays]
                print(f"{case.op} {case.name} {shapes}: {found}".replace("\n", " "))
    print("done")


if __name__ == "__main__":
    main()
