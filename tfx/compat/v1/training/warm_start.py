"""``warm_start``: begin the training of a model with the variables of an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building
from tfx.compat.v1.training.init_from_checkpoint import init_from_checkpoint, set_initial_value
from tfx.compat.v1.variables.graph_variable import GraphVariable
from tfx.compat.v1.variables.initializer_classes import Zeros
from tfx.compat.v1.variables.partitioned import PartitionedVariable
from tfx.compat.v1.variables.variable_store import call_initializer
from tfx.core import dtypes, gfile
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.array.where import where
from tfx.ops.common.python_ops import by_python
from tfx.ops.math.cast import cast
from tfx.train.reader import load_checkpoint


class VocabInfo(NamedTuple):
    """How the words of an earlier model's table became those of the new one.

    Attributes:
        new_vocab: File of the new words, one in each line.
        new_vocab_size: How many of them count.
        num_oov_buckets: How many rows stand behind them for other words.
        old_vocab: File of the earlier words.
        old_vocab_size: How many of them count; -1: all.
        backup_initializer: Makes the rows of words that the earlier model did not have; None:
            zeros.
        axis: The axis of the words: 0 of an embedding, 1 of the weights of classes.
    """

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Let the initializers of variables assign the values that an earlier model had.

    Args:
        ckpt_to_initialize_from: The checkpoint, or a folder, whose latest one it is.
        vars_to_warm_start: Which variables: a regular expression of names of trainable ones, a
            list of those of any, a list of variables, or None: those of ``var_name_to_vocab_info``
            alone.
        var_name_to_vocab_info: Variables whose rows are of words, which are other ones now.
        var_name_to_prev_var_name: Names in the checkpoint, where they are not those of now.

    Raises:
        ValueError: the checkpoint does not have a variable, or one of another shape; or a name is
            given for a variable that is not taken.

    Example:
        >>> import tempfile
        >>> import tfx.compat.v1 as tf
        >>> folder = tempfile.mkdtemp()
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     v = tf.get_variable("v", initializer=[1.0, 2.0])
        ...     session.run(v.initializer)
        ...     path = tf.train.Saver().save(session, folder + "/model")
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     v = tf.get_variable("v", [2])
        ...     tf.train.warm_start(path)
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(v)
        array([1., 2.], dtype=float32)
    """
    vocabularies = dict(var_name_to_vocab_info or {})
    earlier = dict(var_name_to_prev_var_name or {})
    groups = _by_name(_chosen(vars_to_warm_start))
    for name in vocabularies:
        groups.setdefault(name, _named(name))
    unused = (earlier.keys() | vocabularies.keys()) - groups.keys()
    if unused:
        raise ValueError(
            f"warm_start is told of {sorted(unused)}, which are not among the variables that it "
            f"takes: {sorted(groups)}."
        )
    for name, pieces in groups.items():
        key = earlier.get(name, name)
        if name in vocabularies:
            _set_rows(ckpt_to_initialize_from, key, pieces, vocabularies[name])
        else:
            whole = pieces if _is_piece(pieces[0]) else pieces[0]
            init_from_checkpoint(ckpt_to_initialize_from, {key: whole})


def _chosen(wanted: Any) -> list[Any]:
    graph = building()
    if wanted is None:
        return []
    if isinstance(wanted, str):
        names = re.compile(wanted)
        trained = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        return [v for v in trained if names.match(v.name)]
    found: list[Any] = []
    for item in wanted:
        if isinstance(item, str):
            names = re.compile(item)
            everything = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
            found += [v for v in everything if names.match(v.name)]
        elif isinstance(item, PartitionedVariable | list | tuple):
            found += list(item)
        elif isinstance(item, Variable):
            found.append(item)
        else:
            raise ValueError(
                "vars_to_warm_start is a string, or a list of strings or of variables; got "
                f"{item!r} in it."
            )
    return found


def _is_piece(variable: Any) -> bool:
    return variable._get_save_slice_info() is not None


def _by_name(variables: Iterable[Any]) -> dict[str, list[Any]]:
    """Variables by name; those that are pieces by that of the whole."""
    found: dict[str, list[Any]] = {}
    for variable in variables:
        info = variable._get_save_slice_info()
        name = variable.name.removesuffix(":0") if info is None else info.full_name
        group = found.setdefault(name, [])
        if not any(v is variable for v in group):
            group.append(variable)
    return found


def _named(name: str) -> list[Any]:
    groups = _by_name(building().get_collection(GraphKeys.GLOBAL_VARIABLES))
    if name not in groups:
        raise ValueError(f"There is no variable {name!r}; there are {sorted(groups)}.")
    return groups[name]


def _words(path: str, size: int) -> list[bytes]:
    with gfile.GFile(path, "rb") as file:
        lines = [line.rstrip(b"\r\n") for line in file]
    return lines if size < 0 else lines[:size]


def _set_rows(path: Any, key: str, pieces: Sequence[Any], info: VocabInfo) -> None:
    """Let the rows of words begin as the earlier model had them."""
    place = {word: i for i, word in enumerate(_words(info.old_vocab, info.old_vocab_size))}
    new = _words(info.new_vocab, info.new_vocab_size)
    rows = np.array([place.get(w, -1) for w in new] + [-1] * info.num_oov_buckets)
    for piece in pieces:
        part = piece._get_save_slice_info()
        size = piece.shape[info.axis] if part is None else part.full_shape[info.axis]
        if size != len(rows):
            raise ValueError(
                f"Variable {piece.name} has {size} words along axis {info.axis}; the vocabulary "
                f"has {len(new)} and {info.num_oov_buckets} for others."
            )
        here = rows if part is None else rows[part.place[info.axis]]
        set_initial_value(piece, _Rows(path, key, piece, here, info))


class _Rows:
    """Makes the values of a variable from rows of an earlier one."""

    def __init__(
        self, path: Any, key: str, variable: GraphVariable, rows: Any, info: VocabInfo
    ) -> None:
        self._path, self._key, self._variable = path, key, variable
        self._rows, self._info = rows, info

    def __call__(self) -> Tensor:
        variable, axis = self._variable, self._info.axis
        shape = variable.shape.as_list()
        known_shape = [1] * len(shape)
        known_shape[axis] = len(self._rows)

        def read() -> list[Any]:
            with load_checkpoint(self._path) as reader:
                old = np.asarray(reader.get_tensor(self._key))
            found = np.take(old, np.maximum(self._rows, 0), axis)
            known = self._rows.reshape(known_shape) >= 0
            return [found.astype(variable.dtype.as_numpy_dtype), known]

        outputs = (variable.dtype, tuple(shape)), (dtypes.bool, tuple(known_shape))
        found, known = by_python("train.warm_start", read, [], outputs)
        backup = self._info.backup_initializer or Zeros()
        others = call_initializer(backup, shape, variable.dtype)
        return where(known, found, cast(others, variable.dtype))
