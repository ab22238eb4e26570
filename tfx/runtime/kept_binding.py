"""An IO binding that is kept between calls: only inputs that changed are bound again.

ONNX Runtime looks every name up when it takes a dictionary of inputs, which costs 0.1 us for each.
A kept binding knows its inputs already: a call with 100 arguments of which most stay (parameters)
takes two thirds of the time.

It must not be noticed otherwise. A result that somebody holds is never written again: each run gets
outputs of its own. What stays alive with it are the last inputs, and with a result also the session
(results refer to the binding), so it is for small ones (``serves``), where the time of a call is
all in the call. A second thread, and calls whose inputs are all new, are sent another way.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.runtime.values import CPU_DEVICE, RawValue

# Fewer inputs are faster by name; of more outputs each costs more to bind than it saves.
_LEAST_INPUTS = 8
_MOST_OUTPUTS = 2
# What is kept alive must not be missed: inputs and model together, in bytes.
_MOST_BYTES = 1 << 20
# Calls that go by name after one in which most inputs were new: binding them all is no faster.
_REST = 15


def serves(input_bytes: Sequence[int | None], outputs: int, model_bytes: int) -> bool:
    """True if a kept binding is faster and harmless.

    Args:
        input_bytes: Size of each input, None where only a call tells.
        outputs: How many outputs there are.
        model_bytes: Size of the model with its constants.
    """
    known = [n for n in input_bytes if n is not None]
    return (
        len(known) == len(input_bytes) >= _LEAST_INPUTS
        and 0 < outputs <= _MOST_OUTPUTS
        and sum(known) + model_bytes <= _MOST_BYTES
    )


class KeptRunner:
    """Runs a session on the CPU with a binding that is kept; has the face of ``session.Runner``.

    Args:
        session: ONNX Runtime's C-level session.
        plainly: Its plain runner, for the calls that are faster so.
        inputs: Names of all inputs, in the order in which every call gives them.
        outputs: Names of the outputs, which every call wants.
    """

    __slots__ = (
        "_bind_output",
        "_binding",
        "_bound",
        "_inputs",
        "_lock",
        "_plainly",
        "_rest",
        "_results",
        "_run",
        "_single",
    )

    def __init__(
        self, session: Any, plainly: Any, inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self._plainly = plainly
        self._binding = _ort.SessionIOBinding(session)
        self._run = session.run_with_iobinding
        self._results = self._binding.get_outputs
        self._bind_output = self._binding.bind_output
        self._inputs = list(inputs)
        self._single = len(outputs) == 1
        self._bound: list[RawValue | None] = [None] * len(self._inputs)
        self._lock = threading.Lock()
        self._rest = 0
        for name in outputs:
            self._bind_output(name, CPU_DEVICE)

    def __call__(
        self, feeds: dict[str, RawValue], outputs: list[str], options: Any
    ) -> Sequence[RawValue]:
        """Run once.

        Args:
            feeds: A value for each input, in order.
            outputs: Names of the outputs.
            options: ONNX Runtime's run options.
        """
        values = list(feeds.values())
        # Equal lists are found by identity: raw values have no equality of their own.
        if self._rest and values != self._bound:
            self._rest -= 1
        elif self._lock.acquire(False):
            try:
                if values != self._bound:
                    self._bind_inputs(values)
                try:
                    self._run(self._binding, options)
                    raw = self._results()
                    return [raw[0]] if self._single else [raw[0], raw[1]]
                finally:
                    # Let go of the outputs, into which the next run would write.
                    for name in outputs:
                        self._bind_output(name, CPU_DEVICE)
            finally:
                self._lock.release()
        result: Sequence[RawValue] = self._plainly(feeds, outputs, options)
        return result

    def _bind_inputs(self, values: list[RawValue]) -> None:
        bind, bound = self._binding.bind_ortvalue_input, self._bound
        new = 0
        for i, value in enumerate(values):
            if value is not bound[i]:
                bound[i] = None
                bind(self._inputs[i], value)
                bound[i] = value
                new += 1
        if new > len(bound) // 2:
            self._rest = _REST
