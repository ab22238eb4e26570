"""CUDA graphs: the kernels of a session, launched as one.

ONNX Runtime captures a session's kernels during a run and replays them with the addresses that they
had. So inputs are copied into buffers that stay, results are copied out of such buffers, and there
is one captured graph for each combination of input shapes. Whatever cannot be captured runs as an
ordinary session: a model that ONNX Runtime refuses, inputs that kernels read on the host (their
contents would be frozen into the graph), too many shapes, and any failure.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.runtime import interrupts, values
from tfx.runtime.io_binding import BoundRunner
from tfx.runtime.options import RUN_OPTIONS, new_run_options
from tfx.runtime.values import RawValue

# Option of the CUDA provider.
ENABLE = {"enable_cuda_graph": "1"}
_GRAPH = "gpu_graph_id"
_WITHOUT = "-1"  # the graph id that means: neither capture nor replay
# Graphs hold their buffers forever: few shapes only.
MAX_GRAPHS = 4
# Calls with one combination of shapes before it is captured.
_WARM_CALLS = 2
_log = logging.getLogger("tfx")
# What ``RUN_OPTIONS`` is for other sessions.
_RUN_OPTIONS = interrupts.share(new_run_options())
_RUN_OPTIONS.add_run_config_entry(_GRAPH, _WITHOUT)


def can_be_captured(inference: Any) -> bool:
    """True if a session's inputs and outputs are all tensors in the GPU's memory.

    Args:
        inference: ONNX Runtime's ``InferenceSession``.
    """
    places = [*inference.get_input_memory_infos(), *inference.get_output_memory_infos()]
    kinds = [*inference.get_inputs(), *inference.get_outputs()]
    on_gpu = all(str(p.name).lower() == "cuda" for p in places)
    return on_gpu and all(k.type.startswith("tensor(") and "string" not in k.type for k in kinds)


class _Captured:
    """One captured graph with its buffers."""

    def __init__(
        self,
        handle: Any,
        number: int,
        feeds: dict[str, RawValue],
        outputs: list[str],
        results: Sequence[RawValue],
        device: str,
    ) -> None:
        self._handle = handle
        self._options = new_run_options()
        self._options.add_run_config_entry(_GRAPH, str(number))
        inputs = {name: _buffer(value, device) for name, value in feeds.items()}
        self._outputs = [_buffer(value, device) for value in results]
        self._binding = _ort.SessionIOBinding(handle)
        for name, buffer in inputs.items():
            self._binding.bind_ortvalue_input(name, buffer)
        for name, buffer in zip(outputs, self._outputs, strict=True):
            self._binding.bind_ortvalue_output(name, buffer)
        self._inputs = list(inputs.items())
        self._into = values.RepeatedCopies(list(inputs.values()), device)
        self._made = [(v.shape(), v.element_type()) for v in self._outputs]
        self._out_of = values.RepeatedCopies(self._outputs, device)
        self._device = device

    def run(self, feeds: dict[str, RawValue]) -> list[RawValue]:
        """Replay (the first time: capture) and copy the results out."""
        self._into.run([v for _, v in self._inputs], [feeds[name] for name, _ in self._inputs])
        self._handle.run_with_iobinding(self._binding, self._options)
        results = [values.empty(shape, kind, self._device) for shape, kind in self._made]
        self._out_of.run(results, self._outputs)
        return results


def _buffer(value: RawValue, device: str) -> RawValue:
    """Memory on a device for values of this shape and type."""
    return values.empty(value.shape(), value.element_type(), device)


class CapturingRunner:
    """Runs a session whose provider may capture; has the face of ``session.Runner``.

    Args:
        inference: ONNX Runtime's ``InferenceSession``, made with ``ENABLE``.
        memory: ONNX Runtime's name of the device's memory.
        device: Canonical name of the device.
        plain: Makes an ordinary session and returns its runner, for when capturing fails.
    """

    __slots__ = (
        "_calls",
        "_device",
        "_graphs",
        "_handle",
        "_lock",
        "_memory",
        "_ordinary",
        "_plain",
        "_without",
    )

    def __init__(self, inference: Any, memory: Any, device: str, plain: Callable[[], Any]) -> None:
        self._handle = inference._sess
        self._memory = memory
        self._device = device
        self._plain = plain
        self._ordinary: Any = None
        self._without = BoundRunner(inference, memory)
        self._graphs: dict[Any, _Captured] = {}
        self._calls: dict[Any, int] = {}
        self._lock = threading.Lock()  # a graph's buffers serve one call at a time

    def __call__(
        self, feeds: dict[str, RawValue], outputs: list[str], options: Any
    ) -> Sequence[RawValue]:
        """Run once; the arguments are those of a session's call."""
        if self._ordinary is not None:
            found: Sequence[RawValue] = self._ordinary(feeds, outputs, options)
            return found
        with self._lock:
            key = (tuple(outputs), *[(name, *v.shape()) for name, v in feeds.items()])
            graph = self._graphs.get(key)
            if graph is None:
                return self._run_first(key, feeds, outputs, options)
            return graph.run(feeds)

    def captured(self) -> int:
        """The number of captured graphs."""
        return len(self._graphs)

    def _run_first(
        self, key: Any, feeds: dict[str, RawValue], outputs: list[str], options: Any
    ) -> Sequence[RawValue]:
        """A call of shapes that have no graph; it may get one."""
        results = self._uncaptured(feeds, outputs, options)
        calls = self._calls[key] = self._calls.get(key, 0) + 1
        if calls < _WARM_CALLS or len(self._graphs) >= MAX_GRAPHS:
            return results
        number = len(self._graphs) + 1
        try:
            graph = _Captured(self._handle, number, feeds, outputs, results, self._device)
            found = graph.run(feeds)
        except Exception as e:
            # Such as a kernel that waits for the device; the session may be of no use any more.
            _log.info("a CUDA graph could not be captured, running without: %s", e)
            self._ordinary = self._plain()
            return results
        self._graphs[key] = graph
        return found

    def _uncaptured(
        self, feeds: dict[str, RawValue], outputs: list[str], options: Any
    ) -> Sequence[RawValue]:
        # The usual options are shared with sessions that know no graphs; others are of this call.
        if options is RUN_OPTIONS:
            options = _RUN_OPTIONS
        else:
            options.add_run_config_entry(_GRAPH, _WITHOUT)
        return self._without(feeds, outputs, options)
