"""``Saver``: checkpoints of the variables that a session holds, by name."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building
from tfx.core.errors import InvalidArgumentError
from tfx.core.nest import flatten
from tfx.framework.context import current
from tfx.framework.tensor import EagerTensor, from_array
from tfx.framework.variable import Variable
from tfx.train.files import delete_files, find_files, write_files
from tfx.train.latest_checkpoint_file import write_state as _write_state
from tfx.train.reader import FORMAT, FORMAT_KEY, load_checkpoint


class Saver:
    """Saves and restores variables of a session in the format of ``tf.train.Checkpoint``.

    Args:
        var_list: The variables, or a mapping from names in the checkpoint to them; None: all global
            ones of the default graph.
        reshape: Accept arrays of another shape with as many elements.
        sharded: Accepted for compatibility.
        max_to_keep: How many checkpoints to keep; older ones are deleted. None or 0: all.
        keep_checkpoint_every_n_hours: Keep one every so many hours for good.
        name: Accepted for compatibility.
        restore_sequentially: Accepted for compatibility.
        saver_def: Accepted for compatibility.
        builder: Accepted for compatibility.
        defer_build: Find the variables when they are first needed.
        allow_empty: Whether there may be none.
        write_version: Accepted for compatibility.
        pad_step_number: Whether the step behind the path has 8 digits at least.
        save_relative_paths: Accepted for compatibility: a folder of checkpoints may be moved.
        filename: Accepted for compatibility.

    Raises:
        ValueError: there are no variables, or two of one name.
        TypeError: something that is no variable.
        RuntimeError: there is no graph, and no variables are given.

    Example:
        >>> import tempfile
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        ...     w = tf.get_variable("w", initializer=[1.0, 2.0])
        ...     saver = tf.train.Saver()
        ...     with tf.Session() as session:
        ...         session.run(w.initializer)
        ...         path = saver.save(session, folder + "/model", global_step=10)
        ...     with tf.Session() as session:
        ...         saver.restore(session, path)
        ...         session.run(w)
        array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: Any = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if var_list is None and not defer_build and current().graph is None:
            raise RuntimeError(
                "tf.compat.v1.train.Saver() needs a graph to find variables in: make it inside "
                "`with tf.compat.v1.Graph().as_default():`, or give it a list or dict of variables."
            )
        self._given = var_list
        self._reshape = reshape
        self._max_to_keep = max_to_keep
        self._every = keep_checkpoint_every_n_hours * 3600
        self._allow_empty = allow_empty
        self._digits = 8 if pad_step_number else 1
        self._variables: dict[str, Variable] | None = None
        self._kept: list[tuple[str, float]] = []
        self._saving = threading.Lock()
        self._next_kept = time.time() + self._every
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Find the variables."""
        given = self._given
        if given is None:
            graph = building()
            given = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
            given += graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
        if isinstance(given, Mapping):
            named = [(str(name), v) for name, v in given.items()]
        else:
            named = [(v.name.removesuffix(":0"), v) for v in flatten(list(given))]
        found: dict[str, Variable] = {}
        for name, variable in named:
            if not isinstance(variable, Variable):
                raise TypeError(f"Variable to save is not a Variable: {variable!r}")
            if found.get(name, variable) is not variable:
                raise ValueError(
                    f"At least two variables have the same name: {name}; give a mapping from names "
                    "to variables."
                )
            found[name] = variable
        if not found and not self._allow_empty:
            raise ValueError("No variables to save")
        self._variables = found

    def _found(self) -> dict[str, Variable]:
        if self._variables is None:
            self.build()
        assert self._variables is not None
        return self._variables

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that were not deleted, oldest first."""
        return [path for path, _ in self._kept]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Set the checkpoints that an earlier program saved."""
        self._kept = [(path, time.time()) for path in last_checkpoints]

    def save(
        self,
        sess: Any,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Save the variables that a session holds.

        Args:
            sess: The session.
            save_path: Path of the checkpoint without the step; in a folder, ``"folder/"``, its
                name is ``model``.
            global_step: A number, tensor or variable to put behind the path.
            latest_filename: Must be None or ``"checkpoint"``: the file that names the latest one.
            meta_graph_suffix: Accepted for compatibility.
            write_meta_graph: Accepted for compatibility: the graph is not saved.
            write_state: Whether to note that this is the latest checkpoint of its folder.
            strip_default_attrs: Accepted for compatibility.
            save_debug_info: Accepted for compatibility.

        Returns:
            The path, with ``-`` and the step.

        Raises:
            FailedPreconditionError: a variable has no value yet.
        """
        if latest_filename not in (None, "checkpoint"):
            raise InvalidArgumentError(
                f"latest_filename is {latest_filename!r}; only 'checkpoint' can be read again."
            )
        # One after another: else the step of a thread that saves beside the training could be noted
        # as the latest one after a later step.
        with self._saving:
            path = _prefix(save_path)
            if global_step is not None:
                known = isinstance(global_step, int | np.integer)
                number = global_step if known else sess.run(global_step)
                path = f"{path}-{int(number):0{self._digits}d}"
            variables = self._found()
            values = sess.run(list(variables.values()))
            tensors = _wholes(variables, values)
            write_files(path, tensors, {FORMAT_KEY: str(FORMAT)})
            self._note(path, write_state)
        return path

    def _note(self, path: str, write: bool) -> None:
        now = time.time()
        self._kept = [(p, t) for p, t in self._kept if p != path] + [(path, now)]
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            oldest, saved = self._kept.pop(0)
            if saved > self._next_kept:
                self._next_kept += self._every
            else:
                delete_files(oldest)
        if write:
            folder = os.path.dirname(path) or "."
            near = [(p, t) for p, t in self._kept if (os.path.dirname(p) or ".") == folder]
            paths, times = [p for p, _ in near], [t for _, t in near]
            _write_state(folder, path, paths, times, now)

    def restore(self, sess: Any, save_path: str | os.PathLike[str] | None) -> None:
        """Give the variables of a session the values of a checkpoint, all or none.

        Args:
            sess: The session; nothing need be initialized.
            save_path: What ``save`` returned.

        Raises:
            ValueError: no path, or no checkpoint there.
            NotFoundError: the checkpoint lacks a variable.
            InvalidArgumentError: a value does not fit.
        """
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        save_path = _prefix(save_path)
        if find_files(save_path) is None:
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        new: list[tuple[Variable, EagerTensor]] = []
        with load_checkpoint(save_path) as reader:
            for name, variable in self._found().items():
                info = variable._get_save_slice_info()
                if info is None:
                    array = np.asarray(reader.get_tensor(name))
                else:
                    array = np.asarray(reader.get_tensor(info.full_name))[info.place]
                new.append((variable, self._fitting(name, variable, array)))
        sess.set_values(new)

    def _fitting(self, name: str, variable: Variable, array: np.ndarray[Any, Any]) -> EagerTensor:
        shape = variable.shape
        if self._reshape and shape.is_fully_defined() and array.size == shape.num_elements():
            array = array.reshape(shape.as_list())
        tensor = from_array(np.ascontiguousarray(array).reshape(array.shape))
        if tensor.dtype is not variable.dtype or not shape.is_compatible_with(tensor.shape):
            raise InvalidArgumentError(
                f"The checkpoint holds {tensor.dtype.name} of shape {tensor.shape} for {name!r}; "
                f"the variable is {variable.dtype.name} of shape {shape}."
            )
        return tensor


def _wholes(variables: Mapping[str, Variable], values: Sequence[Any]) -> dict[str, Any]:
    """The values by name; pieces of a variable are put together."""
    found: dict[str, Any] = {}
    for (name, variable), value in zip(variables.items(), values, strict=True):
        info = variable._get_save_slice_info()
        array = np.asarray(value)
        if info is None:
            found[name] = array
            continue
        whole = found.setdefault(info.full_name, np.zeros(info.full_shape, array.dtype))
        whole[info.place] = array
    return found


def _prefix(path: str | os.PathLike[str]) -> str:
    """The path of a checkpoint; of a folder the one in it that has no name of its own."""
    text = os.fspath(path)
    return text if os.path.basename(text) else f"{text}model"
