"""Whether a run failed in an operator of the fused kernels, and not in one of ONNX Runtime's."""

from __future__ import annotations

import re

from tfx.graph.ir import KERNEL_OPERATORS

# ONNX Runtime's message where one of our operators failed, and not one that it fused itself.
_IN_PROGRAM = re.compile(f"running (?:{'|'.join(sorted(KERNEL_OPERATORS))}) node")


def is_in_program(error: Exception) -> bool:
    """True if the operators one by one may give a result, or say better what is wrong."""
    return _IN_PROGRAM.search(str(error)) is not None
