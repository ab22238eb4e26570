"""What a tape knows of the objects that it is given, and gradients in their form.

Of a ragged or sparse tensor that are the values. An object whose class has
``_tfx_is_numeric = True`` is differentiated by its tensors and variables; its gradient is such
an object.
"""

from __future__ import annotations

from typing import Any

from tfx.core import nest
from tfx.framework.composite import leaves
from tfx.framework.composite.ragged import is_ragged
from tfx.framework.composite.sparse import is_sparse
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable, variable_of
from tfx.ops.array import creation


def parts_of(structure: Any) -> list[Any]:
    """Tensors, variables, and what is neither, of a structure of objects."""
    return [_known(x) for x in leaves.flatten(structure, _has_parts)]


def flat_sources_of(sources: Any) -> list[Any]:
    """The sources of a gradient in a list.

    Raises:
        TypeError: one of them is neither a tensor nor a variable.
    """
    flat = parts_of(sources)
    for s in flat:
        if not isinstance(s, Tensor | Variable):
            raise TypeError(
                f"Cannot compute a gradient with respect to {s!r} of type {type(s).__name__!r}: "
                "expected a Tensor or Variable."
            )
    return flat


def like_sources(sources: Any, gradients: list[Any]) -> Any:
    """Gradients of the parts of sources in the form of the sources.

    Of an object that is differentiated by its parts there is no gradient where there is none of
    any part; a single one that is missing is zeros.
    """
    given = iter(gradients)
    return nest.map_structure(lambda source: _like(source, given), sources)


def _has_parts(x: Any) -> bool:
    return getattr(x, "_tfx_is_numeric", False) is True


def _known(x: Any) -> Any:
    if is_sparse(x):
        return x.values
    return x.flat_values if is_ragged(x) else variable_of(x)


def _like(source: Any, given: Any) -> Any:
    if _has_parts(source):
        parts = nest.flatten(source, expand_composites=True)
        found = [next(given) for _ in parts]
        if all(gradient is None for gradient in found):
            return None
        rows = zip(parts, found, strict=True)
        full = [creation.zeros_like(part) if g is None else g for part, g in rows]
        return nest.pack_sequence_as(source, full, expand_composites=True)
    gradient = next(given)
    if gradient is None:
        return None
    if is_sparse(source):
        return source.with_values(gradient)
    return source.with_flat_values(gradient) if is_ragged(source) else gradient
