"""Inputs that are made up for a signature: always the same ones, in ranges that most models take.

Owns the choice of sizes for dimensions that are open and of values for each dtype. Must not call
anything. The one decision: nobody knows what a model takes, so there is a list of candidates, the
likeliest first, and the caller takes the first one that the model does not refuse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tfx.bundle.python_values import Shape, TensorInfo
from tfx.core import dtypes
from tfx.loaders.signature import SignatureInfo

Values = Literal["plain", "positive", "ones"]
Sizes = tuple[int, int]
Arrays = dict[str, npt.NDArray[Any]]

# Size of open first dimensions (a batch, mostly), and of others. A convolution or a pool needs more
# than a few elements, some models a multiple of 32, and a reshape one of whatever.
_FIRST: tuple[Sizes, ...] = (
    (2, 3),
    (2, 8),
    (2, 16),
    (2, 32),
    (2, 64),
    (2, 224),
    (1, 1),
    (2, 2),
    (420, 420),
)
_SECOND: tuple[Sizes, ...] = (
    (3, 4),
    (3, 12),
    (3, 24),
    (3, 64),
    (3, 96),
    (3, 256),
    (4, 4),
    (3, 3),
    (1, 2),
    (1, 1),
    (840, 840),
)
_VALUES: tuple[Values, ...] = ("plain", "positive", "ones")
# Of an input of unknown rank.
_ANY_RANK: Shape = (None, None)


def is_open(info: SignatureInfo) -> bool:
    """True if some dimension of the inputs may have several sizes."""
    return any(
        item.shape is None or any(not isinstance(dim, int) for dim in item.shape)
        for item in info.inputs.values()
    )


def candidates(info: SignatureInfo, number: int, most_bytes: int) -> Iterator[Arrays]:
    """Inputs of a signature, the likeliest first.

    Args:
        info: The signature.
        number: 0 for a first set of sizes, 1 for a second one that is different; more for other
            values with the first sizes.
        most_bytes: Candidates that are larger are left out.

    Yields:
        An array for each input, by name.
    """
    for values in _VALUES:
        for sizes in (_SECOND if number == 1 else _FIRST) if is_open(info) else _FIRST[:1]:
            shapes = {name: sized(item, sizes) for name, item in info.inputs.items()}
            bits = {n: np.dtype(_numpy(info.inputs[n])).itemsize for n in shapes}
            if sum(bits[n] * int(np.prod(s, dtype=np.int64)) for n, s in shapes.items()) > (
                most_bytes
            ):
                continue
            yield {name: _values(info, name, shapes[name], values, number) for name in info.inputs}


def sized(item: TensorInfo, sizes: Sizes) -> tuple[int, ...]:
    """A shape with its open dimensions closed."""
    dims = _ANY_RANK if item.shape is None else item.shape
    return tuple(
        dim if isinstance(dim, int) else sizes[0 if axis == 0 else 1]
        for axis, dim in enumerate(dims or ())
    )


def open_sizes(info: SignatureInfo, inputs: Mapping[str, npt.NDArray[Any]]) -> set[Any]:
    """The sizes that inputs give to open dimensions: pairs of input and axis, and the size."""
    found = set()
    for name, item in info.inputs.items():
        shape = inputs[name].shape
        if item.shape is None:
            found.add((name, -1, shape))
            continue
        for axis, dim in enumerate(item.shape):
            if not isinstance(dim, int):
                found.add((name, axis, shape[axis]))
    return found


def _numpy(item: TensorInfo) -> Any:
    return dtypes.as_dtype(item.dtype).numpy_dtype


def _values(
    info: SignatureInfo, name: str, shape: tuple[int, ...], values: Values, number: int
) -> npt.NDArray[Any]:
    kind = dtypes.as_dtype(info.inputs[name].dtype)
    seed = hashlib.sha256(f"{info.name}\0{name}\0{number}".encode()).digest()
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(seed[:8], "little")))
    if kind is dtypes.string:
        return _strings(rng, shape, values)
    if values == "ones":
        return np.asarray(np.ones(shape).astype(kind.numpy_dtype))
    if kind.is_bool:
        return np.asarray(rng.integers(0, 2, shape), np.bool_)
    if kind.is_integer:
        # Small enough to be an index or a label of most models.
        top = 256 if kind is dtypes.uint8 and values == "plain" else 2
        return np.asarray(rng.integers(0, top, shape).astype(kind.numpy_dtype))
    low = -1.0 if values == "plain" else 0.125
    array = rng.uniform(low, 1.0, shape)
    if kind.is_complex:
        array = array + 1j * rng.uniform(low, 1.0, shape)
    return np.asarray(array.astype(kind.numpy_dtype))


def _strings(rng: np.random.Generator, shape: tuple[int, ...], values: Values) -> npt.NDArray[Any]:
    texts = ("one", "two words", "", "zwölf") if values == "plain" else ("1", "2", "3", "4")
    array = np.empty(shape, object)
    chosen = rng.integers(0, len(texts), shape)
    for place in np.ndindex(*shape):
        array[place] = texts[int(chosen[place])]
    return array
