"""A graph of a bundle as a session, and how the call's tensors meet its inputs and outputs.

Owns the checks of an ONNX file against the manifest, and the run. Must not know of signatures. The
one decision: nothing that a graph file says is believed. Names, dtypes, the places of its weights
and what they are the weights of are compared with the manifest before ONNX Runtime gets the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tfx.bundle.dtypes import BY_NAME, BY_NUMBER
from tfx.bundle.manifest import (
    FrozenVariable,
    GraphEntry,
    GraphOutput,
    Shape,
    TensorInfo,
    VariableEntry,
)
from tfx.core import dtypes
from tfx.core.errors import (
    AbortedError,
    BundleError,
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    UnsupportedVersionError,
)
from tfx.loaders.convert import fits
from tfx.loaders.messages import describe, describe_type, listed
from tfx.loaders.onnx_file import Initializer, OnnxFile
from tfx.loaders.open_files import Sources
from tfx.loaders.requirements import check_runtime
from tfx.loaders.state import Snapshot, Value
from tfx.runtime.memory import hand_over
from tfx.runtime.session import Session
from tfx.runtime.values import RawValue

# First byte and length of parts that are read from files, by file.
_Parts: TypeAlias = dict[str, list[tuple[int, int]]]


class Plan:
    """One session and its bindings.

    Args:
        sources: The bundle's files.
        graph: The graph.
        device: Canonical device name.
        thaw: Whether the variables that the graph has as initializers become inputs.

    Raises:
        BundleError: The graph file is damaged, or is not what the manifest says.
        AbortedError: The bundle was replaced on disk since it was opened.
        UnimplementedError: ONNX Runtime has no kernel for an operator of the graph.
        UnsupportedVersionError: The graph is too new for the installed ONNX Runtime.
    """

    def __init__(
        self, sources: Sources, graph: GraphEntry, device: str, *, thaw: bool = False
    ) -> None:
        """Check the file and compile it."""
        # Not the sources: a session may outlive the version of the bundle that it was opened for.
        self._entries = sources.manifest.variables
        self._outputs = graph.outputs
        thawed = graph.frozen_variables if thaw else ()
        path = str(sources.root / graph.file)
        check_runtime(sources.manifest.requirements, sources.root)
        onnx = OnnxFile(sources.read_graph(graph.file), path)
        _check_ports(onnx, graph)
        for item in graph.frozen_variables:
            _check_frozen(onnx, item, sources)
        data, external = onnx.data, _external_parts(onnx, thawed, sources)
        if thawed:
            variables = sources.manifest.variables
            data = onnx.with_inputs({i.name: _input_type(variables[i.variable]) for i in thawed})
        self._arguments = [(i.name, i.index) for i in graph.inputs if i.source == "argument"]
        self._variables = [(i.name, i.index) for i in graph.inputs if i.source == "variable"]
        self._variables += [(item.name, item.variable) for item in thawed]
        self._constants = {
            i.name: sources.constant(i.index).raw for i in graph.inputs if i.source == "constant"
        }
        try:
            # ONNX Runtime 1.31 may end the process when it folds a branch on a constant.
            folds = not onnx.has_branches
            self._session = _compile(data, path, device, sources, external, folds=folds)
        except BundleError as error:
            if not thawed:
                raise
            raise UnimplementedError(
                f"{error}; ONNX Runtime takes no changing values for the variables of this graph: "
                "save the bundle with the new ones and open that"
            ) from error
        position = {name: i for i, name in enumerate(self._session.output_names)}
        inputs = set(self._session.input_names)
        # What is an input and an output comes back as the very value that was fed.
        self._order = [(item, position[item.name], item.name in inputs) for item in self._outputs]

    def run(
        self,
        arguments: Mapping[int, RawValue],
        snapshot: Snapshot,
        what: str,
    ) -> tuple[dict[int, np.ndarray], dict[int, Value]]:
        """Run the graph.

        Args:
            arguments: The argument leaves by number.
            snapshot: The variables to use.
            what: The function, for messages.

        Returns:
            The result leaves by number, and the new values of variables by id.

        Raises:
            OpError: A kernel failed, or a result is not what the manifest says.
        """
        values = snapshot.values
        feeds = {name: arguments[index] for name, index in self._arguments}
        for name, index in self._variables:
            feeds[name] = values[index].raw
        feeds.update(self._constants)
        try:
            outputs = self._session.run(feeds)
        except (CancelledError, DeadlineExceededError):  # they name the call already
            raise
        except OpError as error:
            raise _run_error(error, what) from error.__cause__
        results: dict[int, np.ndarray] = {}
        updates: dict[int, Value] = {}
        for item, position, is_fed in self._order:
            raw = outputs[position]
            _check_output(item, raw, self._entries, what)
            if item.target == "result":
                array = hand_over(raw)
                results[item.index] = array.copy() if is_fed else array
            else:
                updates[item.index] = Value(hand_over(raw).copy()) if is_fed else Value(raw=raw)
        return results, updates


def _input_type(variable: VariableEntry) -> tuple[int, Shape]:
    return BY_NAME[variable.dtype].number, variable.shape


def _check_ports(onnx: OnnxFile, graph: GraphEntry) -> None:
    required = onnx.inputs.keys() - onnx.initializers.keys()
    described = {item.name for item in graph.inputs}
    if required != described:
        raise BundleError(
            f"{onnx.path}: it has the inputs {listed(sorted(required)) or 'none'}, the manifest "
            f"says {listed(sorted(described)) or 'none'}; the files do not belong together: copy "
            "or save the bundle again"
        )
    for kind, items, ports in (
        ("input", graph.inputs, onnx.inputs),
        ("output", graph.outputs, onnx.outputs),
    ):
        for item in items:
            number = ports.get(item.name)
            if number is None:
                raise BundleError(
                    f"{onnx.path}: it has no {kind} {item.name!r}, which the manifest names; it "
                    f"has {listed(ports) or 'none'}: copy or save the bundle again"
                )
            # 0: the file leaves it to inference, and the run will tell.
            if number not in (0, BY_NAME[item.dtype].number):
                raise BundleError(
                    f"{onnx.path}: {kind} {item.name!r} is {_type_name(number)}, the manifest says "
                    f"{item.dtype}; the files do not belong together: copy or save the bundle again"
                )


def _type_name(number: int) -> str:
    row = BY_NUMBER.get(number)
    return f"of ONNX's type {number}" if row is None else row.name


def _check_frozen(onnx: OnnxFile, item: FrozenVariable, sources: Sources) -> None:
    """The initializer must be the variable: the same bytes, not only a tensor of that name."""
    variable = sources.manifest.variables[item.variable]
    found = onnx.initializers.get(item.name)
    if found is None:
        raise BundleError(
            f"{onnx.path}: it has no initializer {item.name!r}, which the manifest says holds "
            f"variable {variable.name!r}; copy or save the bundle again"
        )
    stored = sources.store.entry(variable.storage)
    if (_type_name(found.dtype), found.dims) != (stored.dtype, stored.shape):
        raise BundleError(
            f"{onnx.path}: initializer {item.name!r} is "
            f"{describe_type(_type_name(found.dtype), found.dims)}, variable {variable.name!r} is "
            f"{describe_type(stored.dtype, stored.shape)}; copy or save the bundle again"
        )
    place = found.external
    if place is not None and (place.location, place.offset, place.length) != (
        variable.storage.file,
        stored.offset,
        stored.nbytes,
    ):
        raise BundleError(
            f"{onnx.path}: initializer {item.name!r} takes {place.length} bytes at "
            f"{place.offset} of {place.location!r}, variable {variable.name!r} is the "
            f"{stored.nbytes} bytes at {stored.offset} of {variable.storage.file!r}; copy or save "
            "the bundle again"
        )


def _external_parts(onnx: OnnxFile, thawed: tuple[FrozenVariable, ...], sources: Sources) -> _Parts:
    """Check where weights are read from, and return first byte and length of each by file."""
    names = {item.name for item in thawed}
    parts: _Parts = {}
    for item in onnx.initializers.values():
        if item.external is not None:
            _check_place(item, onnx.path, sources)
            if item.name not in names:
                place = item.external
                parts.setdefault(place.location, []).append((place.offset, place.length))
    return parts


def _check_place(item: Initializer, path: str, sources: Sources) -> None:
    place = item.external
    assert place is not None
    where = f"{path}: initializer {item.name!r}"
    entry = sources.entries.get(place.location)
    if entry is None:
        raise BundleError(
            f"{where} has its data in {place.location[:200]!r}, which is no file of the bundle; "
            "expected one that its manifest lists: save the bundle again"
        )
    row = BY_NUMBER.get(item.dtype)
    # Runtimes fail on tensors without elements that are outside.
    if row is None or not row.bits or any(dim <= 0 for dim in item.dims):
        raise BundleError(
            f"{where} is {describe_type(_type_name(item.dtype), item.dims)}, which cannot be "
            "outside the ONNX file; save the bundle again"
        )
    expected = (math.prod(item.dims) * row.bits + 7) // 8
    if place.length != expected or place.offset + place.length > entry.size:
        raise BundleError(
            f"{where} takes {place.length} bytes at {place.offset} of {place.location!r}, expected "
            f"{expected} bytes for {describe_type(row.name, item.dims)} inside the file's "
            f"{entry.size}; save the bundle again"
        )


def _compile(
    data: bytes,
    path: str,
    device: str,
    sources: Sources,
    external: _Parts,
    *,
    folds: bool,
) -> Session:
    folder = sources.root if external else None
    sources.check_parts(external)
    _check_unchanged(external, sources)
    try:
        session = Session(data, device=device, data_folder=folder, folds=folds)
    except OpError as error:
        if error.__cause__ is None:  # no word from ONNX Runtime: the device is not there
            raise
        # ONNX Runtime 1.32 refuses weights whose folder was renamed while it opened them.
        _check_unchanged(external, sources)
        raise _compile_error(error, path) from error.__cause__
    _check_unchanged(external, sources)
    return session


def _check_unchanged(files: Iterable[str], sources: Sources) -> None:
    for file in sorted(files):
        if not sources.is_unchanged(file):
            raise AbortedError(
                f"{sources.root / file}: replaced on disk since the bundle was opened; open it "
                "again"
            )


def _compile_error(error: OpError, path: str) -> OpError:
    text = " ".join(error.message.split())
    if isinstance(error, ResourceExhaustedError):
        return ResourceExhaustedError(f"{path}: not enough memory to open it ({text})")
    if "is not a registered function/op" in text or isinstance(error, UnimplementedError):
        return UnimplementedError(
            f"{path}: the installed ONNX Runtime lacks an operator that it uses ({text}); upgrade "
            "onnxruntime, or save the bundle without it"
        )
    if "is under development" in text or "Unsupported model IR version" in text:
        # Before it stands a place in ONNX Runtime's source, with types.
        text = text[max(text.find("Unsupported model IR version"), 0) :]
        return UnsupportedVersionError(
            f"{path}: it is too new for the installed ONNX Runtime ({text}); upgrade onnxruntime"
        )
    return BundleError(
        f"{path}: ONNX Runtime cannot load it ({text}); the file is damaged or was made by another "
        "program: copy or save the bundle again"
    )


def _run_error(error: OpError, what: str) -> OpError:
    text = " ".join(error.message.split())
    reason = text.split("Status Message:", 1)[-1].strip()
    node = text.split("Name:'", 1)[1].split("'", 1)[0] if "Name:'" in text else ""
    at = f" at node {node!r}" if node else ""
    return type(error)(f"{what} failed{at}: {reason}", node=node or None)


def _check_output(
    item: GraphOutput, raw: RawValue, entries: Sequence[VariableEntry], what: str
) -> None:
    if not raw.is_tensor():
        raise InvalidArgumentError(f"{what}: output {item.name!r} is no tensor, expected one")
    number, shape = raw.element_type(), tuple(raw.shape())
    wanted = TensorInfo(item.dtype, item.shape, item.name)
    good = number == BY_NAME[item.dtype].number
    if item.target == "variable":
        variable = entries[item.index]
        wanted = TensorInfo(variable.dtype, variable.shape, variable.name)
        good = good and fits(shape, wanted)
    if not good:
        came = describe_type(dtypes.from_onnx(number).name, shape)
        raise InvalidArgumentError(
            f"{what}: output {item.name!r} came as {came}, expected {describe(wanted)} for "
            f"{item.target} {wanted.name!r}; the variables were left as they were"
        )
