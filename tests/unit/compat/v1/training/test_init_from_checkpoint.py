"""Initializers that read a checkpoint: what goes where, and what does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx
import tfx.compat.v1 as tf


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    """A checkpoint with ``old/a`` and ``old/b`` in a fresh graph's place."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("old/a", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
        tf.get_variable("old/b", initializer=7)
        session.run(tf.global_variables_initializer())
        saved = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default():
        yield saved


def _initialized(*variables: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [np.asarray(x).tolist() for x in session.run(list(variables))]


A = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_a_scope_gets_the_values_of_another(path: str) -> None:
    with tf.variable_scope("new"):
        a, b = tf.get_variable("a", [3, 2]), tf.get_variable("b", [], tfx.int32)
    other = tf.get_variable("other", initializer=1.0)
    tf.train.init_from_checkpoint(str(Path(path).parent), {"old/": "new/"})
    assert _initialized(a, b, other) == [A, 7, 1.0]


@pytest.mark.parametrize("scope", ["", "old"])
def test_the_outermost_scope_is_a_slash(path: str, scope: str) -> None:
    with tf.variable_scope("new" if scope else ""):
        a = tf.get_variable("a" if scope else "old/a", [3, 2])
    tf.train.init_from_checkpoint(path, {"old/": "new/"} if scope else {"/": "/"})
    assert _initialized(a) == [A]


def test_single_variables_by_name_or_as_they_are(path: str) -> None:
    a = tf.get_variable("x", [3, 2])
    twice = tf.Variable(tf.zeros([3, 2]))
    tf.train.init_from_checkpoint(path, [("old/a", "x"), ("old/a", twice)])
    assert _initialized(a, twice) == [A, A]
    assert _initialized(a.initialized_value()) == [A]


def test_pieces_get_their_parts(path: str) -> None:
    with tf.variable_scope("a"):
        rows = [tf.get_variable(f"part_{i}", [n, 2]) for i, n in enumerate((2, 1))]
    columns = [tf.get_variable(f"c{i}", [3, 1]) for i in range(2)]
    tf.train.init_from_checkpoint(path, [("old/a", "a"), ("old/a", columns)])
    assert _initialized(*rows) == [A[:2], A[2:]]
    assert _initialized(*columns) == [[[0.0], [2.0], [4.0]], [[1.0], [3.0], [5.0]]]
    with pytest.raises(ValueError, match="do not make tensor old/a"):
        tf.train.init_from_checkpoint(path, {"old/a": rows[:1]})


def test_where_operations_run_at_once_variables_get_the_values_now(path: str) -> None:
    with tfx.init_scope():
        v = tfx.Variable(0)
        tf.train.init_from_checkpoint(path, {"old/b": v})
        assert int(v) == 7


def test_what_does_not_fit_is_refused(path: str) -> None:
    tf.get_variable("new/a", [2, 2])
    tf.get_variable("other/c", [])
    whole = tf.get_variable("whole", [3, 2], tfx.int32)
    for match, mapping in [
        ("Shape of variable new/a", {"old/a": "new/a"}),
        ("Tensor old/x is not found", {"old/x": "new/a"}),
        ("Tensor old/c ", {"old/": "other/"}),
        ("There is no variable 'new/z'", {"old/a": "new/z"}),
    ]:
        with pytest.raises(ValueError, match=match):
            tf.train.init_from_checkpoint(path, mapping)
    tf.train.init_from_checkpoint(path, {"old/a": whole})
    with tf.Session() as session, pytest.raises(tfx.errors.InvalidArgumentError, match="int32"):
        session.run(whole.initializer)
    with pytest.raises(tfx.errors.NotFoundError):
        tf.train.init_from_checkpoint(f"{path}-none", {})
