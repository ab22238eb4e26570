"""Golden examples: their file, what ties them to the variables, and when two results are close.

Owns the rules of SPEC.md 7.1 that need no runtime. Must not run anything. The one decision: an
example names the variables that it was made with by the hashes of their files, so a program that
knows nothing of examples may save a bundle with other variables, and nobody is misled.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.bundle.dtypes import from_numpy
from tfx.bundle.records import Example, Manifest
from tfx.core import dtypes

EXAMPLES_FILE = "examples.safetensors"
MAX_EXAMPLE_BYTES = 4 << 20
"""What a writer keeps all examples of a bundle below."""

TOLERANCE = 1e-4
_STEPS = 8


def variables_digest(manifest: Manifest) -> bytes:
    """Return a digest of the files that hold a bundle's variables, which ties examples to them.

    Args:
        manifest: The bundle's manifest.

    Returns:
        32 bytes, others as soon as a file that holds a variable has changed.
    """
    holding = {item.storage.file for item in manifest.variables}
    hashes = {item.path: item.sha256 for item in manifest.files if item.path in holding}
    return hashlib.sha256(b"".join(hashes[path] for path in sorted(hashes))).digest()


def is_current(example: Example, manifest: Manifest) -> bool:
    """True if an example was made with the variables that the bundle has now."""
    return example.variables_sha256 == variables_digest(manifest)


def is_finite(array: npt.NDArray[Any]) -> bool:
    """True if an array has no NaN and no infinity; what is no number is finite."""
    row = from_numpy(array.dtype)
    if row is None or not (
        dtypes.as_dtype(row.name).is_floating or dtypes.as_dtype(row.name).is_complex
    ):
        return True
    if array.dtype.kind not in "fc":
        array = array.astype(np.float32)
    return bool(np.isfinite(array).all())


def difference(found: npt.NDArray[Any], expected: npt.NDArray[Any], tolerance: float) -> str:
    """Describe how a result differs from the stored one.

    Args:
        found: What came.
        expected: What is stored.
        tolerance: Of the example.

    Returns:
        The difference in words; empty if there is none that counts.

    Example:
        >>> difference(np.float32([1, 2]), np.float32([1, 2.00001]), 1e-4)
        ''
        >>> difference(np.float32([1, 3]), np.float32([1, 2]), 1e-4)
        'differs by 1 at [1]: 3.0, expected 2.0'
    """
    if _name(found) != _name(expected):
        return f"is {_name(found)}, expected {_name(expected)}"
    if found.shape != expected.shape:
        return f"has the shape {list(found.shape)}, expected {list(expected.shape)}"
    row = from_numpy(expected.dtype)
    kind = dtypes.as_dtype("string" if row is None else row.name)
    if not (kind.is_floating or kind.is_complex):
        same = _texts(found) == _texts(expected)
        return "" if np.all(same) else _first(~np.asarray(same), found, expected, "")
    wide: type[Any] = np.complex128 if kind.is_complex else np.float64
    return _float_difference(found.astype(wide), expected.astype(wide), tolerance, kind)


def max_difference(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> float:
    """The largest absolute difference of two arrays of numbers of one shape.

    NaN counts as equal to NaN; a number beside NaN or another infinity is infinitely far.
    """
    if not expected.size:
        return 0.0
    if expected.dtype == object or expected.dtype.kind in "SUT":
        return float(np.any(_texts(found) != _texts(expected)))
    wide: type[Any] = np.complex128 if expected.dtype.kind == "c" else np.float64
    return float(_distances(found.astype(wide), expected.astype(wide)).max())


def _float_difference(
    found: npt.NDArray[Any], expected: npt.NDArray[Any], tolerance: float, kind: dtypes.DType
) -> str:
    if not expected.size:
        return ""
    epsilon = float(_epsilon(kind))
    finite = np.abs(expected[np.isfinite(expected)])
    limit = max(tolerance, _STEPS * epsilon) * max(1.0, float(finite.max(initial=0.0)))
    distances = _distances(found, expected)
    if distances.max() <= limit:
        return ""
    return _first(distances == distances.max(), found, expected, f" by {distances.max():.3g}")


def _epsilon(kind: dtypes.DType) -> float:
    if kind.is_complex:
        return float(np.finfo(kind.as_numpy_dtype).eps)
    return float(dtypes.finfo(kind).eps)


def _distances(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> npt.NDArray[Any]:
    with np.errstate(invalid="ignore"):
        distances = np.abs(found - expected)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(distances), np.inf, distances))


def _first(
    where: npt.NDArray[Any], found: npt.NDArray[Any], expected: npt.NDArray[Any], amount: str
) -> str:
    place = tuple(int(i) for i in np.argwhere(np.atleast_1d(where))[0]) if where.ndim else ()
    came, wanted = found[place], expected[place]
    return f"differs{amount} at {list(place)}: {came!s:.60}, expected {wanted!s:.60}"


def _name(array: npt.NDArray[Any]) -> str:
    row = from_numpy(array.dtype)
    return str(array.dtype) if row is None else row.name


def _texts(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Strings as bytes, whatever they came as; other arrays as they are."""
    if array.dtype != object and array.dtype.kind not in "SUT":
        return array
    flat = [
        item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogateescape")
        for item in array.reshape(-1).tolist()
    ]
    made = np.empty(len(flat), object)
    made[:] = flat
    return made.reshape(array.shape)
