"""Tags of nodes: typed notes that one layer leaves on a node for another to find again.

A tag is a ``Mark``, which says one thing and is written to models by its value, or an object of
one of the other subclasses of ``Tag``, which stand with what they are about: ``CustomGradient``,
``Assigned``, ``Packed``... Passes leave the meaning of a node with a tag alone.
"""

from __future__ import annotations

import enum


class Tag:
    """A note on a node beside its operator, inputs and attributes."""

    __slots__ = ()


class Mark(Tag, enum.Enum):
    """A tag without contents. Models keep the values as metadata: they never change."""

    # No gradient flows through the node.
    STOP_GRADIENT = "stop_gradient"
    # It stands for a function with a gradient of its own that was not saved.
    GRADIENT_NOT_SAVED = "gradient_not_saved"
    # Its result is 0, but not before its inputs are there.
    BARRIER = "later"
    # It writes an element of a tensor array.
    ARRAY_WRITE = "tensor array write"
    # It puts a value of this iteration into a sequence, for the gradient.
    RESIDUAL = "saved"
    # It numbers the iterations of a backward loop: from the last one down to 0.
    COUNTS_DOWN = "counts down"
    # Its integers are not 0, and not -1 where the smallest number would be divided.
    SAFE_DIVISOR = "safe divisor"
    # It belongs to a reduction that is accurate already, is only run where it is short, or is only
    # asked whether it is NaN.
    PART_OF_SUM = "part of a sum"
    # It is a range that begins at 0.
    FROM_ZERO = "from zero"
    # It is only run for inputs that have elements.
    NOT_EMPTY = "asked"
    # It is between a transposition and a product, which must not become one where they are empty.
    KEPT_APART = "kept apart"
    # It joins pieces whose sizes were compared.
    COMPARED = "compared"
    # It is an extreme of numbers without NaN, or NaN is handled elsewhere.
    WITHOUT_NAN = "without nan"


_MARKS = {mark.value: mark for mark in Mark}


def mark_from_text(text: str) -> Mark | None:
    """The mark that a model keeps as a text; None: this version does not know it."""
    return _MARKS.get(text)
