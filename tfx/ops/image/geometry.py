"""``tfx.image``: turning, cropping and padding, and patches."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.guards import not_negative, refused_unless
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.array.concat import stack
from tfx.ops.array.gather import gather
from tfx.ops.array.pad import pad
from tfx.ops.array.transpose import reverse
from tfx.ops.array.transpose import transpose as transpose_
from tfx.ops.array.where import where
from tfx.ops.common.arguments import cast_to, int64_vector, static_int, static_ints, tensor
from tfx.ops.common.open_ranks import of_rank, over_batches, rank_is_open
from tfx.ops.common.shapes import dimension, shape_vector, symbolic_items
from tfx.ops.nn.morphology import windows_of
from tfx.ops.random.random import uniform


def as_image(image: Any) -> tuple[Tensor, int]:
    """An image or a batch of images, and the axis of the rows.

    Raises:
        ValueError: neither three nor four axes.
    """
    x = tensor(image)
    if x.shape.rank not in (3, 4):
        raise InvalidArgumentError(
            f"'image' (shape {x.shape}) must have either 3 or 4 dimensions: [height, width, "
            "channels], or a batch of them."
        )
    return x, x.shape.rank - 3


def _each(function: Callable[[Tensor], Tensor], image: Any) -> Tensor:
    """What a function of batches gives for an image or a batch, which only a run tells."""
    found: Tensor = over_batches(function, (image, 3))
    return found


def flip_left_right(image: Any) -> Tensor:
    """Images mirrored: the first column becomes the last.

    Args:
        image: ``[height, width, channels]`` or a batch of them.

    Raises:
        ValueError: another rank.

    Example:
        >>> import tfx as tf
        >>> tf.image.flip_left_right([[[1], [2]]]).numpy().ravel()
        array([2, 1], dtype=int32)
    """
    if rank_is_open(image):
        return _each(flip_left_right, image)
    x, top = as_image(image)
    return reverse(x, [top + 1])


def flip_up_down(image: Any) -> Tensor:
    """Images upside down; see ``flip_left_right``."""
    if rank_is_open(image):
        return _each(flip_up_down, image)
    x, top = as_image(image)
    return reverse(x, [top])


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Mirror each image with probability 1/2; see ``flip_left_right``."""
    if rank_is_open(image):
        return _each(lambda x: random_flip_left_right(x, seed), image)
    x, top = as_image(image)
    return _by_chance(x, reverse(x, [top + 1]), top, seed)


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Flip each image vertically with probability 1/2; see ``flip_left_right``."""
    if rank_is_open(image):
        return _each(lambda x: random_flip_up_down(x, seed), image)
    x, top = as_image(image)
    return _by_chance(x, reverse(x, [top]), top, seed)


def _by_chance(x: Tensor, turned: Tensor, lead: int, seed: int | None) -> Tensor:
    count = ox.Shape(x, end=lead)
    ones = int64_constant([1, 1, 1])
    chance = uniform(ox.Concat(count, ones, axis=0), seed=seed)
    return where(chance < 0.5, turned, x)


def transpose(image: Any, name: str | None = None) -> Tensor:
    """Rows as columns; see ``flip_left_right``."""
    if rank_is_open(image):
        return _each(transpose, image)
    x, top = as_image(image)
    return transpose_(x, [*range(top), top + 1, top, top + 2])


def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """Images turned by 90 degrees counter-clockwise, ``k`` times.

    Args:
        image: ``[height, width, channels]`` or a batch of them.
        k: How often; a Python integer.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.image.rot90([[[1], [2]]]).numpy().ravel()
        array([2, 1], dtype=int32)
    """
    if rank_is_open(image):
        return _each(lambda x: rot90(x, k), image)
    x, top = as_image(image)
    times = int(k) % 4
    if times == 0:
        return x
    if times == 2:
        return reverse(x, [top, top + 1])
    turned = transpose(x)
    return reverse(turned, [top if times == 1 else top + 1])


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of images.

    Args:
        image: ``[height, width, channels]`` or a batch of them.
        central_fraction: The part of each side that is kept, in ``(0, 1]``.

    Raises:
        ValueError: another fraction or rank.

    Example:
        >>> import tfx as tf
        >>> tf.image.central_crop(tf.zeros([8, 8, 3]), 0.5).shape
        TensorShape([4, 4, 3])
    """
    x, top = as_image(image)
    part = float(central_fraction)
    if not 0.0 < part <= 1.0:
        raise InvalidArgumentError(
            f"central_fraction must be within (0, 1]; got {central_fraction!r}."
        )
    if part == 1.0:
        return x
    if None in x.shape[top : top + 2].as_list():
        return _late_middle(x, top, part)
    sides = known_sides(x, top)
    starts = [int((side - side * part) / 2) for side in sides]
    sizes = [side - 2 * start for side, start in zip(sides, starts, strict=True)]
    return _cut(x, top, starts, sizes)


def _late_middle(x: Tensor, top: int, part: float) -> Tensor:
    sides = shape_vector(x, top, top + 2)
    exact = cast_to(sides, dtypes.float64)
    starts = cast_to((exact - exact * part) / 2.0, dtypes.int64)
    return _rectangle(x, top, starts, sides - starts * int64_constant(2))


def known_sides(x: Tensor, top: int) -> list[int]:
    """Height and width of images, which must be known now."""
    found = x.shape[top : top + 2].as_list()
    if None in found:
        raise InvalidArgumentError(
            f"The height and width of the image must be known while a function is traced; got "
            f"shape {x.shape}. Give them in the input_signature, or call set_shape."
        )
    return [size for size in found if size is not None]


def _cut(x: Tensor, top: int, starts: list[int], sizes: list[int]) -> Tensor:
    ends = [a + b for a, b in zip(starts, sizes, strict=True)]
    axes = int64_constant([top, top + 1])
    return ox.Slice(x, int64_constant(starts), int64_constant(ends), axes)


def _rectangle(x: Tensor, top: int, starts: Tensor, sizes: Tensor) -> Tensor:
    """Return a part of images whose position, or existence, is known at run time only."""
    room = shape_vector(x, top, top + 2) - starts - sizes
    inside = not_negative(ox.Concat(starts, room, sizes, axis=0))
    starts = refused_unless(inside, starts, Refusal.SLICED)
    axes = int64_constant([top, top + 1])
    found = ox.Slice(x, starts, starts + sizes, axes)
    return _sized(found, top, sizes)


def _sized(x: Tensor, top: int, sizes: Tensor) -> Tensor:
    """Images whose height and width are as much known as the vector of the two is."""
    known = symbolic_items(sizes)
    if known is not None and isinstance(x, SymbolicTensor):
        sides = [d if isinstance(d, int) else None for d in known]
        x.set_shape([*[None] * top, *sides, None])
    return x


def _pair(first: Any, second: Any) -> tuple[Tensor, list[int] | None]:
    """Two numbers, of rows and columns, as a vector; and as integers if both are known now."""
    both = [cast_to(tensor(g), dtypes.int64) for g in (first, second)]
    found = [static_int(g) for g in both]
    vector = int64_vector([g if n is None else n for g, n in zip(both, found, strict=True)])
    known = [n for n in found if n is not None]
    return vector, known if len(known) == 2 else None


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """A rectangle of images.

    Args:
        image: ``[height, width, channels]`` or a batch of them.
        offset_height: The first row.
        offset_width: The first column.
        target_height: How many rows.
        target_width: How many columns.

    Raises:
        ValueError: a rectangle that is not within the image, or another rank.

    Example:
        >>> import tfx as tf
        >>> tf.image.crop_to_bounding_box(tf.zeros([8, 8, 3]), 1, 2, 4, 3).shape
        TensorShape([4, 3, 3])
    """
    x, top = as_image(of_rank(tensor(image), 3))
    late_starts, starts = _pair(offset_height, offset_width)
    late_sizes, sizes = _pair(target_height, target_width)
    if starts is None or sizes is None:
        return _rectangle(x, top, late_starts, late_sizes)
    sides = x.shape[top : top + 2].as_list()
    for what, start, size, side in zip(("height", "width"), starts, sizes, sides, strict=True):
        if start < 0 or size <= 0 or (side is not None and start + size > side):
            raise InvalidArgumentError(
                f"{what} must be >= target + offset, offset >= 0 and target > 0; got offset {start}"
                f" and target {size} for an image of shape {x.shape}."
            )
    if None in sides:
        return _rectangle(x, top, late_starts, late_sizes)
    return _cut(x, top, starts, sizes)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Images in a rectangle of zeros.

    Args:
        image: ``[height, width, channels]`` or a batch of them.
        offset_height: Rows of zeros above.
        offset_width: Columns of zeros on the left.
        target_height: Rows of the result.
        target_width: Columns of the result.

    Raises:
        ValueError: a target that is too small, or another rank.

    Example:
        >>> import tfx as tf
        >>> tf.image.pad_to_bounding_box(tf.ones([2, 2, 1]), 1, 0, 3, 4).shape
        TensorShape([3, 4, 1])
    """
    x, top = as_image(of_rank(tensor(image), 3))
    late_front, front = _pair(offset_height, offset_width)
    late_targets, targets = _pair(target_height, target_width)
    if front is None or targets is None or None in x.shape[top : top + 2].as_list():
        late = late_targets - late_front - shape_vector(x, top, top + 2)
        rows = ox.Transpose(stack([late_front, late]), perm=(1, 0))
        whole = embed(np.zeros([1, 2], np.int64))
        paddings = ox.Concat(*[whole] * top, rows, whole, axis=0)
        return _sized(pad(x, paddings), top, late_targets)
    sides = known_sides(x, top)
    behind = [t - o - s for t, o, s in zip(targets, front, sides, strict=True)]
    if min(behind) < 0 or min(front) < 0:
        raise InvalidArgumentError(
            f"target must be >= side + offset and offset >= 0; got offsets {front} and target "
            f"{targets} for an image of shape {x.shape}."
        )
    around = [[a, b] for a, b in zip(front, behind, strict=True)]
    return pad(x, [[0, 0]] * top + around + [[0, 0]])


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Images cut to a size around their middle, or with zeros around them.

    Args:
        image: ``[height, width, channels]`` or a batch of them.
        target_height: Rows of the result.
        target_width: Columns of the result.

    Raises:
        ValueError: a size below 1, or another rank.

    Example:
        >>> import tfx as tf
        >>> tf.image.resize_with_crop_or_pad(tf.ones([2, 8, 1]), 4, 4).shape
        TensorShape([4, 4, 1])
    """
    x, top = as_image(of_rank(tensor(image), 3))
    late_targets, targets = _pair(target_height, target_width)
    if targets is not None and min(targets) < 1:
        raise InvalidArgumentError(f"target_height and target_width must be > 0; got {targets}.")
    if targets is None or None in x.shape[top : top + 2].as_list():
        return _late_crop_or_pad(x, top, late_targets)
    sides = known_sides(x, top)
    pairs = list(zip(sides, targets, strict=True))
    starts = [max(s - t, 0) // 2 for s, t in pairs]
    x = _cut(x, top, starts, [min(s, t) for s, t in pairs])
    return pad_to_bounding_box(x, *[max(t - s, 0) // 2 for s, t in pairs], *targets)


def _late_crop_or_pad(x: Tensor, top: int, targets: Tensor) -> Tensor:
    sides, none = shape_vector(x, top, top + 2), int64_constant(0)
    two = int64_constant(2)
    starts = ox.Div(ox.Max(sides - targets, none), two)
    x = _rectangle(x, top, starts, ox.Min(sides, targets))
    front = ox.Div(ox.Max(targets - sides, none), two)
    given = [ox.Gather(v, int64_constant(i)) for v in (front, targets) for i in (0, 1)]
    return _sized(pad_to_bounding_box(x, *given), top, targets)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A part of a tensor at a random place.

    Args:
        value: Tensor.
        size: The size of the part along each axis, as Python integers.
        seed: Seed of the place; see ``tfx.random.set_seed``.
        name: Accepted for compatibility.

    Raises:
        ValueError: a part that is larger than the tensor.

    Example:
        >>> import tfx as tf
        >>> tf.image.random_crop(tf.zeros([8, 8, 3]), [4, 4, 3]).shape
        TensorShape([4, 4, 3])
    """
    x = tensor(value)
    wanted = static_ints(cast_to(tensor(size), dtypes.int64))
    if wanted is None or len(wanted) != (x.shape.rank or len(wanted)):
        raise InvalidArgumentError(
            f"size must name each axis of {x.shape} and be known now; got {size!r}."
        )
    for have, part in zip(x.shape.as_list(), wanted, strict=True):
        if have is not None and part > have:
            raise InvalidArgumentError(
                f"Need value.shape >= size, got {x.shape.as_list()} and {wanted}."
            )
    room = ox.Shape(x) - int64_constant(wanted) + int64_constant([1] * len(wanted))
    chance = uniform([len(wanted)], dtype=dtypes.float64, seed=seed)
    starts = cast_to(ox.Floor(chance * cast_to(room, dtypes.float64)), dtypes.int64)
    ends = starts + int64_constant(wanted)
    part_of = ox.Slice(x, starts, ends, int64_constant(range(len(wanted))))
    if hasattr(part_of, "set_shape"):
        part_of.set_shape(wanted)
    return part_of


def _along_sides(given: Any, name: str) -> list[int]:
    """The two numbers for rows and columns of four, of which the outer ones are 1."""
    numbers = [operator.index(n) for n in given]
    if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
        raise InvalidArgumentError(
            f"{name} of extract_patches must be [1, rows, columns, 1] with numbers above 0; got "
            f"{given!r}.",
            op="ExtractImagePatches",
        )
    return numbers[1:3]


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Windows of images, one after the other, with their pixels along the last axis.

    Args:
        images: ``[batch, height, width, channels]``.
        sizes: ``[1, rows, columns, 1]``: the windows.
        strides: ``[1, rows, columns, 1]``: how far windows are apart.
        rates: ``[1, rows, columns, 1]``: how far the pixels of a window are apart.
        padding: ``"SAME"`` or ``"VALID"``.
        name: Accepted for compatibility.

    Returns:
        ``[batch, rows, columns, size * channels]``.

    Raises:
        ValueError: another rank or padding.

    Example:
        >>> import tfx as tf
        >>> one = [1, 1, 1, 1]
        >>> tf.image.extract_patches(tf.zeros([1, 4, 4, 2]), [1, 3, 3, 1], one, one, "SAME").shape
        TensorShape([1, 4, 4, 18])
    """
    x, top = as_image(of_rank(tensor(images), 4))
    if top != 1:
        raise InvalidArgumentError(
            f"extract_patches takes [batch, height, width, channels]; got {x.shape}."
        )
    window = _along_sides(sizes, "sizes")
    if not x.shape[1:].is_fully_defined():
        cut = windows_of(x, window, strides, rates, padding, 0, "ExtractImagePatches")
        return ox.Concat(*cut, axis=-1)
    if padding not in ("SAME", "VALID"):
        raise InvalidArgumentError(f"padding must be 'SAME' or 'VALID'; got {padding!r}.")
    around, indices = [], []
    given = {"sizes": sizes, "strides": strides, "rates": rates}
    steps = zip(*(_along_sides(value, name) for name, value in given.items()), strict=True)
    for side, (size, stride, rate) in zip(known_sides(x, 1), steps, strict=True):
        reach = (size - 1) * rate + 1
        count = -(-side // stride) if padding == "SAME" else (side - reach) // stride + 1
        missing = max((count - 1) * stride + reach - side, 0) if padding == "SAME" else 0
        around.append([missing // 2, missing - missing // 2])
        indices.append([[i * stride + j * rate for j in range(size)] for i in range(count)])
    wide = pad(x, [[0, 0], *around, [0, 0]])
    rows = gather(wide, indices[0], axis=1)
    both = gather(rows, indices[1], axis=3)
    # [batch, rows, y, columns, x, channels]
    found = transpose_(both, [0, 1, 3, 2, 4, 5])
    shape = [-1, len(indices[0]), len(indices[1])]
    depth = len(indices[0][0] if indices[0] else []) * len(indices[1][0] if indices[1] else [])
    channels = static_int(dimension(x, -1)) or 0
    made = ox.Reshape(found, int64_constant([*shape, depth * channels]))
    batch = x.shape[0]
    if batch is not None and hasattr(made, "set_shape"):
        made.set_shape([batch, *shape[1:], depth * channels])
    return made
