"""Every operator of ``tfx.raw`` gives what onnx's own node tests expect."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from tests.ops.backend_cases import Case, cases, rounding
from tests.ops.overrides import REFUSED, TOLERANCE, UNSTABLE
from tfx import raw
from tfx.core.errors import OpError

BY_OPERATOR = {
    op: list(group)
    for op, group in groupby(sorted(cases(), key=lambda c: c.op), key=lambda c: c.op)
}


def _check(case: Case) -> None:
    results = getattr(raw, case.op)(*case.inputs, n_outputs=len(case.outputs), **case.attrs)
    results = results if isinstance(results, tuple) else (results,)
    for ours, wanted in zip(results, case.outputs, strict=True):
        if wanted is None:
            continue
        found = ours.numpy()
        if wanted.dtype.kind in "SUO":
            assert _texts(found) == _texts(wanted)
            continue
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        rtol, atol = TOLERANCE.get(case.op, (max(1e-5, 2 * rounding(wanted.dtype)), 1e-6))
        np.testing.assert_allclose(
            np.asarray(found, np.float64), np.asarray(wanted, np.float64), rtol=rtol, atol=atol
        )


def _texts(array: np.ndarray) -> list[str]:
    flat = np.asarray(array).reshape(-1).tolist()
    return [x.decode() if isinstance(x, bytes) else str(x) for x in flat]


@pytest.mark.parametrize("op", sorted(BY_OPERATOR))
def test_operator_agrees_with_onnx(op: str) -> None:
    for case in BY_OPERATOR[op]:
        if case.name in UNSTABLE:
            continue
        if case.name in REFUSED:
            # Strict: a case that has begun to pass must leave the table.
            with pytest.raises((AssertionError, OpError)):
                _check(case)
        else:
            _check(case)


def test_cases_cover_most_operators() -> None:
    assert len(BY_OPERATOR) >= 150
    assert sum(map(len, BY_OPERATOR.values())) >= 1100


def test_table_has_no_stale_names() -> None:
    known = {c.name for c in cases()}
    assert [n for n in REFUSED if n not in known] == []
