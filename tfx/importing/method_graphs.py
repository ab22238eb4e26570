"""What an exporter of another framework hands over: graphs of methods, and variables below them.

Owns the description only: which ONNX graph a method is, how a call's arguments and results stand
for the graph's inputs and outputs, which of its values are variables, and which outputs variables
become. Must not know any framework.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfx.core import nest


@dataclass(frozen=True, slots=True)
class Port:
    """The place of a tensor in a structure of arguments or results: the graph's name of it."""

    name: str


@dataclass(frozen=True, slots=True)
class SourceVariable:
    """A parameter or buffer of the source.

    Attributes:
        value: Its contents: an array of any kind that ``Variable`` takes.
        trainable: Whether it is one to train.
        is_stored: Whether the source keeps it in its files; what can be computed again is not.
    """

    value: Any
    trainable: bool = True
    is_stored: bool = True


@dataclass(frozen=True, slots=True)
class LayerValue:
    """What the source computes inside, and the graph's value that is the same.

    Attributes:
        layer: The source's name of the layer, or of the line that computes it.
        value: The graph's name of the value.
        array: What the source has there.
    """

    layer: str
    value: str
    array: Any


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """A call of the source: what was given, and what the source itself answered.

    Attributes:
        inputs: Arrays by the graph's inputs.
        outputs: Arrays by the graph's outputs: those that are the same in every run.
        updates: New values of variables by name, likewise.
        layers: Gives what the source computes on the way, in its order; called when an answer
            differs, to tell where.
        is_made_up: Whether nobody gave the inputs.
        converter: Whose graph ``layers`` are of, where they are not the source's own.
    """

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    updates: Mapping[str, Any] = field(default_factory=dict)
    layers: Callable[[], Iterable[LayerValue]] | None = None
    is_made_up: bool = False
    converter: str = ""


@dataclass(frozen=True)
class MethodGraph:
    """One way of calling a method, as an ONNX graph.

    Attributes:
        model: The graph: path, bytes, or ``onnx.ModelProto``. Variables are inputs of it, or
            initializers, whose data is not looked at where the value is known otherwise.
        arguments: For each parameter of the method, in order, its structure: a ``Port`` where a
            tensor is given; anything else is a value that the source had when the graph was made,
            and that a call must repeat. None: the graph's inputs by their names.
        results: The structure of the results, with a ``Port`` for each tensor; other values are
            returned as they are. None: the graph's output if it is one, else a dict of all.
        parameters: What calls are bound by; None: the names of ``arguments`` in order.
        weights: Names of variables by the graph's names of inputs and initializers. None: the
            initializers that ``import_onnx`` makes variables of, under the graph's names.
        updates: Names of the variables that the graph changes, by the outputs that they become.
        shapes: Shapes of inputs in place of those that the graph declares.
        answers: What the source answered when the graph was made, with the variables as given.
        unanswered: Why there are no answers, where there should be some.
    """

    model: Any
    arguments: Mapping[str, Any] | None = None
    results: Any = None
    parameters: inspect.Signature | None = None
    weights: Mapping[str, str] | None = None
    updates: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[SourceAnswer, ...] = ()
    unanswered: str = ""


def ports_in(structure: Any) -> list[Port]:
    """The places of tensors in a structure, in the order in which a function takes them."""
    return [leaf for leaf in nest.flatten(structure) if isinstance(leaf, Port)]


def matched(structure: Any, value: Any, path: str = "") -> tuple[Any, str | None]:
    """The parts of a call's argument that stand where a structure has tensors.

    Args:
        structure: An argument as a graph has it.
        value: The same of a call.
        path: What leads to it, for the message.

    Returns:
        The argument without what is no tensor, and None; or None and how it differs.
    """
    if isinstance(structure, Port):
        return (value, None) if value is not None else (None, f"{path} is None, expected a tensor")
    if isinstance(structure, Mapping):
        return _matched_mapping(structure, value, path)
    if isinstance(structure, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(structure):
            shown = f"{len(value)} items" if isinstance(value, list | tuple) else _shown(value)
            return None, f"{path} is {shown}, expected {len(structure)} items"
        pairs = enumerate(zip(structure, value, strict=True))
        return _kept([(i, matched(s, v, f"{path}[{i}]"), s) for i, (s, v) in pairs], list)
    if structure is value or (type(structure) is type(value) and _equal(structure, value)):
        return None, None
    return None, f"{path} is {_shown(value)}, expected {_shown(structure)}"


def _matched_mapping(structure: Mapping[Any, Any], value: Any, path: str) -> tuple[Any, str | None]:
    if not isinstance(value, Mapping):
        return None, f"{path} is {_shown(value)}, expected a dict of {_keys(structure)}"
    unknown = [k for k in value if k not in structure and value[k] is not None]
    missing = [k for k in structure if k not in value and structure[k] is not None]
    if unknown or missing:
        return None, f"{path} has {_keys(value)}, expected {_keys(structure)}"
    found = [(k, matched(s, value.get(k), f"{path}[{k!r}]"), s) for k, s in structure.items()]
    return _kept(found, dict)


def _kept(
    found: list[tuple[Any, tuple[Any, str | None], Any]], kind: type
) -> tuple[Any, str | None]:
    for _, (_, wrong), _ in found:
        if wrong is not None:
            return None, wrong
    pairs = [(key, value) for key, (value, _), inner in found if ports_in(inner)]
    return (dict(pairs) if kind is dict else [v for _, v in pairs]), None


def pruned(structure: Any, leaf: Callable[[Port], Any]) -> Any:
    """A structure of arguments with tensors alone, each replaced."""
    if isinstance(structure, Port):
        return leaf(structure)
    if isinstance(structure, Mapping):
        return {k: pruned(s, leaf) for k, s in structure.items() if ports_in(s)}
    assert isinstance(structure, list | tuple)
    return [pruned(s, leaf) for s in structure if ports_in(s)]


def filled(structure: Any, leaf: Callable[[Port], Any], *, fixed: bool) -> Any:
    """A structure of results with a value for each tensor; other values as they are, or None."""
    if isinstance(structure, Port):
        return leaf(structure)
    if isinstance(structure, Mapping):
        return {k: filled(s, leaf, fixed=fixed) for k, s in structure.items()}
    if isinstance(structure, list | tuple):
        items = [filled(s, leaf, fixed=fixed) for s in structure]
        if isinstance(structure, list):
            return items
        fields = getattr(structure, "_fields", None)
        return type(structure)(*items) if fields else tuple(items)
    return structure if fixed else None


def _equal(first: Any, second: Any) -> bool:
    try:
        return bool(first == second)
    except (TypeError, ValueError):  # arrays
        return False


def _shown(value: Any) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"a tensor of shape {tuple(shape)}"
    return f"{value!r:.100}"


def _keys(value: Mapping[Any, Any]) -> str:
    return ", ".join(repr(k) for k in value) or "nothing"
