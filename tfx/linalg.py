"""``tfx.linalg``: products, norms and decompositions of matrices, and linear operators."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
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
from tfx.linalg_ops.matrix_logarithm import logm as logm
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
from tfx.linear_operators.block_diag import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from tfx.linear_operators.block_lower_triangular import (
    LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular,
)
from tfx.linear_operators.circulant import LinearOperatorCirculant as LinearOperatorCirculant
from tfx.linear_operators.circulant import LinearOperatorCirculant2D as LinearOperatorCirculant2D
from tfx.linear_operators.circulant import LinearOperatorCirculant3D as LinearOperatorCirculant3D
from tfx.linear_operators.composition import LinearOperatorComposition as LinearOperatorComposition
from tfx.linear_operators.conjugate_gradient import conjugate_gradient as _conjugate_gradient
from tfx.linear_operators.derived import LinearOperatorAdjoint as LinearOperatorAdjoint
from tfx.linear_operators.derived import LinearOperatorInversion as LinearOperatorInversion
from tfx.linear_operators.diag import LinearOperatorDiag as LinearOperatorDiag
from tfx.linear_operators.full_matrix import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from tfx.linear_operators.householder import LinearOperatorHouseholder as LinearOperatorHouseholder
from tfx.linear_operators.identity import LinearOperatorIdentity as LinearOperatorIdentity
from tfx.linear_operators.identity import (
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
)
from tfx.linear_operators.kronecker import LinearOperatorKronecker as LinearOperatorKronecker
from tfx.linear_operators.low_rank_update import (
    LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
)
from tfx.linear_operators.lower_triangular import (
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
from tfx.linear_operators.operator import LinearOperator as LinearOperator
from tfx.linear_operators.permutation import LinearOperatorPermutation as LinearOperatorPermutation
from tfx.linear_operators.toeplitz import LinearOperatorToeplitz as LinearOperatorToeplitz
from tfx.linear_operators.tridiag import LinearOperatorTridiag as LinearOperatorTridiag
from tfx.linear_operators.zeros import LinearOperatorZeros as LinearOperatorZeros
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

experimental = _namespace("tfx.linalg.experimental", conjugate_gradient=_conjugate_gradient)

_complete(__name__, "experimental")
