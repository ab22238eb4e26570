"""Replacing the variables of a loaded object between calls, all of them in one step.

Owns the way from an object to the files that it was loaded from. The one decision: what is wrong
with any value is found before the first variable changes, and a call sees all of the new values or
none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.core.shapes import TensorShape
from tfx.framework import variable_locks
from tfx.framework.context import current, init_scope
from tfx.framework.convert import convert_to_tensor
from tfx.framework.module import Module
from tfx.framework.tensor import EagerTensor
from tfx.framework.variable import Variable, install
from tfx.loaders.consistent_open import open_consistently
from tfx.loaders.messages import nearest
from tfx.loaders.open_files import Sources
from tfx.loaders.versions import require_same_graphs
from tfx.runtime.memory import borrow
from tfx.runtime.values import RawValue
from tfx.saved_model.functions import RestoredFunction
from tfx.saved_model.signature import SignatureFunction
from tfx.saved_model.traces import Graphs, LoadedFiles


def assign(loaded: Any, values: Mapping[str, Any]) -> None:
    """Replace variables of a loaded object, all of them or, if anything is wrong with one, none.

    Calls that go on in other threads see all of the new values or none of them.

    Args:
        loaded: What ``load`` returned, or a part of it that has variables.
        values: New values by the names that variables have in the bundle: their paths, such as
            ``layers/0/kernel`` (``tfx show`` lists them).

    Raises:
        NotFoundError: there is no variable of a name.
        TypeError: a value of another dtype.
        InvalidArgumentError: a shape that a variable does not take; or the object was not loaded.
        FailedPreconditionError: it was closed.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> m = tf.Module()
        >>> m.w, m.b = tf.Variable([1.0, 2.0]), tf.Variable(0.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(m, folder + "/m")
        ...     loaded = tf.saved_model.load(folder + "/m")
        ...     tf.saved_model.assign(loaded, {"w": [3.0, 4.0], "b": 5.0})
        ...     loaded.w.numpy()
        array([3., 4.], dtype=float32)
    """
    files = files_of(loaded)
    files.refuse_closed()
    names = {entry.name: i for i, entry in enumerate(files.manifest.variables)}
    variables: list[Variable] = []
    new: list[RawValue] = []
    with init_scope():
        for name, value in values.items():
            if name not in names:
                raise NotFoundError(
                    f"{files.root} has no variable {name!r}; {nearest(name, names)}"
                )
            variable = files.variables[names[name]]
            tensor = convert_to_tensor(value, variable.dtype)
            assert isinstance(tensor, EagerTensor)
            variable.check_shape(tensor.shape)
            variables.append(variable)
            new.append(tensor._raw)
    _install(variables, new)


def reload(loaded: Any, export_dir: str | os.PathLike[str]) -> None:
    """Take all variables of a loaded object from another version of its bundle.

    The other version has the same graphs: a later save of the same model. Sessions stay open, and
    calls that go on in other threads see all of the new values or none of them.

    Args:
        loaded: What ``load`` returned, or a part of it that has variables.
        export_dir: Folder of the other version; it may be the one that was loaded.

    Raises:
        NotFoundError: no such folder.
        BundleError: it is no bundle, or it is damaged.
        FailedPreconditionError: it differs in more than the values of variables; the message says
            in what. Nothing has changed. Or the object was closed.
        InvalidArgumentError: the object was not loaded.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> m = tf.Module()
        >>> m.w = tf.Variable(1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(m, folder + "/m")
        ...     loaded = tf.saved_model.load(folder + "/m")
        ...     m.w.assign(2.0)
        ...     tf.saved_model.save(m, folder + "/m")
        ...     tf.saved_model.reload(loaded, folder + "/m")
        ...     float(loaded.w)
        <tf.Variable 'Variable:0' shape=() dtype=float32, numpy=2.0>
        2.0
    """
    files = files_of(loaded)
    files.refuse_closed()
    new, opened = open_consistently(export_dir, lambda: _opened(files, Sources(export_dir)))
    with files.held():
        require_same_graphs(files.manifest, files.store, files.graph_bytes, new, str(files.root))
    new.check(new.entries)
    fresh = [borrow(value.array) for value in new.take_values()]
    _install(files.variables, fresh)
    files.adopt(new, opened, fresh)


def _opened(files: LoadedFiles, sources: Sources) -> tuple[Sources, Graphs]:
    return sources, files.opened(sources)


def _install(variables: list[Variable], new: list[RawValue]) -> None:
    if current().graph is not None:
        raise InvalidArgumentError(
            "variables of a loaded object cannot be replaced while a function is traced: call it "
            "from eager code, or assign them one by one to have that in the function"
        )
    for variable, value in zip(variables, new, strict=True):
        variable.check_shape(TensorShape(value.shape()))
    with variable_locks.writing(variable_locks.in_order(v._lock_number for v in variables)):
        variable_locks.installs.during(install, variables, new)


def files_of(loaded: Any) -> LoadedFiles:
    """The files that an object was loaded from.

    Raises:
        InvalidArgumentError: it was not loaded, or has parts of several bundles.
    """
    files = getattr(loaded, "_self_files", None)
    if isinstance(files, LoadedFiles):
        return files
    if isinstance(loaded, RestoredFunction | SignatureFunction):
        return loaded._files
    variables = loaded.variables if isinstance(loaded, Module) else ()
    signatures = getattr(loaded, "signatures", {}).values()
    parts = [f._files for f in signatures if isinstance(f, SignatureFunction)]
    parts += [v.origin for v in variables if isinstance(v.origin, LoadedFiles)]
    found = {id(part): part for part in parts}
    if len(found) != 1:
        what = "parts of several bundles" if found else "nothing that was loaded from a bundle"
        raise InvalidArgumentError(
            f"a {type(loaded).__name__} with {what}, expected what tf.saved_model.load returned, "
            "or a part of it that has variables"
        )
    return next(iter(found.values()))
