"""``init_from_checkpoint``: initializers that read a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tfx.compat.v1.variables.graph_variable import GraphVariable
from tfx.compat.v1.variables.partitioned import PartitionedVariable
from tfx.compat.v1.variables.variable_store import store_of
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.common.python_ops import by_python
from tfx.train.reader import load_checkpoint


def init_from_checkpoint(
    ckpt_dir_or_file: str | os.PathLike[str],
    assignment_map: Mapping[str, Any] | Sequence[tuple[str, Any]],
) -> None:
    """Let the initializers of variables assign values of a checkpoint, which is read when they run.

    Args:
        ckpt_dir_or_file: The checkpoint, or a folder, whose latest one it is.
        assignment_map: What goes where, as a mapping or as pairs. ``"name": variable`` (or its
            name) is one value. ``"old/": "new/"`` are all variables of the scope ``new``, by the
            same names in the scope ``old``; ``"/"`` is the outermost scope. ``"name":
            [variables]`` is a value that variables hold in pieces.

    Raises:
        ValueError: the checkpoint does not have such a value, or one of another shape; or there is
            no such variable.
        NotFoundError: there is no such checkpoint.

    Example:
        >>> import tempfile
        >>> import tfx.compat.v1 as tf
        >>> folder = tempfile.mkdtemp()
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     v = tf.get_variable("old/v", initializer=[1.0, 2.0])
        ...     session.run(v.initializer)
        ...     path = tf.train.Saver().save(session, folder + "/model")
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     v = tf.get_variable("new/v", [2])
        ...     tf.train.init_from_checkpoint(path, {"old/": "new/"})
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(v)
        array([1., 2.], dtype=float32)
    """
    with load_checkpoint(ckpt_dir_or_file) as reader:
        shapes = reader.get_variable_to_shape_map()
    given = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    known = store_of().variables
    for source, target in sorted(given, key=lambda pair: pair[0]):
        for key, variable in _pairs(source, target, known, shapes):
            _initialize(ckpt_dir_or_file, key, variable, shapes)


def _pairs(
    source: str, target: Any, known: Mapping[str, Any], shapes: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Names in the checkpoint with the variables, or lists of pieces, that get their values."""
    found = target if not isinstance(target, str) else _named(target, known)
    if found is not None:
        if source not in shapes:
            raise ValueError(
                f"Tensor {source} is not found in the checkpoint; it has {_all(shapes)}."
            )
        yield source, found
        return
    if not source.endswith("/"):
        raise ValueError(
            f"There is no variable {target!r}, and a scope, as in 'new/', needs a scope of the "
            f"checkpoint, as in 'old/'; got {source!r}."
        )
    scope = target.rpartition("/")[0]
    prefix = f"{scope}/" if scope else ""
    names = {name.partition("/part_")[0] for name in known if name.startswith(prefix)}
    for name in sorted(names):
        key = (source if source != "/" else "") + name[len(prefix) :]
        if key not in shapes:
            raise ValueError(
                f"Tensor {key} ({name} in {target}) is not found in the checkpoint; it has "
                f"{_all(shapes)}."
            )
        yield key, _named(name, known)


def _all(shapes: Mapping[str, Any]) -> list[str]:
    return sorted(shapes)


def _named(name: str, known: Mapping[str, Any]) -> Any:
    """The variable of a name, or its pieces; None: there is none."""
    if name in known:
        return known[name]
    pieces: list[Any] = []
    while (piece := known.get(f"{name}/part_{len(pieces)}")) is not None:
        pieces.append(piece)
    return pieces or None


def _initialize(path: Any, key: str, target: Any, shapes: Mapping[str, Any]) -> None:
    if isinstance(target, PartitionedVariable):
        target = list(target)
    if isinstance(target, Variable):
        if not target.shape.is_compatible_with(shapes[key]):
            raise ValueError(
                f"Shape of variable {target.name} ({target.shape}) doesn't match with shape of "
                f"tensor {key} ({TensorShape(shapes[key])}) from checkpoint reader."
            )
        set_initial_value(target, partial(_read, path, key, target, ...))
        return
    for piece, place in zip(target, _places(target, TensorShape(shapes[key]), key), strict=True):
        set_initial_value(piece, partial(_read, path, key, piece, place))


def _places(pieces: Sequence[Any], shape: TensorShape, key: str) -> Iterator[Any]:
    """Where pieces lie in a value that is cut along one axis."""
    sizes = np.array([p.shape.as_list() for p in pieces])
    whole = shape.as_list()
    for axis in range(len(whole)):
        joined = sizes[0].copy()
        joined[axis] = sizes[:, axis].sum()
        others = np.delete(sizes, axis, 1)
        if joined.tolist() == whole and (others == others[0]).all():
            for end, size in zip(sizes[:, axis].cumsum(), sizes[:, axis], strict=True):
                yield (*[slice(None)] * axis, slice(end - size, end))
            return
    raise ValueError(f"Pieces of shapes {sizes.tolist()} do not make tensor {key} of {shape}.")


def set_initial_value(variable: Any, make: Callable[[], Tensor]) -> None:
    """Let the initializer of a variable assign what a function makes; eagerly it is assigned."""
    if isinstance(variable, GraphVariable):
        variable.initialize_with(make)
    else:
        variable.assign(make())


def _read(path: Any, key: str, variable: Any, place: Any) -> Tensor:
    dtype = variable.dtype

    def read() -> list[Any]:
        with load_checkpoint(path) as reader:
            found = np.asarray(reader.get_tensor(key))[place]
        if found.dtype != dtype.as_numpy_dtype:
            raise InvalidArgumentError(
                f"The checkpoint holds {found.dtype} for {key!r}; the variable is {dtype.name}."
            )
        return [found]

    shape = tuple(variable.shape.as_list())
    return by_python("train.init_from_checkpoint", read, [], [(dtype, shape)])[0]
