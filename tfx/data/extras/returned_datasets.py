"""Datasets that traced functions return, or hand to other functions: made when the graph runs.

A dataset that depends on tensors of a function exists only while that runs. In the graph it is a
number, as every dataset is there; a host call makes the dataset and gives the number out.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tfx.core import dtypes
from tfx.core.nest_kinds import Kind
from tfx.data.nodes import Node, bound, handle_of, symbols
from tfx.framework.host_call import host_call
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.graph.ir import HostCall

# How many datasets are kept that nobody has asked for yet.
_MOST_KEPT = 256
_kept: OrderedDict[int, Node] = OrderedDict()
_lock = threading.Lock()


def traced_number(node: Node) -> Tensor:
    """The number of a dataset that a host call makes of the values of its symbolic tensors."""

    def run(given: Sequence[Any]) -> list[EagerTensor]:
        made = bound(node, iter(given))
        number = handle_of(made)
        with _lock:
            _kept[number] = made
            _kept.move_to_end(number)
            while len(_kept) > _MOST_KEPT:
                _kept.popitem(last=False)
        return [from_array(np.array(number, np.int64))]

    call = HostCall("make_dataset", run, effect=True, portable=False)
    found: Tensor = host_call(call, symbols(node), [(dtypes.int64, ())])[0]
    return found


class ReturnedDataset:
    """A dataset among the results of a trace: its number is a result, all else is known.

    Args:
        number: The number, a tensor.
        spec: What the result is described by.
        make: Makes the dataset that a call returns of its number.
        is_finished: Whether it is the trace's result, and calls make theirs like it.
    """

    __slots__ = ("_is_finished", "_make", "_number", "_spec")

    def __init__(
        self, number: Tensor, spec: Any, make: Callable[[Tensor], Any], is_finished: bool = False
    ) -> None:
        self._number = number
        self._spec = spec
        self._make = make
        self._is_finished = is_finished

    def _with(self, number: Any) -> Any:
        if not isinstance(number, Tensor):
            return self._spec  # calls are described, none is made
        if self._is_finished:
            return self._make(number)
        return ReturnedDataset(number, self._spec, self._make, True)

    _tfx_expanded_kind: Final = Kind(
        lambda x: ["dataset"],
        lambda x: [x._number],
        lambda like, values: like._with(values[0]),
    )


def claim(handle: EagerTensor) -> None:
    """Keep a dataset no longer: who has its number holds it now."""
    with _lock:
        _kept.pop(int(handle.numpy()), None)
