"""``tfx.linalg``: products, norms, diagonals and decompositions of matrices."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.function.solving import inv as inv
from tfx.function.solving import solve as solve
from tfx.matrices.elimination import det as det
from tfx.matrices.elimination import logdet as logdet
from tfx.matrices.elimination import lu as lu
from tfx.matrices.elimination import lu_matrix_inverse as lu_matrix_inverse
from tfx.matrices.elimination import lu_reconstruct as lu_reconstruct
from tfx.matrices.elimination import lu_solve as lu_solve
from tfx.matrices.elimination import slogdet as slogdet
from tfx.matrices.exponential import expm as expm
from tfx.matrices.orthogonal import lstsq as lstsq
from tfx.matrices.orthogonal import qr as qr
from tfx.matrices.roots import sqrtm as sqrtm
from tfx.matrices.spectral import eigh as eigh
from tfx.matrices.spectral import eigvalsh as eigvalsh
from tfx.matrices.spectral import matrix_rank as matrix_rank
from tfx.matrices.spectral import pinv as pinv
from tfx.matrices.spectral import svd as svd
from tfx.matrices.triangular import banded_triangular_solve as banded_triangular_solve
from tfx.matrices.triangular import cholesky as cholesky
from tfx.matrices.triangular import cholesky_solve as cholesky_solve
from tfx.matrices.triangular import triangular_solve as triangular_solve
from tfx.matrices.tridiagonal import eigh_tridiagonal as eigh_tridiagonal
from tfx.matrices.tridiagonal import tridiagonal_matmul as tridiagonal_matmul
from tfx.matrices.tridiagonal import tridiagonal_solve as tridiagonal_solve
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

_complete(__name__)
