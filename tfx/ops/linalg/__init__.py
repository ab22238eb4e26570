"""Products, norms and diagonals of matrices. Solvers and decompositions are in ``linalg_ops``."""
