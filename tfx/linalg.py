"""``tfx.linalg``: products, norms, diagonals and decompositions of matrices."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.linalg_ops.eigen import eigh as eigh
from tfx.linalg_ops.eigen import eigvalsh as eigvalsh
from tfx.linalg_ops.eigen import matrix_rank as matrix_rank
from tfx.linalg_ops.eigen import pinv as pinv
from tfx.linalg_ops.eigen import svd as svd
from tfx.linalg_ops.general_eigen import eig as eig
from tfx.linalg_ops.general_eigen import eigvals as eigvals
from tfx.linalg_ops.lu import det as det
from tfx.linalg_ops.lu import logdet as logdet
from tfx.linalg_ops.lu import lu as lu
from tfx.linalg_ops.lu import lu_matrix_inverse as lu_matrix_inverse
from tfx.linalg_ops.lu import lu_reconstruct as lu_reconstruct
from tfx.linalg_ops.lu import lu_solve as lu_solve
from tfx.linalg_ops.lu import slogdet as slogdet
from tfx.linalg_ops.matrix_exponential import expm as expm
from tfx.linalg_ops.matrix_square_root import sqrtm as sqrtm
from tfx.linalg_ops.norms import norm as norm
from tfx.linalg_ops.norms import normalize as normalize
from tfx.linalg_ops.qr import lstsq as lstsq
from tfx.linalg_ops.qr import qr as qr
from tfx.linalg_ops.solve import inv as inv
from tfx.linalg_ops.solve import solve as solve
from tfx.linalg_ops.triangular import banded_triangular_solve as banded_triangular_solve
from tfx.linalg_ops.triangular import cholesky as cholesky
from tfx.linalg_ops.triangular import cholesky_solve as cholesky_solve
from tfx.linalg_ops.triangular import triangular_solve as triangular_solve
from tfx.linalg_ops.tridiagonal import eigh_tridiagonal as eigh_tridiagonal
from tfx.linalg_ops.tridiagonal import tridiagonal_matmul as tridiagonal_matmul
from tfx.linalg_ops.tridiagonal import tridiagonal_solve as tridiagonal_solve
from tfx.ops.array.creation import eye as eye
from tfx.ops.linalg.diagonals import band_part as band_part
from tfx.ops.linalg.diagonals import cross as cross
from tfx.ops.linalg.diagonals import diag as diag
from tfx.ops.linalg.diagonals import diag_part as diag_part
from tfx.ops.linalg.diagonals import set_diag as set_diag
from tfx.ops.linalg.diagonals import tensor_diag as tensor_diag
from tfx.ops.linalg.diagonals import tensor_diag_part as tensor_diag_part
from tfx.ops.linalg.diagonals import trace as trace
from tfx.ops.linalg.einsum import einsum as einsum
from tfx.ops.linalg.einsum import tensordot as tensordot
from tfx.ops.linalg.matmul import adjoint as adjoint
from tfx.ops.linalg.matmul import matmul as matmul
from tfx.ops.linalg.matmul import matrix_transpose as matrix_transpose
from tfx.ops.linalg.matmul import matvec as matvec
from tfx.ops.linalg.norms import global_norm as global_norm
from tfx.ops.math.statistics import l2_normalize as l2_normalize

_complete(__name__)
