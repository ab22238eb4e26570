"""``PairCall``: where complex numbers become pairs of real ones, or pairs complex numbers.

A complex tensor and the real one of its parts, with a last axis of 2, are the same bytes. No kernel
of ONNX Runtime takes complex numbers, so operators compute with pairs, and the calls stand where a
value is seen as complex. Those that undo each other are taken out by ``passes/join_pairs.py``; what
is left is at the ends of a graph, where Python looks at the bytes in the other way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.graph.ir import HOST, HostCall, Node, Value

COMPLEX64, COMPLEX128 = 14, 15
_FLOAT32, _FLOAT64 = 1, 11


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class PairCall(HostCall):
    """One of the two views.

    Attributes:
        joins: Whether it makes complex numbers of pairs; else pairs of complex numbers.
    """

    joins: bool = False


# By ``joins``, the two that there are; they are made where eager tensors are known.
CALLS: dict[bool, PairCall] = {}


def makes_complex(node: Node) -> bool:
    """True if a node makes complex numbers of pairs."""
    call = node.attrs["call"] if node.op == HOST else None
    return isinstance(call, PairCall) and call.joins


def makes_parts(node: Node) -> bool:
    """True if a node makes pairs of complex numbers."""
    call = node.attrs["call"] if node.op == HOST else None
    return isinstance(call, PairCall) and not call.joins


def is_complex(value: Value | None) -> bool:
    """True if a value is made of complex numbers."""
    return value is not None and value.dtype in (COMPLEX64, COMPLEX128)


def real_code(code: int) -> int:
    """ONNX's code of the dtype that the parts of a complex one have."""
    return _FLOAT32 if code == COMPLEX64 else _FLOAT64


def parts_of_array(z: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same memory as pairs of real numbers."""
    real = np.float32 if z.dtype == np.complex64 else np.float64
    flat: npt.NDArray[Any] = np.ascontiguousarray(z).reshape(-1).view(real)
    return flat.reshape(*z.shape, 2)


def joined_array(pairs: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same memory as complex numbers."""
    whole = np.complex64 if pairs.dtype == np.float32 else np.complex128
    flat: npt.NDArray[Any] = np.ascontiguousarray(pairs).reshape(-1).view(whole)
    return flat.reshape(pairs.shape[:-1])
