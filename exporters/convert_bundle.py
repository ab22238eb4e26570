"""A bundle at another opset, or narrower: what ``convert`` does with a folder.

Owns what of a bundle is converted and how the result is measured. The one decision: another opset
keeps everything that a bundle has (variables, functions, train steps); another dtype gives a bundle
that is for inference alone, because a variable has one dtype and a train step wants the wide one.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tfx.bundle.atomic_folder import AtomicDirectory
from tfx.bundle.examples import EXAMPLES_FILE, max_difference
from tfx.bundle.files import file_entry, locate
from tfx.bundle.manifest import (
    MANIFEST_NAME,
    ConcreteFunctionEntry,
    FileEntry,
    GraphEntry,
    Manifest,
    ObjectNode,
    Requirements,
    Signature,
    SignatureTensor,
    manifest_bytes,
)
from tfx.bundle.shards import write_store
from tfx.core.mixins import AsJson
from tfx.exporters.bundle_tensors import Contents
from tfx.exporters.examples import add_examples
from tfx.exporters.freeze_bundle import standalone
from tfx.exporters.names import FileNames
from tfx.graph.serialization.convert import inlined, parsed_to_opset, to_bfloat16_weights, to_opset
from tfx.graph.serialization.models import ForeignModel
from tfx.loaders.open_files import Sources
from tfx.loaders.record_examples import Recorded, make_up
from tfx.loaders.replay_examples import Arrays, Replayer
from tfx.loaders.signature import SignatureInfo, signature_info
from tfx.runtime.quantize_models import to_calibrated_int8, to_float16, to_int8

Narrow = Literal["float16", "bfloat16", "int8"]
NARROW: tuple[Narrow, ...] = ("float16", "bfloat16", "int8")
_LEAST_OUTSIDE = 1024
_MADE_UP_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Measured:
    """The outcome of converting a signature.

    Attributes:
        name: Its name.
        is_converted: Whether the new bundle has it.
        detail: Why it has not, or how it was measured.
        difference: The largest difference of a number from the old bundle's.
        relative: The same in parts of the largest number of that output.
    """

    name: str
    is_converted: bool
    detail: str
    difference: float | None = None
    relative: float | None = None


@dataclass(slots=True)
class Conversion(AsJson):
    """What ``convert`` did; sizes are those of all files."""

    before: int
    after: int = 0
    signatures: list[Measured] = field(default_factory=list)


Batches = Callable[[SignatureInfo], "Sequence[Mapping[str, Any]]"]


def convert_folder(
    bundle: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    opset: int | None = None,
    dtype: Narrow | None = None,
    batches: Batches | None = None,
    only: str | None = None,
) -> Conversion:
    """Write a bundle again at another opset, or with narrower numbers, or both.

    Args:
        bundle: The bundle's folder, or an archive of it.
        out: The folder to make or replace.
        opset: Version of the standard operators.
        dtype: See ``convert``.
        batches: Gives inputs of a signature, for calibration; None: int8 without.
        only: The one signature to write with narrower numbers; None: all.

    Returns:
        Sizes, and how far each signature is off.
    """
    sources = Sources(bundle, verify=True)
    try:
        wanted = [w for w in _wanted(sources) if only in (None, w.signature)]
        with AtomicDirectory(out) as folder:
            if dtype is None:
                assert opset is not None
                _write_at_opset(sources, folder, opset)
                left_out: list[str] = []
            else:
                narrow = _Narrowing(sources, opset, dtype, batches, only)
                left_out = narrow.write(folder)
            size = sum(item.size for item in sources.manifest.files)
            made = Conversion(before=size)
            made.signatures = _measure(folder, wanted, left_out, dtype)
            made.after = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
        return made
    finally:
        sources.close()


def _wanted(sources: Sources) -> list[Recorded]:
    """Return the old bundle's results, for its examples or for generated inputs."""
    replayer = Replayer(sources)
    found: list[Recorded] = []
    for info in replayer.signatures.values():
        examples = [e for e in sources.manifest.examples if e.signature == info.name]
        for example in examples:
            inputs = [i for i, _ in replayer.stored_calls(example)]
            results = replayer.run(info.name, inputs)
            calls = list(zip(inputs, results, strict=True))
            found.append(Recorded(info.name, calls, example.tolerance, example.is_given))
        if not examples:
            found += make_up(replayer, info, _MADE_UP_BYTES)
        replayer.forget_plans()
    return found


def _write_at_opset(sources: Sources, folder: Path, opset: int) -> None:
    manifest = sources.manifest
    graphs = {g.file for c in manifest.concrete_functions for g in (c.graph, c.live_graph) if g}
    dropped = {c.gradient_graph.file for c in manifest.concrete_functions if c.gradient_graph}
    dropped.add(EXAMPLES_FILE if manifest.examples else "")
    files: list[FileEntry] = []
    for item in manifest.files:
        if item.path in dropped - graphs:
            continue
        target = folder / item.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if item.path in graphs:
            path = str(sources.root / item.path)
            target.write_bytes(parsed_to_opset(sources.read_graph(item.path), path, opset))
        else:
            _copy(locate(sources.root, item.path, size=item.size), target)
        files.append(file_entry(folder, item.path))
    requirements = dataclasses.replace(manifest.requirements, opset=opset)
    concretes = tuple(
        dataclasses.replace(c, gradient_graph=None) for c in manifest.concrete_functions
    )
    made = dataclasses.replace(
        manifest,
        files=tuple(files),
        requirements=requirements,
        concrete_functions=concretes,
        examples=(),
    )
    (folder / MANIFEST_NAME).write_bytes(manifest_bytes(made))


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("xb") as writer:
        while chunk := reader.read(1 << 22):
            writer.write(chunk)


@dataclass(frozen=True, slots=True)
class _Narrowing:
    """A bundle on its way to narrower numbers; see ``convert_folder``."""

    sources: Sources
    opset: int | None
    dtype: Narrow
    batches: Batches | None
    only: str | None

    def write(self, folder: Path) -> list[str]:
        """Write an inference bundle; the names of the signatures that it has not."""
        manifest = self.sources.manifest
        contents, models, entries = Contents(), {}, {}
        signatures: list[Signature] = []
        left_out = []
        for signature in manifest.signatures:
            if self.only not in (None, signature.name):
                continue
            number = signature.concrete_function
            concrete = manifest.concrete_functions[number]
            if any(o.target == "variable" for o in concrete.graph.outputs):
                left_out.append(signature.name)
                continue
            if number not in entries:
                entries[number] = concrete
                models[number] = self._model(concrete, signature)
            signatures.append(signature)
        keys: dict[int, dict[str, str]] = {}
        for number, model in models.items():
            keys[number] = {
                name: contents.add_constant(f"constants/{entries[number].name}/{name}", array)
                for name, array in model.arrays().items()
                if array.nbytes >= _LEAST_OUTSIDE
            }
        store = write_store(folder, contents.arrays)
        names = FileNames()
        files = list(store.files)
        order = {number: position for position, number in enumerate(entries)}
        concretes = []
        for number, concrete in entries.items():
            file = f"{names.stem(concrete.name)}.onnx"
            places = {}
            for name, key in keys[number].items():
                found = store.tensors[key]
                places[name] = (found.storage.file, found.entry.offset, found.entry.nbytes)
            (folder / file).write_bytes(models[number].with_external(places))
            files.append(file_entry(folder, file))
            concretes.append(_plain_function(concrete, file))
        made = Manifest(
            producer=manifest.producer,
            producer_version=manifest.producer_version,
            requirements=_requirements(list(models.values())),
            files=tuple(sorted(files, key=lambda f: f.path)),
            objects=(ObjectNode("object"),),
            concrete_functions=tuple(concretes),
            signatures=tuple(
                dataclasses.replace(s, concrete_function=order[s.concrete_function])
                for s in signatures
            ),
            metadata={**manifest.metadata, "converted_to": self.dtype},
        )
        (folder / MANIFEST_NAME).write_bytes(manifest_bytes(made))
        return left_out

    def _model(self, concrete: ConcreteFunctionEntry, signature: Signature) -> ForeignModel:
        model = inlined(standalone(self.sources, concrete.graph).model())
        if self.opset is not None:
            model = to_opset(model, self.opset, concrete.graph.file)
        if self.batches is not None:
            info = signature_info(signature, self.sources.manifest)
            names = {i.name: concrete.graph.inputs[n].name for n, i in self._places(signature)}
            given = [{names[n]: a for n, a in b.items()} for b in self.batches(info)]
            made = to_calibrated_int8(model, given)
        else:
            convert_to = {
                "float16": to_float16,
                "bfloat16": to_bfloat16_weights,
                "int8": to_int8,
            }
            made = convert_to[self.dtype](model)
        return ForeignModel(made, f"signature {signature.name!r}", ports=False)

    def _places(self, signature: Signature) -> list[tuple[int, SignatureTensor]]:
        """For each input of a signature its position among the graph's inputs."""
        number = signature.concrete_function
        graph = self.sources.manifest.concrete_functions[number].graph
        places = {i.index: n for n, i in enumerate(graph.inputs) if i.source == "argument"}
        return [(places[item.leaf], item) for item in signature.inputs if item.leaf in places]


def _plain_function(concrete: ConcreteFunctionEntry, file: str) -> ConcreteFunctionEntry:
    """The function with a graph that takes its arguments alone."""
    graph = GraphEntry(
        file,
        tuple(i for i in concrete.graph.inputs if i.source == "argument"),
        tuple(o for o in concrete.graph.outputs if o.target == "result"),
    )
    return dataclasses.replace(concrete, graph=graph, live_graph=None, gradient_graph=None)


def _requirements(models: Sequence[ForeignModel]) -> Requirements:
    domains: dict[str, int] = {}
    for model in models:
        for domain, version in model.domains.items():
            domains[domain] = max(version, domains.get(domain, 0))
    return Requirements(
        max((m.opset for m in models), default=0),
        max((m.ir_version for m in models), default=0),
        domains,
    )


def _measure(
    folder: Path, wanted: Sequence[Recorded], left_out: Sequence[str], dtype: str | None
) -> list[Measured]:
    """Run the new bundle on the inputs of the old one, and keep them as its examples."""
    sources = Sources(folder, verify=False)
    try:
        replayer = Replayer(sources)
        examples: dict[str, list[Any]] = {}
        found = []
        for name in replayer.signatures:
            mine = [item for item in wanted if item.signature == name]
            runs = [replayer.run(name, [i for i, _ in item.calls]) for item in mine]
            found.append(_measured(name, mine, runs))
            if mine:
                examples[name] = [[inputs for inputs, _ in item.calls] for item in mine]
            else:
                replayer.plan(name, "stock")  # at least it can be opened
            replayer.forget_plans()
    finally:
        sources.close()
    add_examples(folder, examples or False)
    reason = f"updates variables, which a bundle of {dtype} has not"
    return [*found, *(Measured(name, False, reason) for name in left_out)]


def _measured(name: str, wanted: Sequence[Recorded], runs: Sequence[list[Arrays]]) -> Measured:
    if not wanted:
        return Measured(name, True, "not measured: no example, and made up inputs do not fit")
    difference = relative = 0.0
    for item, results in zip(wanted, runs, strict=True):
        for (_, expected), outputs in zip(item.calls, results, strict=True):
            for key, array in expected.items():
                amount = max_difference(outputs[key], array)
                difference = max(difference, amount)
                scale = _greatest(array)
                relative = max(relative, amount / scale if scale else amount)
    kind = "golden" if any(item.is_given for item in wanted) else "made up"
    count = len(wanted)
    text = f"{count} {kind} example{'' if count == 1 else 's'}"
    return Measured(name, True, text, difference, relative)


def _greatest(array: np.ndarray[Any, Any]) -> float:
    if array.dtype == object or not array.size:
        return 0.0
    wide = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return float(wide[np.isfinite(wide)].max(initial=0.0))
