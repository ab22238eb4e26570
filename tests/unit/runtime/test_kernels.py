"""The table of kernels agrees with what the runtime really compiles."""

from __future__ import annotations

import pytest

from tfx.core import dtypes
from tfx.runtime.kernels import cpu_kernels


def _takes(op, variable, dtype):
    return any(dtype.onnx in kernel.get(variable, ()) for kernel in cpu_kernels(op, 21))


def test_known_facts():
    assert _takes("Add", "T", dtypes.float32)
    assert _takes("Add", "T", dtypes.float64)
    assert not _takes("Add", "T", dtypes.bfloat16)
    assert not _takes("Conv", "T", dtypes.float64)


def test_unknown_operators_have_none():
    assert cpu_kernels("NoSuchOperator", 21) == ()


@pytest.mark.parametrize("opset", [21, 26])
def test_opsets(opset):
    assert cpu_kernels("MatMul", opset)
