"""``tfx.quantization``: integers of a few bits in place of numbers, and training for that."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.nn_ops import fake_quantization as _fake_quantization
from tfx.nn_ops.fake_quantization import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
)
from tfx.nn_ops.fake_quantization import (
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
)
from tfx.nn_ops.fake_quantization import (
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
)
from tfx.nn_ops.fake_quantization import (
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
)
from tfx.nn_ops.fake_quantization import (
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
from tfx.nn_ops.fake_quantization import quantize_and_dequantize as quantize_and_dequantize
from tfx.nn_ops.fake_quantization import quantize_and_dequantize_v2 as quantize_and_dequantize_v2
from tfx.nn_ops.quantization import dequantize as dequantize
from tfx.nn_ops.quantization import quantize as quantize

fake_quant_with_min_max_vars_per_channel_gradient = (
    _fake_quantization.fake_quant_with_min_max_vars_per_channel_gradient
)

_complete(__name__)
