"""Golden examples of a bundle: the calls to keep, made on the bundle itself.

Owns which inputs are kept and how much room they may take. Must not write files. The one decision:
what the bundle's own stock form gives is stored, once it gave it twice; an output that was not the
same is not stored, and made up inputs are only kept if everything that came out is finite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.bundle.examples import TOLERANCE, difference, is_finite
from tfx.core.errors import InvalidArgumentError, OpError
from tfx.loaders.replay_examples import Arrays, Replayer
from tfx.loaders.signature import SignatureInfo, bind, find_signature
from tfx.loaders.synthetic_inputs import candidates, is_open

MADE_UP_SECONDS = 5.0
"""How long a run on made up inputs may take: a loop may not end for them."""


@dataclass(slots=True)
class Recorded:
    """Calls of a signature that were made one after another: inputs and outputs of each."""

    signature: str
    calls: list[tuple[Arrays, Arrays]] = field(default_factory=list)
    tolerance: float = TOLERANCE
    is_given: bool = False

    @property
    def nbytes(self) -> int:
        """Size of all tensors."""
        return sum(size_of(a) for pair in self.calls for part in pair for a in part.values())

    def keep_expected(
        self, calls: Sequence[tuple[Mapping[str, object], Mapping[str, object]]]
    ) -> None:
        """Store what was expected in place of what came; outputs without expectation are left."""
        for number, (_, outputs) in enumerate(calls):
            kept = self.calls[number][1]
            kept.update({n: np.asarray(value) for n, value in outputs.items()})


def make_up(replayer: Replayer, info: SignatureInfo, most_bytes: int) -> list[Recorded]:
    """Examples of a signature on inputs that are made up.

    Args:
        replayer: The bundle.
        info: The signature.
        most_bytes: What they may take together.

    Returns:
        None, one, or with open dimensions two of different sizes. One of a signature that updates
        variables has two calls.
    """
    found: list[Recorded] = []
    left = most_bytes
    for number in range(2 if is_open(info) else 1):
        for inputs in candidates(info, number, left):
            calls = [inputs]
            if info.updates and number == 0:
                calls.append({n: np.asarray(np.flip(a), order="C") for n, a in inputs.items()})
            try:
                made = record(replayer, info.name, calls)
            except InvalidArgumentError:
                continue  # the model refuses these
            except OpError:
                return found  # it cannot be run here, or takes too long: others would not help
            if made.nbytes <= left and _is_all_finite(made):
                left -= made.nbytes
                found.append(made)
                break
    return found


def _is_all_finite(made: Recorded) -> bool:
    return all(is_finite(array) for _, outputs in made.calls for array in outputs.values())


def record(
    replayer: Replayer,
    signature: str,
    calls: Sequence[Mapping[str, object]],
    expected: Sequence[Mapping[str, object]] | None = None,
    tolerance: float = TOLERANCE,
) -> Recorded:
    """Make calls and take down what they give.

    Args:
        replayer: The bundle.
        signature: The signature's name.
        calls: Inputs of each call.
        expected: Outputs of each call, or of some, that must come out.
        tolerance: How far they may be away.

    Raises:
        NotFoundError: there is no such signature.
        InvalidArgumentError: inputs do not fit, or something else came than was expected.
        OpError: the signature cannot be run.
    """
    info = find_signature(replayer.signatures, signature, "the bundle")
    inputs = [bind(info, call) for call in calls]
    first = replayer.run(signature, inputs)
    second = replayer.run(signature, inputs)
    made = Recorded(signature, tolerance=tolerance)
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        kept = {n: a for n, a in one.items() if not difference(other[n], a, TOLERANCE)}
        if expected is not None:
            _compare(info, number, kept, expected[number], tolerance)
        made.calls.append(({n: np.array(a) for n, a in inputs[number].items()}, kept))
    return made


def _compare(
    info: SignatureInfo,
    number: int,
    found: Arrays,
    expected: Mapping[str, object],
    tolerance: float,
) -> None:
    for name, value in expected.items():
        if name not in found:
            raise InvalidArgumentError(
                f"the example of signature {info.name!r} has the output {name!r}; expected one of "
                f"{', '.join(found) or 'none'}, which the signature gives alike in every run"
            )
        text = difference(found[name], np.asarray(value), tolerance)
        if text:
            raise InvalidArgumentError(
                f"the example of signature {info.name!r}, call {number}: output {name!r} {text}; "
                "the bundle does not give what the example says"
            )


def size_of(array: npt.NDArray[Any]) -> int:
    """About what an array takes in the file."""
    if array.dtype == object:
        return sum(8 + len(str(item)) for item in array.reshape(-1).tolist())
    return array.nbytes
