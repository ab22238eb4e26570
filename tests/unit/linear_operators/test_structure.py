"""Operators as structures of tensors and as modules: functions, nests, tapes, loops, datasets."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.linear_operators.operators import SQUARE

L = tf.linalg


def _diag(*values: float, **known: Any) -> Any:
    return L.LinearOperatorDiag([float(x) for x in values], **known)


def _made(name: str) -> Any:
    case = SQUARE[name]
    return case.make(*map(tf.constant, case.arrays(np.random.default_rng(0), (2,), "float32")))


@pytest.mark.parametrize("name", SQUARE)
def test_functions_take_and_return_operators(name: str) -> None:
    operator = _made(name)

    @tf.function
    def both(given: Any, x: Any) -> Any:
        return given.matmul(x), given

    x = tf.ones([operator.shape[-1], 2])
    product, same = both(operator, x)
    np.testing.assert_allclose(product, operator.matmul(x), rtol=1e-5)
    assert type(same) is type(operator)
    for hint in ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square"):
        assert getattr(same, hint) == getattr(operator, hint)
    np.testing.assert_allclose(same.to_dense(), operator.to_dense(), rtol=1e-5)


@pytest.mark.parametrize("name", SQUARE)
def test_nests_take_operators_apart(name: str) -> None:
    operator = _made(name)
    assert tf.nest.flatten(operator) == [operator]
    parts = tf.nest.flatten(operator, expand_composites=True)
    assert all(isinstance(part, tf.Tensor) for part in parts)
    again = tf.nest.pack_sequence_as(operator, parts, expand_composites=True)
    np.testing.assert_array_equal(again.to_dense(), operator.to_dense())
    spec = tf.type_spec_from_value(operator)
    assert spec.value_type is type(operator)
    assert spec.is_compatible_with(operator)
    assert spec == tf.type_spec_from_value(again)
    assert hash(spec) == hash(tf.type_spec_from_value(again))
    assert spec.most_specific_common_supertype([spec]) == spec
    assert not spec.is_compatible_with(L.LinearOperatorIdentity(3))


def test_hints_and_sizes_are_part_of_the_type() -> None:
    traces = []

    @tf.function
    def total(operator: Any) -> Any:
        traces.append(operator)
        return operator.trace()

    assert float(total(_diag(1, 2))) == 3
    assert float(total(_diag(3, 4))) == 7
    assert len(traces) == 1
    total(_diag(3, 4, is_positive_definite=True))
    assert len(traces) == 2
    total(L.LinearOperatorIdentity(2))
    total(L.LinearOperatorIdentity(3))
    assert len(traces) == 4


def test_specs_in_signatures() -> None:
    spec = tf.type_spec_from_value(_diag(1, 2))

    @tf.function(input_signature=[spec])
    def total(operator: Any) -> Any:
        return operator.trace()

    assert float(total(_diag(3, 4))) == 7
    wide = spec.most_specific_common_supertype([tf.type_spec_from_value(_diag(1, 2, 3))])
    assert wide.is_compatible_with(_diag(1, 2, 3, 4))
    assert not spec.is_compatible_with(_diag(1, 2, 3))
    assert spec.is_subtype_of(wide)
    assert not wide.is_subtype_of(spec)


def test_control_flow() -> None:
    a, b = _diag(1, 2), _diag(3, 4)
    chosen = tf.cond(tf.constant(False), lambda: a, lambda: b)
    np.testing.assert_array_equal(chosen.diag_part(), [3, 4])

    @tf.function
    def power(operator: Any, times: Any) -> Any:
        found = operator
        for _ in tf.range(times):
            found = found @ operator
        return found

    np.testing.assert_array_equal(power(b, 2).diag_part(), [27, 64])
    grown = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x @ b), [0, b])[1]
    np.testing.assert_array_equal(grown.diag_part(), [81, 256])


def test_variables_are_read_whenever_a_method_runs() -> None:
    v = tf.Variable([1.0, 2.0])
    operator = L.LinearOperatorDiag(v)
    assert operator.diag is v
    assert operator.trainable_variables == (v,)
    traced = tf.function(lambda x: operator.matvec(x))
    np.testing.assert_array_equal(traced(tf.ones([2])), [1, 2])
    v.assign([3.0, 4.0])
    np.testing.assert_array_equal(traced(tf.ones([2])), [3, 4])
    np.testing.assert_array_equal(operator.to_dense(), [[3, 0], [0, 4]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(traced(tf.ones([2])) ** 2) + operator.log_abs_determinant()
    np.testing.assert_allclose(tape.gradient(loss, v), [6 + 1 / 3, 8 + 1 / 4])
    read = operator._convert_variables_to_tensors()
    assert read.variables == ()


@pytest.mark.parametrize("name", [n for n in SQUARE if n != "tridiagonal sequence"])
def test_every_operator_is_made_of_variables(name: str) -> None:
    case = SQUARE[name]
    arrays = case.arrays(np.random.default_rng(0), (), "float64")
    held = [tf.Variable(a) for a in arrays]
    operator = case.make(*held)
    assert {id(v) for v in operator.variables} == {id(v) for v in held}
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.function(operator.to_dense)() ** 2)
    found = tape.gradient(loss, held)
    points = [tf.constant(a) for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(points)
        loss = tf.reduce_sum(case.make(*points).to_dense() ** 2)
    for a, b in zip(found, tape.gradient(loss, points), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_tapes_differentiate_by_operators() -> None:
    a, b = _diag(1, 2), L.LinearOperatorFullMatrix(tf.eye(2))
    pair = L.LinearOperatorKronecker([a, b])
    with tf.GradientTape() as tape:
        tape.watch(pair)
        loss = tf.reduce_sum(pair.operators[0].matvec(tf.ones([2])) ** 2)
    slope = tape.gradient(loss, [pair, tf.constant(1.0)])
    assert slope[1] is None
    np.testing.assert_array_equal(slope[0].operators[0].diag, [2, 4])
    np.testing.assert_array_equal(slope[0].operators[1].matrix, np.zeros([2, 2]))
    with tf.GradientTape() as tape:
        tape.watch(pair)
        loss = tf.constant(2.0) * 3.0
    assert tape.gradient(loss, pair) is None
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        target = L.LinearOperatorDiag(x * x)
    np.testing.assert_array_equal(tape.gradient(target, x), [2, 4])


def test_elements_of_loops_and_datasets() -> None:
    values = tf.reshape(tf.range(6.0), [3, 2])
    batch = L.LinearOperatorDiag(values)
    np.testing.assert_array_equal(tf.vectorized_map(lambda each: each.trace(), batch), [1, 5, 9])
    traces = tf.map_fn(lambda each: each.trace(), batch, fn_output_signature=tf.float32)
    np.testing.assert_array_equal(traces, [1, 5, 9])
    doubled = tf.vectorized_map(lambda x: L.LinearOperatorDiag(2.0 * x), values)
    np.testing.assert_array_equal(doubled.diag, 2 * values.numpy())
    elements = tf.data.Dataset.from_tensor_slices(batch)
    assert [float(each.trace()) for each in elements] == [1, 5, 9]
    assert [each.shape for each in elements.batch(2)] == [(2, 2, 2), (1, 2, 2)]
    made = tf.data.Dataset.from_tensor_slices(values).map(L.LinearOperatorDiag)
    assert type(next(iter(made))) is L.LinearOperatorDiag
    assert made.element_spec == tf.type_spec_from_value(_diag(1, 2))


def test_modules_with_operators_are_saved(tmp_path: Path) -> None:
    class Solver(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            base = L.LinearOperatorDiag(tf.Variable([1.0, 2.0, 3.0]), is_positive_definite=True)
            self.operator = L.LinearOperatorLowRankUpdate(base, tf.Variable(tf.ones([3, 1])))

        @tf.function(input_signature=[tf.TensorSpec([None, 3])])
        def __call__(self, x: Any) -> Any:
            return self.operator.solvevec(x)

    solver = Solver()
    expected = solver(tf.ones([2, 3]))
    assert len(solver.variables) == 2
    tf.saved_model.save(solver, tmp_path / "bundle")
    loaded = tf.saved_model.load(tmp_path / "bundle")
    np.testing.assert_allclose(loaded(tf.ones([2, 3])), expected, rtol=1e-5)
    path = tf.train.Checkpoint(solver=solver).save(str(tmp_path / "checkpoint"))
    names = [name for name, _ in tf.train.list_variables(path)]
    assert "solver/operator/_base_operator/_diag" in " ".join(names)
    assert not any("parameters" in name for name in names)


def test_copies() -> None:
    operator = _diag(1, 2)
    for again in (copy.copy(operator), copy.deepcopy(operator)):
        np.testing.assert_array_equal(again.to_dense(), operator.to_dense())
    given = operator.parameters
    assert given["name"] == "LinearOperatorDiag"
    np.testing.assert_array_equal(type(operator)(**given).diag, operator.diag)


class _Doubling(L.LinearOperator):
    """What a program defines: the least that an operator needs."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(tf.float32, is_non_singular=True, parameters={"size": size})

    def _shape(self) -> Any:
        return tf.TensorShape([self.size, self.size])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return 2.0 * (tf.linalg.adjoint(x) if adjoint_arg else x)


class _Shifted(L.LinearOperator):
    """One that is taken apart."""

    def __init__(
        self,
        shift: Any,
        is_non_singular: Any = None,
        is_self_adjoint: Any = None,
        is_positive_definite: Any = None,
        is_square: Any = None,
    ) -> None:
        self._shift = tf.convert_to_tensor(shift)
        super().__init__(self._shift.dtype, is_square=is_square, parameters={"shift": shift})

    def _shape(self) -> Any:
        return tf.TensorShape([2, 2])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._shift * (tf.linalg.adjoint(x) if adjoint_arg else x)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("shift",)


def test_operators_of_programs() -> None:
    operator = _Doubling(2)
    np.testing.assert_array_equal(operator.to_dense(), 2 * np.eye(2))
    np.testing.assert_allclose(operator.solvevec([2.0, 4.0]), [1, 2])
    np.testing.assert_allclose(operator.determinant(), 4)
    np.testing.assert_allclose(operator.log_abs_determinant(), np.log(4))
    np.testing.assert_allclose(operator.cond(), 1)
    np.testing.assert_array_equal((operator @ _diag(1, 2)).to_dense(), [[2, 0], [0, 4]])
    operator.assert_non_singular()
    operator.assert_self_adjoint()
    # It stands for itself in functions, as any module does.
    assert float(tf.function(lambda each: each.trace())(operator)) == 4
    shifted = _Shifted(3.0)
    np.testing.assert_array_equal(tf.nest.flatten(shifted, expand_composites=True), [3])
    assert float(tf.function(lambda each: each)(shifted).trace()) == 6
    with pytest.raises(TypeError, match="abstract"):
        L.LinearOperator(tf.float32)  # type: ignore[abstract]
