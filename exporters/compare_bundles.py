"""``compare``: what is different in two bundles.

Owns the facts of a comparison and their JSON form. Must not print. The one decision: graphs are
compared by what they are made of, the number of each operator, because names of nodes and values
say little about what a graph computes; numbers are compared by their largest difference.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfx.bundle.examples import max_difference
from tfx.bundle.manifest import Manifest
from tfx.graph.serialization.standalone import operator_counts
from tfx.loaders.messages import describe, describe_type
from tfx.loaders.open_files import Sources
from tfx.loaders.signature import SignatureInfo, signature_info

_OPERATORS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between two bundles.

    Attributes:
        kind: "requirements", "signature", "graph", "variable", "function" or "metadata".
        name: Of what.
        change: "added", "removed" or "changed".
        detail: What it was and is.
        amount: Of variables of one shape and dtype, the largest difference of two numbers.
    """

    kind: str
    name: str
    change: str
    detail: str
    amount: float | None = None


@dataclass(slots=True)
class Comparison:
    """The differences between two bundles; ``same_variables`` counts those with equal values."""

    first: str
    second: str
    differences: list[Difference] = field(default_factory=list)
    same_variables: int = 0

    @property
    def is_same(self) -> bool:
        """True if there is no difference."""
        return not self.differences

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as objects that JSON can hold."""
        return {
            "first": self.first,
            "second": self.second,
            "same": self.is_same,
            "same_variables": self.same_variables,
            "differences": [
                {k: _plain(v) for k, v in dataclasses.asdict(item).items()}
                for item in self.differences
            ],
        }


def _plain(value: Any) -> Any:
    return str(value) if value == float("inf") else value  # JSON has no infinity


def compare(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> Comparison:
    """Compare two bundles: signatures, variables, graphs, functions and requirements.

    Args:
        first: Folder of a bundle.
        second: Folder of another one.

    Returns:
        What is different, seen from the first.

    Raises:
        NotFoundError: no such folder.
        BundleError: one is no bundle, or damaged.
        UnsupportedVersionError: one is newer than this program.
    """
    found = Comparison(os.fspath(first), os.fspath(second))
    a, b = Sources(first, verify=True), Sources(second, verify=True)
    try:
        found.differences += _requirements(a.manifest, b.manifest)
        found.differences += _signatures(a.manifest, b.manifest)
        found.differences += _graphs(a, b)
        variables = list(_variables(a, b))
        found.differences += [item for item in variables if item is not None]
        found.same_variables = variables.count(None)
        found.differences += _functions(a.manifest, b.manifest)
        found.differences += _texts("metadata", a.manifest.metadata, b.manifest.metadata)
    finally:
        a.close()
        b.close()
    return found


def _requirements(a: Manifest, b: Manifest) -> Iterator[Difference]:
    for name in ("opset", "ir_version"):
        one, two = getattr(a.requirements, name), getattr(b.requirements, name)
        if one != two:
            yield Difference("requirements", name, "changed", f"{one} -> {two}")
    one, two = dict(a.requirements.domains), dict(b.requirements.domains)
    yield from _texts("requirements", one, two)


def _texts(kind: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted({*a, *b}):
        if name not in b:
            yield Difference(kind, name, "removed", str(a[name]))
        elif name not in a:
            yield Difference(kind, name, "added", str(b[name]))
        elif a[name] != b[name]:
            yield Difference(kind, name, "changed", f"{a[name]} -> {b[name]}")


def _signatures(a: Manifest, b: Manifest) -> Iterator[Difference]:
    one, two = (
        {s.name: signature_info(s, manifest) for s in manifest.signatures} for manifest in (a, b)
    )
    for name in sorted({*one, *two}):
        if name not in two:
            yield Difference("signature", name, "removed", str(one[name]))
        elif name not in one:
            yield Difference("signature", name, "added", str(two[name]))
        else:
            parts = list(_signature_changes(one[name], two[name]))
            if parts:
                yield Difference("signature", name, "changed", "; ".join(parts))


def _signature_changes(a: SignatureInfo, b: SignatureInfo) -> Iterator[str]:
    for what, one, two in (("input", a.inputs, b.inputs), ("output", a.outputs, b.outputs)):
        for name in [*one, *(n for n in two if n not in one)]:
            if name not in two:
                yield f"{what} {name} removed"
            elif name not in one:
                yield f"{what} {name} {describe(two[name])} added"
            elif describe(one[name]) != describe(two[name]):
                yield f"{what} {name} {describe(one[name])} -> {describe(two[name])}"
    if a.updates != b.updates:
        yield f"updates {_names(a.updates)} -> {_names(b.updates)}"
    if a.reads != b.reads:
        yield f"reads {_names(a.reads)} -> {_names(b.reads)}"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_OPERATORS_SHOWN]) or "none"
    return f"{shown}, ..." if len(names) > _OPERATORS_SHOWN else shown


def _graphs(a: Sources, b: Sources) -> Iterator[Difference]:
    """Graphs of the signatures that both have."""
    one, two = (
        {s.name: s.concrete_function for s in sources.manifest.signatures} for sources in (a, b)
    )
    for name in sorted(one.keys() & two.keys()):
        files = [
            (sources, sources.manifest.concrete_functions[numbers[name]].graph.file)
            for sources, numbers in ((a, one), (b, two))
        ]
        hashes = [sources.entries[file].sha256 for sources, file in files]
        if hashes[0] == hashes[1]:
            continue
        before, after = (
            operator_counts(sources.read_graph(file), str(sources.root / file))
            for sources, file in files
        )
        changes = [
            f"{op} {before[op]} -> {after[op]}"
            for op in sorted({*before, *after}, key=lambda op: (-abs(after[op] - before[op]), op))
            if before[op] != after[op]
        ]
        if not changes:
            text = f"the same operators ({before.total()} nodes), other attributes or constants"
        else:
            more = "" if len(changes) <= _OPERATORS_SHOWN else f", and {len(changes)} in all"
            shown = ", ".join(changes[:_OPERATORS_SHOWN])
            text = f"{before.total()} -> {after.total()} nodes: {shown}{more}"
        yield Difference("graph", name, "changed", text)


def _variables(a: Sources, b: Sources) -> Iterator[Difference | None]:
    """A difference for each variable, or None for one that is the same."""
    one, two = ({v.name: v for v in sources.manifest.variables} for sources in (a, b))
    for name in sorted({*one, *two}):
        if name not in two:
            text = describe_type(one[name].dtype, one[name].shape)
            yield Difference("variable", name, "removed", text)
            continue
        if name not in one:
            text = describe_type(two[name].dtype, two[name].shape)
            yield Difference("variable", name, "added", text)
            continue
        before, after = a.store.value(one[name]), b.store.value(two[name])
        types = [
            describe_type(entry.dtype, array.shape)
            for entry, array in ((one[name], before), (two[name], after))
        ]
        if types[0] != types[1]:
            yield Difference("variable", name, "changed", f"{types[0]} -> {types[1]}")
            continue
        amount = max_difference(after, before)
        if amount:
            text = f"{types[0]}, greatest difference {amount:.6g}"
            yield Difference("variable", name, "changed", text, amount)
        elif one[name].trainable != two[name].trainable:
            text = f"trainable {one[name].trainable} -> {two[name].trainable}"
            yield Difference("variable", name, "changed", text)
        else:
            yield None


def _functions(a: Manifest, b: Manifest) -> Iterator[Difference]:
    one, two = (
        {f.name: len(f.concrete_functions) for f in manifest.functions} for manifest in (a, b)
    )
    for name in sorted({*one, *two}):
        if name not in two:
            yield Difference("function", name, "removed", _traces(one[name]))
        elif name not in one:
            yield Difference("function", name, "added", _traces(two[name]))
        elif one[name] != two[name]:
            text = f"{_traces(one[name])} -> {_traces(two[name])}"
            yield Difference("function", name, "changed", text)


def _traces(count: int) -> str:
    return f"{count} trace{'' if count == 1 else 's'}"
