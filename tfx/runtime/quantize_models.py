"""ONNX Runtime's own tools that make models smaller: float16 and 8-bit integers.

They come with the package and are imported when they are asked for.
"""

from __future__ import annotations

import contextlib
import io
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfx.core.errors import UnimplementedError


def to_float16(model: Any) -> Any:
    """A model that computes in float16, with inputs and outputs as they were.

    Args:
        model: An ``onnx.ModelProto`` with its weights inside; it may be changed.

    Raises:
        UnimplementedError: it cannot be converted; the message says why.
    """
    from onnxruntime.transformers.float16 import convert_float_to_float16

    with _told("float16"):
        return convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=False)


def to_int8(model: Any) -> Any:
    """A model whose matrix products and convolutions have 8-bit weights.

    Activations are quantized while it runs (dynamically), so no data for calibration is needed.

    Args:
        model: An ``onnx.ModelProto`` with its weights inside; it may be changed.

    Raises:
        UnimplementedError: it cannot be converted; the message says why.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with _told("int8"), tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "model.onnx")
        options = {"MatMulConstBOnly": True, "DefaultTensorType": 1}
        quantize_dynamic(
            model,
            target,
            op_types_to_quantize=["MatMul", "Gemm", "Conv"],
            # The CPU has kernels for convolutions with unsigned weights alone.
            weight_type=QuantType.QUInt8,
            extra_options=options,
        )
        made = type(model)()
        made.ParseFromString(target.read_bytes())
        return made


def to_calibrated_int8(model: Any, batches: Sequence[Mapping[str, Any]]) -> Any:
    """A model whose weights and activations are 8-bit integers, in QDQ format.

    Args:
        model: An ``onnx.ModelProto`` with its weights inside; it may be changed.
        batches: Inputs by name, from whose activations the ranges are measured.

    Raises:
        UnimplementedError: it cannot be converted; the message says why.
    """
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

    with _told("int8"), tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "model.onnx")
        quantize_static(
            model,
            target,
            _Batches(iter(batches)),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            # With signed weights sums overflow in kernels for processors without instructions for 8
            # bits, and results depend on the machine.
            weight_type=QuantType.QUInt8,
            extra_options={"WeightSymmetric": True},
        )
        made = type(model)()
        made.ParseFromString(target.read_bytes())
        return made


class _Batches:
    """What the quantizer reads batches from; it asks for nothing but these two."""

    def __init__(self, left: Iterator[Mapping[str, Any]]) -> None:
        self._left = left

    def get_next(self) -> Mapping[str, Any] | None:
        """The next inputs, None at the end."""
        return next(self._left, None)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self._left


@contextlib.contextmanager
def _told(dtype: str) -> Iterator[None]:
    """Silence the tools' prints and logs, and raise their exceptions as tfx errors."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    except Exception as e:  # they raise whatever comes up
        reason = " ".join(str(e).split())[:300]
        raise UnimplementedError(
            f"the model cannot be converted to {dtype}: {type(e).__name__}: {reason}; leave "
            "--dtype out, or choose bfloat16, which changes the weights alone"
        ) from e
    finally:
        root.setLevel(level)
