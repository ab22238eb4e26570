"""What ONNX Runtime itself answers for an ONNX model as it was given, inside of it too.

The model is opened as any program opens it, by its path or its bytes, so that nothing of this
package stands between. The one decision: the answers are those of the first inputs that the model
takes and gives numbers for; where it takes none, the reason is told, so that nobody believes that
something was compared.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle.examples import TOLERANCE, difference, is_finite
from tfx.bundle.python_values import TensorInfo
from tfx.core.errors import DeadlineExceededError, InvalidArgumentError, OpError
from tfx.core.specs import TensorSpec
from tfx.exporters.sources.messages import one_line
from tfx.exporters.sources.suitable_inputs import KINDS, MOST_BYTES, Arrays, candidates
from tfx.graph.serialization.models import ForeignModel, parse_model
from tfx.importing.method_graphs import LayerValue, SourceAnswer
from tfx.importing.model_inputs import InputPort, ports_of
from tfx.loaders.signature import SignatureInfo, bind
from tfx.runtime.run_options import time_limit
from tfx.runtime.session import Session, kernel_reason
from tfx.runtime.values import from_numpy, to_numpy

_DRAWS = "it draws numbers: no output is the same in two runs"
# How long all inputs that are made up are tried: a loop may not end for them.
_SECONDS = 20.0
_ASK = (
    ". Give inputs that suit it: examples={signature: inputs by name}; or sizes that do: inputs= "
    "with specs, --input NAME=DTYPE[SHAPE] of tfx save"
)


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model answered.

    Attributes:
        found: Calls that were made.
        refused: Why there are none, where there are none, and what to do.
        is_open: Whether the runtime opens the model.
    """

    found: tuple[SourceAnswer, ...] = ()
    refused: str = ""
    is_open: bool = True


def answers_of(
    model: Any,
    loaded: ForeignModel,
    *,
    given: Sequence[Mapping[str, Any]] = (),
    specs: Mapping[str, TensorSpec] | None = None,
) -> Answers:
    """Run a model on inputs that were given, or on some that it takes.

    Args:
        model: The model: path, bytes or ``onnx.ModelProto``.
        loaded: The same, opened.
        given: Inputs by name of each call to make; none: they are made up.
        specs: Types of inputs by name, whose sizes made up inputs have.

    Raises:
        InvalidArgumentError: an input that was given has a name, dtype or shape that the model has
            not, or the model refuses it; ``specs`` does not fit the model.
    """
    stored = {t.name for t in loaded.proto.graph.initializer}
    try:
        ports = [p for p in ports_of(loaded, {}) if p.name not in stored]
    except OpError as e:
        return Answers(refused=one_line(e))
    ports = _sized(ports, specs or {}, loaded.name)
    unfit = [p.name for p in ports if p.sequence or p.optional]
    if unfit:
        return Answers(refused=f"the input {unfit[0]!r} is a sequence or optional, no tensor")
    try:
        session = _opened(model)
    except OpError as e:
        return Answers(
            refused=f"ONNX Runtime does not open it ({kernel_reason(e.message):.300})",
            is_open=False,
        )
    wanted = {o.name for o in loaded.proto.graph.output}
    if given:
        arrays = [_checked(ports, inputs, loaded.name) for inputs in given]
        try:
            found = tuple(_answer(model, session, one, wanted) for one in arrays)
            return Answers(found, "" if any(a.outputs for a in found) else _DRAWS)
        except OpError as e:
            raise InvalidArgumentError(
                f"{loaded.name}: ONNX Runtime refuses the inputs of the example ({one_line(e)}): "
                "give others that suit the model."
            ) from e
    return _tried(model, loaded, session, ports, wanted)


def _tried(
    model: Any,
    loaded: ForeignModel,
    session: Session,
    ports: Sequence[InputPort],
    wanted: set[str],
) -> Answers:
    """The answers to made up inputs: of two sizes, where the model takes several."""
    found: list[SourceAnswer] = []
    refused = f"made up inputs take more than {MOST_BYTES >> 20} MiB{_ASK}"
    end = time.monotonic() + _SECONDS
    try:
        for number in range(2):
            for kind in KINDS:
                answer = None
                for inputs in candidates(loaded.proto, ports, number, kinds=[kind]):
                    if number and any(_is_alike(inputs, known.inputs) for known in found):
                        continue
                    answer, reason = _attempt(model, session, inputs, wanted, end)
                    refused = reason or refused
                    if answer is not None:
                        break
                if answer is None:
                    continue
                if not answer.outputs:
                    refused = _DRAWS
                    break
                if all(is_finite(a) for a in answer.outputs.values()):
                    found.append(replace(answer, is_made_up=True))
                    break
                # Other sizes would not help it, other numbers may.
                refused = f"made up inputs give it no finite numbers{_ASK}"
            if not found or not _has_open_sizes(ports):
                break
    except DeadlineExceededError:
        refused = f"made up inputs take it longer than {_SECONDS:.0f} seconds{_ASK}"
    return Answers(tuple(found), "" if found else refused)


def _attempt(
    model: Any, session: Session, inputs: Arrays, wanted: set[str], end: float
) -> tuple[SourceAnswer | None, str]:
    """The answer to inputs, or why there is none.

    Raises:
        DeadlineExceededError: it takes the model longer than there is time.
    """
    try:
        with time_limit(max(end - time.monotonic(), 1e-3), "The model"):
            return _answer(model, session, inputs, wanted), ""
    except DeadlineExceededError:
        raise
    except (OpError, TypeError, ValueError) as e:
        reason = kernel_reason(e.message) if isinstance(e, OpError) else one_line(e)
        return None, f"it takes none of the inputs that were made up ({reason:.300}){_ASK}"


def _has_open_sizes(ports: Iterable[InputPort]) -> bool:
    return any(p.shape is None or not all(isinstance(d, int) for d in p.shape) for p in ports)


def _is_alike(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return all(a.shape == second[n].shape for n, a in first.items())


def _answer(model: Any, session: Session, inputs: Arrays, wanted: set[str]) -> SourceAnswer:
    """Run twice: an output that differs is drawn, and nobody can compare it."""
    runs = [_run(session, inputs) for _ in range(2)]
    same = {
        n: a for n, a in runs[0].items() if n in wanted and not difference(runs[1][n], a, TOLERANCE)
    }
    return SourceAnswer(inputs, same, layers=lambda: layers_of(model, inputs))


def _run(session: Session, inputs: Arrays) -> dict[str, Any]:
    values = session.run({n: from_numpy(a) for n, a in inputs.items()})
    try:
        arrays = [to_numpy(v) for v in values]
    except RuntimeError as e:
        raise InvalidArgumentError(f"an output is no tensor ({one_line(e)})") from e
    return dict(zip(session.output_names, arrays, strict=True))


def _opened(model: Any) -> Session:
    if isinstance(model, str | os.PathLike):
        return Session(os.fspath(model))
    if isinstance(model, bytes | bytearray | memoryview):
        return Session(bytes(model))
    return Session(model.SerializeToString())


def layers_of(model: Any, inputs: Mapping[str, Any]) -> list[LayerValue]:
    """What the main graph's nodes give, in order, as ONNX Runtime computes it.

    Args:
        model: The model: path, bytes or ``onnx.ModelProto``.
        inputs: What it is given.
    """
    folder = None
    if isinstance(model, str | os.PathLike):
        path = Path(os.fsdecode(model))
        data, folder = path.read_bytes(), path.parent
    else:
        data = bytes(model) if not hasattr(model, "graph") else model.SerializeToString()
    proto = parse_model(data, "the model")
    found = values_inside(proto, inputs, folder)
    return [
        LayerValue(f"{node.name or name} ({node.op_type})", name, found[name])
        for node in proto.graph.node
        for name in node.output
        if name in found
    ]


def values_inside(
    proto: Any, inputs: Mapping[str, Any], folder: str | os.PathLike[str] | None
) -> dict[str, Any]:
    """What all nodes of the main graph of a model give, by the graph's names.

    Args:
        proto: The model; every value becomes an output of it.
        inputs: What it is given.
        folder: What external data is below.

    Raises:
        OpError: the runtime refuses the model or the inputs.
    """
    declared = {item.name for item in proto.graph.output}
    for node in proto.graph.node:
        for name in node.output:
            if name and name not in declared:
                declared.add(name)
                proto.graph.output.add(name=name)
    session = Session(proto.SerializeToString(), data_folder=folder)
    values = session.run({n: from_numpy(np.asarray(a)) for n, a in inputs.items()})
    found = {}
    for name, value in zip(session.output_names, values, strict=True):
        try:
            found[name] = to_numpy(value)
        except (OpError, RuntimeError, TypeError, ValueError):
            continue  # a sequence, or nothing
    return found


def _sized(
    ports: Sequence[InputPort], specs: Mapping[str, TensorSpec], label: str
) -> list[InputPort]:
    """The inputs with the sizes that somebody wants them to have."""
    known = {p.name: p for p in ports}
    for name, spec in specs.items():
        port = known.get(name)
        if port is None:
            raise InvalidArgumentError(
                f"{label} has no input {name!r}; it has {', '.join(known) or 'none'}."
            )
        if spec.dtype != port.tensor.dtype or not spec.shape.is_compatible_with(port.tensor.shape):
            raise InvalidArgumentError(
                f"{label}: input {name!r} is {port.tensor.dtype.name} of shape "
                f"{port.tensor.shape}, which {spec.dtype.name} of shape {spec.shape} does not fit."
            )
        merged = spec.shape.merge_with(port.tensor.shape)
        tensor = TensorSpec(merged, port.tensor.dtype, name=name)
        known[name] = replace(port, tensor=tensor)
    return list(known.values())


def _checked(ports: Sequence[InputPort], inputs: Mapping[str, Any], label: str) -> Arrays:
    """Inputs that were given as arrays."""
    infos = {p.name: TensorInfo(p.tensor.dtype.name, p.shape, p.name) for p in ports}
    return bind(SignatureInfo(label, infos, {}), inputs)
