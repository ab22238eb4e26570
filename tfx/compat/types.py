"""Groups of Python's and NumPy's types, and what a program may ask of the future."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether readers of a graph need not be older than a date: they bring an opset, not a date.

    Args:
        year: Of the date from which on readers know what is to be written.
        month: Its month, 1 to 12.
        day: Its day, 1 to 31.

    Example:
        >>> import tfx as tf
        >>> tf.compat.forward_compatible(2019, 1, 1)
        True
    """
    return True


@contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A block that is written for readers up to a date, which changes nothing here.

    Args:
        year: As in ``forward_compatible``.
        month: As there.
        day: As there.
    """
    yield
