"""``LinearOperator``: the base class, with defaults of dense matrices for what no class overrides.

The methods with an underscore are what subclasses define, TensorFlow's names with its meaning. A
default that makes the dense matrix says so.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from tfx.core import first_use
from tfx.core.dimension import Dimension
from tfx.core.dtypes import DType, as_dtype
from tfx.core.nest_kinds import Kind
from tfx.framework.context import name_scope
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor, is_tensor
from tfx.linalg_ops.eigen import eigvalsh, svd
from tfx.linalg_ops.lu import det, slogdet
from tfx.linalg_ops.triangular import cholesky, cholesky_solve
from tfx.linear_operators import hints, registry
from tfx.linear_operators.shapes import Shaped
from tfx.linear_operators.slicing import batch_slice
from tfx.linear_operators.structure import HINTS, KIND, LinearOperatorSpec, spec_of, with_tensors
from tfx.linear_operators.tensors import adjoint_if, is_reference, solve_broadcast
from tfx.ops.array.creation import eye
from tfx.ops.array.reshape import expand_dims, squeeze
from tfx.ops.debugging.assertions import assert_equal, assert_less, assert_positive
from tfx.ops.linalg.diagonals import diag_part
from tfx.ops.linalg.matmul import adjoint as adjoint_of
from tfx.ops.math.cast import cast
from tfx.ops.math.elementwise import abs as absolute
from tfx.ops.math.elementwise import exp, log
from tfx.ops.math.reduction import reduce_max, reduce_min, reduce_sum


class LinearOperator(Shaped):
    """Base class of batches of matrices ``[B1, ..., Bb, M, N]`` that are known by a structure.

    A subclass defines ``_shape``, ``_shape_tensor`` and ``_matmul``, and what else its structure
    makes cheap: ``_solve``, ``_determinant``, ``_log_abs_determinant``, ``_diag_part``,
    ``_to_dense`` and the others; the rest is computed with the dense matrix. A subclass with a
    property ``_composite_tensor_fields``, the names of the constructor's arguments that make it up,
    is taken apart by functions and ``tf.nest``; objects of others stand for themselves there.

    The hints ``is_...`` are promises of the user: True and False are believed, None is unknown.
    They choose algorithms, and are not checked except by the ``assert_...`` methods.

    Operators are modules: they keep variables that they are made of, and read them whenever a
    method runs.

    Args:
        dtype: dtype of the matrices and of what they are multiplied by.
        graph_parents: Accepted for compatibility; what it must hold are tensors.
        is_non_singular: Whether the operator is invertible.
        is_self_adjoint: Whether it equals its adjoint.
        is_positive_definite: Whether ``x^H A x`` has a positive real part for every ``x`` but 0.
            It need not be self-adjoint.
        is_square: Whether the matrices are square.
        name: A name; None: that of the class.
        parameters: The arguments of the subclass's constructor, for copies of it.

    Raises:
        ValueError: hints that contradict each other.

    Example:
        >>> import tfx as tf
        >>> class Doubling(tf.linalg.LinearOperator):
        ...     def __init__(self, size):
        ...         self.size = size
        ...         super().__init__(tf.float32, parameters={"size": size})
        ...
        ...     def _shape(self):
        ...         return tf.TensorShape([self.size, self.size])
        ...
        ...     def _matmul(self, x, adjoint=False, adjoint_arg=False):
        ...         return 2.0 * (tf.linalg.adjoint(x) if adjoint_arg else x)
        >>> Doubling(2).to_dense().numpy()
        array([[2., 0.],
               [0., 2.]], dtype=float32)
    """

    _TF_MODULE_IGNORED_PROPERTIES = frozenset(("_self_parameters",))
    # Tapes, loops over elements and datasets see the tensors and variables of an operator.
    _tfx_is_numeric = True
    _tfx_value_class: Any
    _tfx_expanded_kind: Kind | None = None
    _spec_class: type[LinearOperatorSpec]
    _tfx_spec: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith(__name__.rpartition(".")[0]):
            registry.add_class(cls)
        if cls._composite_tensor_fields is not LinearOperator._composite_tensor_fields:
            cls._tfx_value_class, cls._tfx_expanded_kind = cls, KIND
            inner = {"_tfx_value_class": cls, "__doc__": f"The spec of a ``{cls.__name__}``."}
            cls._spec_class = type(f"{cls.__name__}Spec", (LinearOperatorSpec,), inner)
            cls._tfx_spec = spec_of

    def __init__(
        self,
        dtype: Any,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        first_use.first("LinearOperator")
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular or is_self_adjoint:
            if is_square is False:
                kind = "non-singular" if is_non_singular else "self-adjoint"
                raise ValueError(f"A {kind} matrix is always square.")
            is_square = True
        for number, parent in enumerate(graph_parents or ()):
            if not is_reference(parent) and not is_tensor(parent):
                raise ValueError(f"Graph parent item {number} is not a Tensor; {parent}.")
        self._graph_parents = list(graph_parents or ())
        self._dtype: DType = as_dtype(dtype).base_dtype if dtype else dtype
        self._is_square_hint = is_square
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._self_parameters = parameters
        self._name = name or type(self).__name__

    def _set_up(self, dtype: Any, arguments: dict[str, Any], **known: bool | None) -> None:
        """The base's constructor for a class of the family.

        Args:
            dtype: dtype of the matrices.
            arguments: The locals of the class's constructor at its beginning.
            **known: Hints that take the place of those among them.
        """
        given = {n: x for n, x in arguments.items() if n not in ("self", "__class__")}
        said = {n: known.get(n, given.get(n)) for n in HINTS}
        LinearOperator.__init__(self, dtype, name=given["name"], parameters=given, **said)

    def _name_scope(self, name: str | None = None) -> Any:
        """A ``with`` scope that prefixes names with the operator's and that of a method."""
        return name_scope(self.name if name is None else f"{self.name}/{name}")

    def __repr__(self) -> str:
        shown = f"name={self.name!r}, shape={self.shape}, dtype={self.dtype!r}"
        return f"<{type(self).__name__}: {shown}>"

    # What is known

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the operator was made with."""
        return dict(self._self_parameters or {})

    @property
    def dtype(self) -> DType:
        """Dtype of the matrices."""
        return self._dtype

    @property
    def graph_parents(self) -> list[Any]:
        """What was given as such; deprecated in TensorFlow."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether the operator is invertible, as far as it was said."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether it equals its adjoint, as far as it was said."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether it is positive definite, as far as it was said."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether the matrices are square, as far as it was said or the shape shows it."""
        seen: bool | None = self.domain_dimension == self.range_dimension
        if self._is_square_hint is False and seen:
            raise ValueError(
                f"The hint is_square is False, but the operator of shape {self.shape} is square."
            )
        return seen if self._is_square_hint is None else self._is_square_hint

    # Checks of contents

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """Raise unless the operator is invertible; a default computes the condition number.

        Raises:
            InvalidArgumentError: it is not, up to the precision of the dtype.
        """
        return self._assert_non_singular()

    def _assert_non_singular(self) -> Any:
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        values = svd(self.to_dense(), compute_uv=False)
        cond = reduce_max(values, axis=-1) / reduce_min(values, axis=-1)
        most = self._max_condition_number_to_be_non_singular()
        return assert_less(cond, most, message="Singular matrix up to precision epsilon.")

    def _max_condition_number_to_be_non_singular(self) -> Tensor:
        real = self.dtype.real_dtype
        sizes = [self.range_dimension_tensor(), self.domain_dimension_tensor()]
        largest = reduce_max([convert_to_tensor(100.0, real), *(cast(n, real) for n in sizes)])
        return 1.0 / (largest * float(np.finfo(real.as_numpy_dtype).eps))

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """Raise unless the operator is positive definite; a default computes a decomposition.

        Raises:
            InvalidArgumentError: it is not.
            NotImplementedError: it is not known to be self-adjoint.
        """
        return self._assert_positive_definite()

    def _assert_positive_definite(self) -> Any:
        if not self.is_self_adjoint:
            raise NotImplementedError(
                "assert_positive_definite is not implemented for an operator that is not known to "
                f"be self-adjoint: {self!r}."
            )
        pivots = diag_part(cholesky(self.to_dense()))
        return assert_positive(_real(pivots), message="Matrix was not positive definite.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """Raise unless the operator equals its adjoint; a default makes the dense matrix.

        Raises:
            InvalidArgumentError: it does not.
        """
        return self._assert_self_adjoint()

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        message = "Matrix was not equal to its adjoint."
        return assert_equal(dense, adjoint_of(dense), message=message)

    def _check_input_dtype(self, arg: Any) -> None:
        if arg.dtype is not self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype!r}. Found: {arg.dtype!r} in tensor "
                f"{arg}; cast it with tf.cast."
            )

    def _checked(self, x: Any, mine: int, its: int) -> Tensor:
        """An argument as a tensor that fits: an axis of the operator, and one of the argument."""
        found = convert_to_tensor(x)
        self._check_input_dtype(found)
        size = None if found.shape.rank is None else found.shape[its]
        Dimension(self._dimension(mine)).assert_is_compatible_with(size)
        return found

    def _pair(self, x: Any, adjoint: bool, adjoint_arg: bool) -> tuple[Any, Any]:
        """This operator and another one, or their adjoints, which fit together."""
        left = self.adjoint() if adjoint else self
        right = x.adjoint() if adjoint_arg else x
        if right.range_dimension != left.domain_dimension:
            raise ValueError(
                f"Operators are incompatible. Expected `x` to have dimension "
                f"{left.domain_dimension} but got {right.range_dimension}."
            )
        return left, right

    # Products

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """The operator times matrices, or times another operator.

        Args:
            x: ``[..., N, R]`` of the operator's dtype, or a ``LinearOperator``.
            adjoint: Multiply by the adjoint of the operator.
            adjoint_arg: Multiply the adjoint of ``x``.
            name: Accepted for compatibility.

        Returns:
            ``[..., M, R]``; of two operators an operator, of the structure that the product has.

        Raises:
            TypeError: another dtype.
            ValueError: sizes that do not fit.
        """
        if isinstance(x, LinearOperator):
            return self._linop_matmul(*self._pair(x, adjoint, adjoint_arg))
        checked = self._checked(x, -2 if adjoint else -1, -1 if adjoint_arg else -2)
        return self._matmul(checked, adjoint=adjoint, adjoint_arg=adjoint_arg)

    @abstractmethod
    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        raise NotImplementedError("_matmul is not implemented.")

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> Any:
        rule = registry.rule_for(registry.PRODUCTS, left_operator, right_operator)
        return rule(left_operator, right_operator)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """The operator times vectors.

        Args:
            x: ``[..., N]`` of the operator's dtype.
            adjoint: Multiply by the adjoint of the operator.
            name: Accepted for compatibility.

        Returns:
            ``[..., M]``.

        Raises:
            TypeError: another dtype.
            ValueError: a size that does not fit.
        """
        checked = self._checked(x, -2 if adjoint else -1, -1)
        return self._matvec(checked, adjoint=adjoint)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return squeeze(self.matmul(expand_dims(x, -1), adjoint=adjoint), -1)

    # Solutions

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """The solution ``X`` of ``A X = rhs``.

        Args:
            rhs: ``[..., M, R]`` of the operator's dtype, or a ``LinearOperator``.
            adjoint: Solve with the adjoint of the operator.
            adjoint_arg: Solve for the adjoint of ``rhs``.
            name: Accepted for compatibility.

        Returns:
            ``[..., N, R]``; of two operators an operator.

        Raises:
            NotImplementedError: an operator that is known to be singular, or not to be square.
            TypeError: another dtype.
            ValueError: sizes that do not fit.
        """
        self._require_solvable()
        if isinstance(rhs, LinearOperator):
            return self._linop_solve(*self._pair(rhs, adjoint, adjoint_arg))
        checked = self._checked(rhs, -1 if adjoint else -2, -1 if adjoint_arg else -2)
        return self._solve(checked, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _require_solvable(self) -> None:
        for bad, kind in ((self.is_non_singular, "singular"), (self.is_square, "not square")):
            if bad is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to be {kind}: "
                    f"{self!r}."
                )

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._dense_solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _dense_solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_if(rhs, adjoint_arg)
        if self._can_use_cholesky():
            return cholesky_solve(cholesky(self.to_dense()), rhs)
        return solve_broadcast(self.to_dense(), rhs, adjoint=adjoint)

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> Any:
        rule = registry.rule_for(registry.SOLUTIONS, left_operator, right_operator)
        return rule(left_operator, right_operator)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """The solution ``x`` of ``A x = rhs`` for vectors.

        Args:
            rhs: ``[..., M]`` of the operator's dtype.
            adjoint: Solve with the adjoint of the operator.
            name: Accepted for compatibility.

        Returns:
            ``[..., N]``.

        Raises:
            NotImplementedError: an operator that is known to be singular, or not to be square.
            TypeError: another dtype.
            ValueError: a size that does not fit.
        """
        checked = self._checked(rhs, -1 if adjoint else -2, -1)
        return self._solvevec(checked, adjoint=adjoint)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return squeeze(self.solve(expand_dims(rhs, -1), adjoint=adjoint), -1)

    # Operators made of this one

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The adjoint: the transposed conjugates. A self-adjoint operator is its own."""
        if self.is_self_adjoint is True:
            return self
        found: LinearOperator = self._linop_adjoint()
        return found

    @property
    def H(self) -> LinearOperator:  # noqa: N802
        """The adjoint."""
        return self.adjoint()

    def _linop_adjoint(self) -> Any:
        return registry.class_named("LinearOperatorAdjoint")(self, **hints.own(self))

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverse.

        Raises:
            ValueError: the operator is known to be singular, or not to be square.
        """
        for bad, kind in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if bad is False:
                raise ValueError(
                    f"Cannot take the Inverse: This operator represents a {kind} matrix: {self!r}."
                )
        found: LinearOperator = self._linop_inverse()
        return found

    def _linop_inverse(self) -> Any:
        return registry.class_named("LinearOperatorInversion")(self, **hints.own(self))

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangular ``L`` with ``A = L L^H``; a default makes the dense matrix.

        Raises:
            ValueError: the operator is not known to be self-adjoint and positive definite.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                f"matrix as far as its hints say: {self!r}."
            )
        found: LinearOperator = self._linop_cholesky()
        return found

    def _linop_cholesky(self) -> Any:
        return registry.class_named("LinearOperatorLowerTriangular")(
            cholesky(self.to_dense()), is_non_singular=True, is_self_adjoint=False, is_square=True
        )

    def _can_use_cholesky(self) -> bool | None:
        return self.is_self_adjoint and self.is_positive_definite

    # Numbers

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant, of the shape of the batch.

        Raises:
            NotImplementedError: the operator is known not to be square.
        """
        self._require_square("Determinant")
        return self._determinant()

    def _determinant(self) -> Tensor:
        if self._can_use_cholesky():
            return exp(self.log_abs_determinant())
        return det(self.to_dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute value of the determinant.

        Raises:
            NotImplementedError: the operator is known not to be square.
        """
        self._require_square("Determinant")
        return self._log_abs_determinant()

    def _log_abs_determinant(self) -> Tensor:
        if self._can_use_cholesky():
            pivots = diag_part(cholesky(self.to_dense()))
            return 2 * reduce_sum(log(pivots), axis=[-1])
        return slogdet(self.to_dense()).log_abs_determinant

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                f"{what} not implemented for an operator that is expected to not be square: "
                f"{self!r}."
            )

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices as a tensor ``[..., M, N]``."""
        return self._to_dense()

    def _to_dense(self) -> Tensor:
        rows = self._static_or_tensor_dimension()
        batch = self._static_or_tensor_batch()
        found: Tensor = self.matmul(eye(rows, batch_shape=batch, dtype=self.dtype))
        return found

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The main diagonal, ``[..., min(M, N)]``; a default makes the dense matrix."""
        return self._diag_part()

    def _diag_part(self) -> Tensor:
        return diag_part(self.to_dense())

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of the main diagonal."""
        return self._trace()

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """The matrices plus a tensor of such a shape; a default makes the dense matrix.

        Raises:
            TypeError: another dtype.
        """
        checked = convert_to_tensor(x)
        self._check_input_dtype(checked)
        return self._add_to_tensor(checked)

    def _add_to_tensor(self, x: Any) -> Tensor:
        found: Tensor = self.to_dense() + x
        return found

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """The eigenvalues of a self-adjoint operator; a default makes the dense matrix.

        Raises:
            NotImplementedError: it is not known to be self-adjoint.
        """
        if not self.is_self_adjoint:
            raise NotImplementedError(
                f"Only self-adjoint matrices are supported; {self!r} is not known to be one."
            )
        return self._eigvals()

    def _eigvals(self) -> Tensor:
        return eigvalsh(self.to_dense())

    def cond(self, name: str = "cond") -> Tensor:
        """The condition number: the largest singular value by the smallest."""
        return self._cond()

    def _cond(self) -> Tensor:
        if self.is_self_adjoint:
            return ratio_of_sizes(self._eigvals())
        return ratio_of_sizes(svd(self.to_dense(), compute_uv=False))

    # Structure

    def __getitem__(self, slices: Any) -> LinearOperator:
        """The operator of a slice of the batch."""
        found: LinearOperator = batch_slice(self, slices)
        return found

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        """The names of the constructor's arguments that make the operator up."""
        return ()

    @property
    def _composite_tensor_prefer_static_fields(self) -> tuple[str, ...]:
        """Those among them that are no parts where their value is known."""
        return ()

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        """How many axes of a parameter are not of the batch."""
        return {}

    def _convert_variables_to_tensors(self) -> LinearOperator:
        found: LinearOperator = with_tensors(self)
        return found


def _real(x: Tensor) -> Tensor:
    """Numbers that are real whatever their dtype."""
    return absolute(x) if x.dtype.is_complex else x


def ratio_of_sizes(values: Any) -> Tensor:
    """The largest absolute value along the last axis by the smallest."""
    sizes = absolute(values)
    return reduce_max(sizes, axis=-1) / reduce_min(sizes, axis=-1)
