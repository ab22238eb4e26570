"""Sessions through IO binding: results stay on the device that computed them.

ONNX Runtime's plain call copies every result to the host. Here inputs are bound where they are
(ONNX Runtime copies what a session wants elsewhere) and results are bound to a device. Each call
has a binding of its own: the values that one gives out are views of it, which its next run changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.runtime.values import CPU_DEVICE, RawValue

_STRINGS = "tensor(string)"


class BoundRunner:
    """Runs a session with its results bound to a device; has the face of ``session.Runner``.

    Args:
        inference: ONNX Runtime's ``InferenceSession``.
        device: ONNX Runtime's name of the memory for results; strings are always on the host.
    """

    __slots__ = ("_device", "_handle", "_on_host")

    def __init__(self, inference: Any, device: Any) -> None:
        self._handle = inference._sess
        self._device = device
        self._on_host = frozenset(o.name for o in inference.get_outputs() if o.type == _STRINGS)

    def __call__(
        self, feeds: dict[str, RawValue], outputs: list[str], options: Any
    ) -> Sequence[RawValue]:
        """Run once.

        Args:
            feeds: A value for each input, on any device.
            outputs: Names of the wanted outputs.
            options: ONNX Runtime's run options.
        """
        binding = _ort.SessionIOBinding(self._handle)
        for name, value in feeds.items():
            binding.bind_ortvalue_input(name, value)
        on_host = self._on_host
        for name in outputs:
            binding.bind_output(name, CPU_DEVICE if name in on_host else self._device)
        self._handle.run_with_iobinding(binding, options)
        # Results keep the binding alive, which must not keep the inputs.
        binding.clear_binding_inputs()
        found = binding.get_outputs()
        return [found[i] for i in range(len(outputs))]
