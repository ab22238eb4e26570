"""From the outputs of a session to what a function returns: dicts, tuples, objects of tensors.

Owns how results are put together again, decided once for each trace: a call only fills in its
tensors. Must not know where the outputs come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from tfx.core.dtypes import DType
from tfx.core.nest_kinds import expanded_kind_of
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.graph import ir
from tfx.runtime.values import RawValue

# (raw outputs, their dtypes) -> the results
Packer: TypeAlias = Callable[[Sequence[RawValue], list[DType]], Any]


def unique_outputs(graph: ir.Graph) -> tuple[ir.Graph, list[int]]:
    """The graph with each of its outputs once, and where each output of the given one is there.

    ``return v.assign_add(x)`` has the variable's new value twice, which would cost a copy.
    """
    places = {value: i for i, value in enumerate(dict.fromkeys(graph.outputs))}
    if len(places) == len(graph.outputs):
        return graph, list(range(len(places)))
    single = graph.copy()
    single.outputs = list(places)
    return single, [places[value] for value in graph.outputs]


def result_packer(results: Any, places: Sequence[int]) -> Packer:
    """Return a function that builds a structure like ``results`` from raw outputs.

    Args:
        results: A structure of tensors and None, or one tensor.
        places: Which output each tensor is, in the order of ``nest.flatten``.
    """
    return _packer(results, iter(places))


def _packer(results: Any, places: Iterator[int]) -> Packer:
    if isinstance(results, Tensor):
        place = next(places)
        return lambda raw, dtypes: EagerTensor(raw[place], dtypes[place])
    if results is None:
        return lambda raw, dtypes: None
    structure = expanded_kind_of(results)
    assert structure is not None
    kind: Any = type(results)
    values = list(structure.values(results))
    if kind in (list, tuple) and all(isinstance(value, Tensor) for value in values):
        chosen = [next(places) for _ in values]
        return lambda raw, dtypes: kind([EagerTensor(raw[i], dtypes[i]) for i in chosen])
    parts = [_packer(value, places) for value in values]
    if kind is dict and all(type(key) is str for key in results):
        by_key = dict(zip(sorted(results), parts, strict=True))
        ordered = [(key, by_key[key]) for key in results]
        return lambda raw, dtypes: {key: part(raw, dtypes) for key, part in ordered}
    build = structure.build
    return lambda raw, dtypes: build(results, [part(raw, dtypes) for part in parts])
