"""Golden examples of a bundle that has just been written: recorded, stored, and listed.

Owns what the option ``examples`` of a save means. Must not run graphs itself. The one decision: the
bundle is opened as any reader opens it and its own files are run, so what is stored is what the
bundle gives, and the live object is not touched.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tfx.bundle.examples import (
    EXAMPLES_FILE,
    MAX_EXAMPLE_BYTES,
    TOLERANCE,
    variables_digest,
)
from tfx.bundle.manifest import MANIFEST_NAME, manifest_bytes
from tfx.bundle.records import Example, ExampleCall, Manifest, Storage
from tfx.bundle.safetensors import write_safetensors
from tfx.core.errors import InvalidArgumentError
from tfx.loaders.messages import describe, nearest
from tfx.loaders.open_files import Sources
from tfx.loaders.record_examples import MADE_UP_SECONDS, Recorded, make_up, record
from tfx.loaders.replay_examples import Replayer

# Without being asked: no more weights than this are opened, no more signatures run, and of small
# bundles the examples are only a small part.
_MAX_WEIGHTS = 64 << 20
_MAX_SIGNATURES = 32
_LEAST_BYTES = 16 << 10
_SHARE = 20


@dataclasses.dataclass(frozen=True)
class SourceExample:
    """Calls in a row with the answers of somebody else, which are stored in place of the bundle's.

    Attributes:
        calls: Inputs and outputs of each call by name.
        tolerance: How far the bundle's answers may be away.
        is_made_up: Whether nobody gave the inputs.
    """

    calls: tuple[tuple[Mapping[str, object], Mapping[str, object]], ...]
    tolerance: float = TOLERANCE
    is_made_up: bool = False


class GivenExample(NamedTuple):
    """Calls that the user gave: inputs of each, and outputs to expect if there are some.

    Attributes:
        signature: The signature's name.
        calls: Inputs of each call by name.
        expected: Outputs of each call, or of some, that must come out.
        source: Answers of somebody else to store.
        tolerance: How far outputs may be away from ``expected``.
    """

    signature: str
    calls: tuple[Mapping[str, object], ...]
    expected: tuple[Mapping[str, object], ...] | None
    source: SourceExample | None = None
    tolerance: float = TOLERANCE


def given_examples(examples: Any) -> list[GivenExample]:
    """Check the option ``examples`` where it is not True, False or None.

    Raises:
        InvalidArgumentError: it has another form.
    """
    if not isinstance(examples, Mapping):
        raise InvalidArgumentError(
            f"examples is {examples!r:.100} of type {type(examples).__name__}; expected True, "
            "False, None, or a dict of examples by signature: inputs by name, (inputs, outputs), "
            "or lists of these."
        )
    found: list[GivenExample] = []
    for name, items in examples.items():
        several = items if isinstance(items, list) else [items]
        found += [_given(str(name), item) for item in several]
    return found


def _given(name: str, item: Any) -> GivenExample:
    if isinstance(item, GivenExample):
        return item
    if isinstance(item, SourceExample):
        inputs, outputs = zip(*item.calls, strict=True)
        return GivenExample(name, inputs, outputs, item)
    steps = item if isinstance(item, list) else [item]
    pairs = [step if isinstance(step, tuple) else (step, None) for step in steps]
    for pair in pairs:
        if len(pair) != 2 or not isinstance(pair[0], Mapping):
            raise InvalidArgumentError(
                f"examples[{name!r}] has {pair!r:.200}; expected inputs by name as a dict, or the "
                "tuple (inputs, outputs) of two dicts."
            )
    expected = tuple(dict(outputs or {}) for _, outputs in pairs)
    return GivenExample(name, tuple(inputs for inputs, _ in pairs), expected)


def add_examples(folder: Path, examples: Any) -> None:
    """Record examples of a written bundle and write them into it.

    Args:
        folder: The bundle, which nobody else uses yet.
        examples: The option: None makes some up if that is cheap, True in any case, False none; or
            a dict as ``given_examples`` takes it.

    Raises:
        InvalidArgumentError: given examples do not fit the signatures.
        OpError: a given example cannot be run.
    """
    if examples is False:
        return
    sources = Sources(folder, verify=False)
    try:
        if isinstance(examples, bool) or examples is None:
            made = _made_up(sources, is_asked=examples is True)
        else:
            made = _recorded(sources, given_examples(examples))
        if made:
            _write(folder, sources.manifest, made)
    finally:
        sources.close()


def _made_up(sources: Sources, *, is_asked: bool) -> list[Recorded]:
    manifest = sources.manifest
    weights = sum(item.size for item in manifest.files if item.path.endswith(".safetensors"))
    count = len(manifest.signatures)
    if not is_asked and (weights > _MAX_WEIGHTS or count > _MAX_SIGNATURES):
        return []
    room = MAX_EXAMPLE_BYTES
    if not is_asked:
        room = min(room, max(_LEAST_BYTES, weights // _SHARE))
    replayer = Replayer(sources, seconds=MADE_UP_SECONDS)
    found: list[Recorded] = []
    for i, info in enumerate(replayer.signatures.values()):
        made = make_up(replayer, info, room // (count - i))
        room -= sum(item.nbytes for item in made)
        found += made
        replayer.forget_plans()
    return found


def _recorded(sources: Sources, given: Sequence[GivenExample]) -> list[Recorded]:
    replayer = Replayer(sources)
    found = []
    for item in given:
        if item.signature not in replayer.signatures:
            raise InvalidArgumentError(
                f"examples has the signature {item.signature!r}, which the bundle has not; "
                f"{nearest(item.signature, replayer.signatures)}"
            )
        tolerance = item.tolerance if item.source is None else item.source.tolerance
        made = record(replayer, item.signature, item.calls, item.expected, tolerance)
        if item.source is not None:
            made.keep_expected(item.source.calls)
        made.is_given = item.source is None or not item.source.is_made_up
        found.append(made)
    total = sum(item.nbytes for item in found)
    if total > MAX_EXAMPLE_BYTES:
        largest = max(found, key=lambda made: made.nbytes)
        info = replayer.signatures[largest.signature]
        inputs = ", ".join(f"{n} {describe(i)}" for n, i in info.inputs.items())
        raise InvalidArgumentError(
            f"the examples take {total} bytes, limit {MAX_EXAMPLE_BYTES}; give smaller ones, of "
            f"signature {largest.signature!r} ({inputs}) first"
        )
    return found


def _write(folder: Path, manifest: Manifest, made: Sequence[Recorded]) -> None:
    tensors: dict[str, npt.NDArray[Any]] = {}
    digest = variables_digest(manifest)
    examples = []
    for number, item in enumerate(made):
        calls = []
        for step, (inputs, outputs) in enumerate(item.calls):
            at = f"{number}/{step}"
            calls.append(
                ExampleCall(
                    {n: _place(tensors, f"{at}/inputs/{n}", a) for n, a in inputs.items()},
                    {n: _place(tensors, f"{at}/outputs/{n}", a) for n, a in outputs.items()},
                )
            )
        example = Example(item.signature, tuple(calls), item.tolerance, digest, item.is_given)
        examples.append(example)
    files = manifest.files
    if tensors:
        written = write_safetensors(folder / EXAMPLES_FILE, tensors, None)
        files = (*files, written.entry(EXAMPLES_FILE))
    full = dataclasses.replace(
        manifest, files=tuple(sorted(files, key=lambda f: f.path)), examples=tuple(examples)
    )
    (folder / MANIFEST_NAME).write_bytes(manifest_bytes(full))


def _place(tensors: dict[str, npt.NDArray[Any]], key: str, array: npt.NDArray[Any]) -> Storage:
    tensors[key] = np.ascontiguousarray(array).reshape(array.shape)
    return Storage(EXAMPLES_FILE, key)
