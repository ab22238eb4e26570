"""``Dataset.save`` and ``load``: the elements of a dataset in a folder.

dataset_spec.json   what elements look like
elements            the elements; see ``state_codec``
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from tfx.core.dtypes import as_dtype
from tfx.core.errors import DataLossError, NotFoundError, UnimplementedError
from tfx.core.specs import TensorSpec
from tfx.data.caching import read_elements, write_elements
from tfx.data.leaves import Leaves
from tfx.data.nodes import Node
from tfx.data.sources import Elements
from tfx.data.structure import NoneTensorSpec, Structure, covers
from tfx.ragged_ops.ragged_tensor_spec import RaggedTensorSpec
from tfx.sparse_ops.sparse_tensor_spec import SparseTensorSpec

_SPEC = "dataset_spec.json"
_ELEMENTS = "elements"


def _plain(spec: Any) -> Any:
    """A spec as JSON has it.

    Raises:
        UnimplementedError: JSON has no such structure.
    """
    if isinstance(spec, TensorSpec):
        return {"tensor": [spec.dtype.name, _plain_shape(spec)]}
    if isinstance(spec, RaggedTensorSpec):
        rows = [spec.ragged_rank, spec.row_splits_dtype.name]
        return {"ragged": [spec.dtype.name, _plain_shape(spec), *rows]}
    if isinstance(spec, SparseTensorSpec):
        return {"sparse": [spec.dtype.name, _plain_shape(spec)]}
    if isinstance(spec, NoneTensorSpec):
        return None
    if type(spec) is tuple:
        return {"tuple": [_plain(x) for x in spec]}
    if type(spec) is dict:
        return {"dict": {key: _plain(x) for key, x in spec.items()}}
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        parts = [[name, _plain(x)] for name, x in zip(spec._fields, spec, strict=True)]
        return {"named tuple": [type(spec).__name__, parts]}
    raise UnimplementedError(
        "Dataset.save writes tensors, ragged and sparse ones too, in tuples and dicts; got "
        f"elements of {spec!r}."
    )


def _plain_shape(spec: Any) -> list[int | None] | None:
    known: list[int | None] | None = spec.shape.as_list() if spec.shape.rank is not None else None
    return known


def _spec(plain: Any) -> Any:
    if plain is None:
        return NoneTensorSpec()
    ((kind, value),) = plain.items()
    if kind == "tensor":
        return TensorSpec(value[1], as_dtype(value[0]))
    if kind == "ragged":
        name, shape, ragged_rank, splits = value
        return RaggedTensorSpec(shape, as_dtype(name), ragged_rank, as_dtype(splits))
    if kind == "sparse":
        return SparseTensorSpec(value[1], as_dtype(value[0]))
    if kind == "named tuple":
        make: Any = NamedTuple  # the file alone knows its class
        named = make(value[0], [(name, Any) for name, _ in value[1]])
        return named(*(_spec(x) for _, x in value[1]))
    if kind == "tuple":
        return tuple(_spec(x) for x in value)
    return {key: _spec(x) for key, x in value.items()}


def save_elements(path: Any, structure: Structure, elements: list[Leaves]) -> None:
    """Write the elements of a dataset."""
    folder = os.fsdecode(path)
    plain = json.dumps(_plain(structure.spec))
    os.makedirs(folder, exist_ok=True)
    write_elements(os.path.join(folder, _ELEMENTS), elements)
    with open(os.path.join(folder, _SPEC), "w", encoding="utf-8") as file:
        file.write(plain)


def load_node(path: Any, element_spec: Any) -> Node:
    """A node with the elements in a folder.

    Raises:
        NotFoundError: there is no dataset.
        DataLossError: it is damaged.
        ValueError: its elements are not of the spec.
    """
    folder = os.fsdecode(path)
    try:
        with open(os.path.join(folder, _SPEC), encoding="utf-8") as file:
            spec = _spec(json.load(file))
        elements = read_elements(os.path.join(folder, _ELEMENTS))
    except FileNotFoundError as e:
        raise NotFoundError(f"{folder} holds no dataset that Dataset.save wrote.") from e
    except (ValueError, AttributeError, KeyError, IndexError) as e:
        raise DataLossError(f"{folder}: {_SPEC} is damaged: {e}") from e
    if element_spec is not None and not covers(element_spec, spec):
        raise ValueError(f"{folder} holds elements of {spec!r}; asked for {element_spec!r}.")
    return Elements(elements, Structure(spec if element_spec is None else element_spec))
