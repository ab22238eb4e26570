"""``tfx.linalg``: products, norms and diagonals of matrices."""

from __future__ import annotations

from tfx.function.solving import inv as inv
from tfx.function.solving import solve as solve
from tfx.ops.creation import eye as eye
from tfx.ops.diagonals import band_part as band_part
from tfx.ops.diagonals import cross as cross
from tfx.ops.diagonals import diag as diag
from tfx.ops.diagonals import diag_part as diag_part
from tfx.ops.diagonals import set_diag as set_diag
from tfx.ops.diagonals import tensor_diag as tensor_diag
from tfx.ops.diagonals import tensor_diag_part as tensor_diag_part
from tfx.ops.diagonals import trace as trace
from tfx.ops.einsum import einsum as einsum
from tfx.ops.einsum import tensordot as tensordot
from tfx.ops.linalg import adjoint as adjoint
from tfx.ops.linalg import matmul as matmul
from tfx.ops.linalg import matrix_transpose as matrix_transpose
from tfx.ops.linalg import matvec as matvec
from tfx.ops.norms import global_norm as global_norm
from tfx.ops.norms import norm as norm
from tfx.ops.norms import normalize as normalize
from tfx.ops.statistics import l2_normalize as l2_normalize
