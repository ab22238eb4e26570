"""When convolutions of filters that never change are quicker at the points of Winograd's algorithm.

``kernels/winograd.c`` computes tiles of results there. Other filters are brought there in every
call, and the kernel counts what that costs; these are there already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tfx.graph.ir import Node, Value
from tfx.kernels.library import usable_library

_FLOAT = 1
# Along an axis of a tile.
POINTS = 6
# Measured in products: what a number at a point costs beside them, in what is seen and in results,
# and what a number of the filter costs, which is read once for all tiles of an image at least.
_EACH_PRODUCT, _EACH_NUMBER, _EACH_WEIGHT = 1.25, 20, 15
# What it costs to bring a number from one order of channels to the other.
_EACH_MOVED = 60
# Vectors of channels; and what is more takes more memory than what else a network needs for it.
_VECTOR, _FEWEST_CHANNELS, _MOST_CHANNELS, _MOST_WEIGHTS = 8, 16, 1 << 10, 1 << 14


class Sizes(NamedTuple):
    """Of a convolution: of its window, its filter, and the image that it makes."""

    taps: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    channels: int
    filters: int
    places: tuple[int, ...]

    def products(self) -> int:
        """Of one image, as sums of products."""
        return math.prod(self.places) * math.prod(self.taps) * self.channels * self.filters

    def numbers(self) -> int:
        """Of an image, about, and of what is made of it."""
        return math.prod(self.places) * (self.channels + self.filters)

    def products_at_points(self) -> float | None:
        """What computing it at points costs, in products; None where that is not possible."""
        taps, (c, f) = self.taps[0], (self.channels, self.filters)
        moves = {*self.strides, *self.dilations} == {1}
        if (
            not moves
            or taps not in (3, 5)
            or self.taps != (taps, taps)
            or c % _VECTOR
            or f % _VECTOR
        ):
            return None
        if min(c, f) < _FEWEST_CHANNELS or max(c, f) > _MOST_CHANNELS or c * f > _MOST_WEIGHTS:
            return None
        side = POINTS + 1 - taps
        tiles = math.prod(-(-count // side) for count in self.places)
        of_tiles = tiles * (_EACH_PRODUCT * c * f + _EACH_NUMBER * (c + f))
        return POINTS**2 * (of_tiles + _EACH_WEIGHT * c * f)

    def saved_at_points(self) -> float:
        """Products that are not needed at points: 0 where sums of products are quicker."""
        there = self.products_at_points()
        return 0.0 if there is None else max(0.0, self.products() - there)


def gains_at_points(node: Node) -> bool:
    """True if a convolution whose filter never changes is quicker by our kernels than in blocks.

    Its image comes out of ONNX Runtime's blocks of channels, and its result goes back to them.
    """
    library = usable_library(True)
    sizes = _sizes(node) if library is not None and library.product_width else None
    return sizes is not None and sizes.saved_at_points() > _EACH_MOVED * sizes.numbers()


def _is_image(value: Value) -> bool:
    return value.dtype == _FLOAT and value.shape is not None and len(value.shape) == 4


def _sizes(node: Node) -> Sizes | None:
    """Of a convolution of images; None where they are not known, or there are groups."""
    image, w = node.outputs[0], node.inputs[1]
    if w is None or node.attrs.get("group", 1) != 1 or not _is_image(image):
        return None
    filter_sizes, places = _known(w.shape or ()), _known((image.shape or ())[2:])
    if filter_sizes is None or places is None or len(filter_sizes) != 4:
        return None
    filters, channels, *taps = filter_sizes
    strides, dilations = (node.attrs.get(name, (1, 1)) for name in ("strides", "dilations"))
    return Sizes(tuple(taps), tuple(strides), tuple(dilations), channels, filters, tuple(places))


def _known(shape: Sequence[object]) -> list[int] | None:
    known = [size for size in shape if isinstance(size, int)]
    return known if len(known) == len(shape) else None
