"""A trace's arguments and results as the manifest has them, as Python structures of tensors.

The one decision: leaves of a structure may be numbered in any order, so the order in which they lie
flattened always comes with the structure.
"""

from __future__ import annotations

import inspect
from typing import Any

from tfx.bundle.python_values import Leaf
from tfx.bundle.python_values import Value as Recorded
from tfx.bundle.records import ConcreteFunctionEntry
from tfx.core import nest
from tfx.core.errors import BundleError
from tfx.core.specs import TensorSpec
from tfx.function.tracing.parameters import Parameters
from tfx.saved_model.values import from_value, to_spec


def results_of(record: Recorded) -> list[int]:
    """The numbers of a result's ``Leaf`` records in flattening order.

    Raises:
        BundleError: there is something in it that is neither a tensor nor None.
    """
    flat = _flattened(from_value(record), "result")
    if not all(leaf is None or isinstance(leaf, Leaf) for leaf in flat):
        raise BundleError("its result structure has other leaves than tensors and None")
    return [leaf.index for leaf in flat if isinstance(leaf, Leaf)]


def _flattened(structure: Any, what: str) -> list[Any]:
    try:
        return nest.flatten(structure)
    except TypeError as e:
        raise BundleError(f"its {what} structure cannot be taken apart: {e}") from e


def parameters_of(entry: ConcreteFunctionEntry) -> Parameters:
    """Parameters for a trace that belongs to no function: its arguments by their names."""
    args, kwargs = entry.arguments
    assert isinstance(args, tuple)
    assert isinstance(kwargs, dict)
    names: list[str] = []
    for i, argument in enumerate(args):
        name = entry.argument_leaves[argument.index].name if isinstance(argument, Leaf) else ""
        names.append(name if name.isidentifier() and name not in (*names, *kwargs) else f"arg{i}")
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    try:
        parameters = [inspect.Parameter(n, positional) for n in names]
        parameters += [inspect.Parameter(str(n), inspect.Parameter.KEYWORD_ONLY) for n in kwargs]
        return Parameters.from_signature(inspect.Signature(parameters))
    except ValueError:  # names that Python has no parameters for
        return Parameters(lambda *args, **kwargs: None)


def arguments_of(
    entry: ConcreteFunctionEntry, parameters: Parameters
) -> tuple[tuple[Any, ...], list[int]]:
    """A trace's arguments, one value for each parameter, and the order of its tensors.

    Returns:
        The values, with specs for tensors; and the number of each tensor's leaf.

    Raises:
        BundleError: the parameters do not take such arguments.
    """
    args, kwargs = (from_value(part) for part in entry.arguments)
    try:
        bound = parameters.signature.bind(*args, **kwargs)
    except TypeError as e:
        raise BundleError(
            f"the arguments of the trace {entry.name!r} are not those of its function: {e}"
        ) from e
    bound.apply_defaults()
    values = list(bound.arguments.values())
    order = [x.index for x in _flattened(values, "argument") if isinstance(x, Leaf)]
    specs: list[TensorSpec] = [to_spec(leaf) for leaf in entry.argument_leaves]
    with_specs = [
        nest.map_structure(lambda x: specs[x.index] if isinstance(x, Leaf) else x, v)
        for v in values
    ]
    return tuple(with_specs), order
